//! The text of RocksDB's statistics: tickers, and histograms of which count and sum are taken.
//!
//! `rocksdb.block.cache.miss COUNT : 7` and `rocksdb.db.get.micros P50 : 1.5 ... COUNT : 2 SUM : 3`.

/// Every counter of a text in its order, without `rocksdb.`; a histogram is two, `NAME.count` and
/// `NAME.sum`.
pub fn parse(text: &str) -> impl Iterator<Item = (String, u64)> {
    text.lines().flat_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let name = words.next().unwrap_or("");
        let name = name.strip_prefix("rocksdb.").unwrap_or(name);
        let rest: Vec<&str> = words.collect();
        let after = |word: &str| {
            let place = rest.iter().position(|it| *it == word)?;
            rest.get(place + 2)?.parse::<u64>().ok()
        };
        let (count, sum) = (after("COUNT"), after("SUM"));
        let found = match (count, sum) {
            (Some(count), Some(sum)) => {
                [Some((format!("{name}.count"), count)), Some((format!("{name}.sum"), sum))]
            }
            (Some(count), None) => [Some((name.to_owned(), count)), None],
            _ => [None, None],
        };
        found.into_iter().flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickers_and_histograms_are_counters_by_their_names() {
        let text = "rocksdb.block.cache.miss COUNT : 7\n\
            rocksdb.db.get.micros P50 : 1.500000 P95 : 2.0 P99 : 2.0 P100 : 2.0 COUNT : 2 SUM : 3\n\
            \nnonsense\nrocksdb.odd COUNT : many\n";
        let expected =
            [("block.cache.miss", 7), ("db.get.micros.count", 2), ("db.get.micros.sum", 3)];
        let expected = expected.map(|(name, count)| (name.to_owned(), count));
        assert_eq!(parse(text).collect::<Vec<_>>(), expected);
    }
}
