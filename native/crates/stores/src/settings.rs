//! Settings as texts: those that are Assay's own are taken out, the rest is the library's.

use std::collections::BTreeMap;

use crate::StoreError;

/// Settings by name.
pub type Settings = BTreeMap<String, String>;

/// Takes a switch out of the settings.
///
/// # Errors
/// `Setting` when it is neither true nor false.
pub fn take_switch(settings: &mut Settings, name: &str, default: bool) -> Result<bool, StoreError> {
    let Some(text) = settings.remove(name) else { return Ok(default) };
    switch(&text)
        .ok_or_else(|| StoreError::setting(name, format!("{text} is neither true nor false")))
}

/// Takes a number, or a number of bytes, out of the settings.
///
/// # Errors
/// `Setting` when it is none.
pub fn take_bytes(settings: &mut Settings, name: &str, default: u64) -> Result<u64, StoreError> {
    let Some(text) = settings.remove(name) else { return Ok(default) };
    bytes(&text).ok_or_else(|| {
        StoreError::setting(name, format!("{text} is no whole number, such as 1048576 or 1M"))
    })
}

/// Takes one of some words out of the settings.
///
/// # Errors
/// `Setting` when it is another.
pub fn take_word<T: Copy>(
    settings: &mut Settings,
    name: &str,
    words: &[(&'static str, T)],
    default: T,
) -> Result<T, StoreError> {
    let Some(text) = settings.remove(name) else { return Ok(default) };
    let found = words.iter().find(|(word, _)| *word == text);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        StoreError::setting(name, format!("{text} is not one of: {}", all.join(", ")))
    })
}

/// Whether a value that was given is the one that a library reports, however each is spelled.
pub fn is_same(given: &str, found: &str) -> bool {
    let (given, found) = (given.trim(), found.trim());
    let equal = |one: Option<f64>, other: Option<f64>| one.is_some() && one == other;
    given.eq_ignore_ascii_case(found)
        || equal(number(given), number(found))
        || switch(given).is_some() && switch(given) == switch(found)
}

fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "on" | "yes" | "1" => Some(true),
        "false" | "off" | "no" | "0" => Some(false),
        _ => None,
    }
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().or_else(|| bytes(text).map(|bytes| bytes as f64))
}

/// A whole number with a unit, as RocksDB reads them: each step is 1024.
pub fn bytes(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit = unit.to_ascii_lowercase();
    let unit = unit.strip_suffix("ib").or(unit.strip_suffix('b')).unwrap_or(&unit);
    let power = ["", "k", "m", "g", "t"].iter().position(|known| *known == unit)?;
    number.parse::<u64>().ok()?.checked_mul(1 << (10 * power))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_the_same_however_they_are_spelled() {
        for (given, found) in [
            ("64M", "67108864"),
            ("64MiB", "67108864"),
            ("true", "1"),
            ("WAL", "wal"),
            ("0.75", "0.750000"),
            ("-2000", "-2000"),
            ("kXXH3", "kXXH3"),
        ] {
            assert!(is_same(given, found), "{given} {found}");
        }
        for (given, found) in [("64M", "64"), ("true", "0"), ("4096", "1024"), ("", "0")] {
            assert!(!is_same(given, found), "{given} {found}");
        }
    }

    #[test]
    fn own_settings_are_taken_out_and_judged() {
        let text = |pairs: &[(&str, &str)]| -> Settings {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let mut settings = text(&[("sync", "true"), ("cache_bytes", "8M"), ("other", "1")]);
        assert_eq!(take_switch(&mut settings, "sync", false), Ok(true));
        assert_eq!(take_switch(&mut settings, "wal", true), Ok(true));
        assert_eq!(take_bytes(&mut settings, "cache_bytes", 1), Ok(8 << 20));
        assert_eq!(settings, text(&[("other", "1")]));
        for (name, value) in [("sync", "perhaps"), ("cache_bytes", "8 apples")] {
            let mut settings = text(&[(name, value)]);
            let switch = take_switch(&mut settings.clone(), name, true);
            assert!(switch.is_err() && take_bytes(&mut settings, name, 1).is_err(), "{name}");
        }
        let mut settings = text(&[("cache", "large")]);
        let error = take_word(&mut settings, "cache", &[("lru", 1), ("fifo", 2)], 1).unwrap_err();
        assert_eq!(error.to_string(), "setting cache: large is not one of: lru, fifo");
    }
}
