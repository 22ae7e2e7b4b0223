//! The head of RocksDB's LOG file: what the library says of itself and of this host, and the caches,
//! which are not in the OPTIONS file.

use std::collections::BTreeMap;
use std::path::Path;

/// Facts by name: `RocksDB version`, `Compile date`, `Fast CRC32 supported`, `kZSTD supported`,
/// `DMutex implementation`, `block_cache_name`, `block_cache_capacity`, `row_cache`,
/// `memtable_factory`, and what else is said to be supported.
pub type Facts = BTreeMap<String, String>;

/// Lines without a colon between name and value.
const BY_SPACE: [&str; 2] = ["Git sha ", "Compile date "];
/// Others, by the name in the file and the name of the fact.
const BY_COLON: [(&str, &str); 6] = [
    ("RocksDB version", "RocksDB version"),
    ("DMutex implementation", "DMutex implementation"),
    ("Options.row_cache", "row_cache"),
    ("Options.memtable_factory", "memtable_factory"),
    ("block_cache_name", "block_cache_name"),
    ("capacity", "block_cache_capacity"),
];

/// Reads the LOG of a folder; nothing if there is none.
pub fn read(folder: &Path) -> Facts {
    // Of a file whose end is being written, so whatever is no text is passed over.
    let bytes = std::fs::read(folder.join("LOG")).unwrap_or_default();
    parse(&String::from_utf8_lossy(&bytes))
}

/// Reads the text of one: of each fact the first mention.
pub fn parse(text: &str) -> Facts {
    let mut facts = Facts::new();
    for line in text.lines() {
        if let Some((name, value)) = fact(without_stamp(line)) {
            facts.entry(name).or_insert(value);
        }
    }
    facts
}

/// Without date and thread, which stand before what the library says.
fn without_stamp(line: &str) -> &str {
    let mut parts = line.splitn(3, ' ');
    let is_stamped = parts.next().is_some_and(|date| date.contains('/') && date.contains(':'));
    let rest = if is_stamped { parts.nth(1).unwrap_or("") } else { line };
    rest.trim()
}

fn fact(line: &str) -> Option<(String, String)> {
    let by_space = BY_SPACE.iter().find_map(|name| Some((*name, line.strip_prefix(name)?)));
    if let Some((name, value)) = by_space {
        return Some((name.trim().to_owned(), value.trim().to_owned()));
    }
    let (name, value) = line.split_once(':')?;
    let (name, value) = (name.trim(), value.trim().to_owned());
    if name.ends_with(" supported") && !value.is_empty() {
        return Some((name.to_owned(), value));
    }
    let known = BY_COLON.iter().find(|(known, _)| *known == name)?;
    Some((known.1.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
2026/11/21-23:02:47.151166 11631 RocksDB version: 7.8.3
2026/11/21-23:02:47.151195 11631 Git sha 0
2026/11/21-23:02:47.151196 11631 Compile date 2023-01-07 12:33:41
2026/11/21-23:02:47.151258 11631                               Options.row_cache: 2097152
2026/11/21-23:02:47.151282 11631 Compression algorithms supported:
2026/11/21-23:02:47.151284 11631 \tkZSTD supported: 1
2026/11/21-23:02:47.151290 11631 Fast CRC32 supported: Not supported on x86
2026/11/21-23:02:47.151291 11631 DMutex implementation: pthread_mutex_t
2026/11/21-23:02:47.154099 11631         Options.memtable_factory: HashLinkListRepFactory
2026/11/21-23:02:47.154123 11631            table_factory options:   flush_block: X (0x56)
  block_cache: 0x56400f83f960
  block_cache_name: LRUCache
  block_cache_options:
    capacity : 12582912
2026/11/21-23:02:48.151258 11631                               Options.row_cache: None
";

    #[test]
    fn the_head_of_a_log_says_what_the_library_and_its_caches_are() {
        let facts = parse(TEXT);
        let expected = [
            ("Compile date", "2023-01-07 12:33:41"),
            ("DMutex implementation", "pthread_mutex_t"),
            ("Fast CRC32 supported", "Not supported on x86"),
            ("Git sha", "0"),
            ("RocksDB version", "7.8.3"),
            ("block_cache_capacity", "12582912"),
            ("block_cache_name", "LRUCache"),
            ("kZSTD supported", "1"),
            ("memtable_factory", "HashLinkListRepFactory"),
            ("row_cache", "2097152"),
        ];
        let found: Vec<(&str, &str)> =
            facts.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_log_of_something_else_gives_no_facts() {
        for text in ["", "\u{fffd}\u{0}", "2026/11/21-23:02:47", "1 2 3: 4", ": :"] {
            assert_eq!(parse(text), Facts::new(), "{text}");
        }
    }
}
