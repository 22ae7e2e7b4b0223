//! The table.

/// The columns, in the order of `assay_workload::hits::Row::each`. None is null.
const COLUMNS: [(&str, &str); 32] = [
    ("watch_id", "BIGINT"),
    ("counter_id", "INTEGER"),
    ("event_date", "DATE"),
    ("event_time", "TIMESTAMP"),
    ("event_minute", "INTEGER"),
    ("user_id", "BIGINT"),
    ("region_id", "INTEGER"),
    ("client_ip", "INTEGER"),
    ("user_agent", "SMALLINT"),
    ("os", "SMALLINT"),
    ("resolution_width", "SMALLINT"),
    ("resolution_height", "SMALLINT"),
    ("window_width", "SMALLINT"),
    ("window_height", "SMALLINT"),
    ("phone_maker", "SMALLINT"),
    ("phone_model", "VARCHAR(32)"),
    ("adv_engine_id", "SMALLINT"),
    ("search_engine_id", "SMALLINT"),
    ("search_phrase", "VARCHAR(200)"),
    ("url", "VARCHAR(400)"),
    ("url_hash", "BIGINT"),
    ("referer", "VARCHAR(400)"),
    ("referer_host", "VARCHAR(100)"),
    ("referer_hash", "BIGINT"),
    ("title", "VARCHAR(200)"),
    ("traffic_source", "SMALLINT"),
    ("is_refresh", "SMALLINT"),
    ("is_link", "SMALLINT"),
    ("is_download", "SMALLINT"),
    ("is_counted", "SMALLINT"),
    ("send_ms", "INTEGER"),
    ("response_ms", "INTEGER"),
];

/// The table that queries ask.
pub const TABLE: &str = "hits";
/// The table that uploads fill.
pub const UPLOAD_TABLE: &str = "hits_upload";

/// CREATE TABLE under a name.
pub fn create_table(name: &str) -> String {
    let columns = COLUMNS.map(|(column, kind)| format!("{column} {kind} NOT NULL"));
    format!("CREATE TABLE {name} ({})", columns.join(", "))
}

/// DROP TABLE, which may be missing.
pub fn drop_table(name: &str) -> String {
    format!("DROP TABLE IF EXISTS {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_columns_of_a_row() {
        assert_eq!(COLUMNS.len(), assay_workload::hits::Row::COLUMNS);
    }
}
