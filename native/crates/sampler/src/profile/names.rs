//! Names of functions as people write them.

use cpp_demangle::{DemangleOptions, Symbol};

/// Beyond it the lists of a template's arguments are cut.
const READABLE: usize = 100;

/// Names whose own signs look like brackets; longer ones first.
const OPERATORS: [&str; 11] = [
    "operator<=>",
    "operator<<=",
    "operator<<",
    "operator<=",
    "operator<",
    "operator>>=",
    "operator>>",
    "operator>=",
    "operator->*",
    "operator->",
    "operator>",
];

/// A plain form of a symbol: demangled, without parameters, return type or hash.
pub fn plain(raw: &str) -> String {
    let raw = raw.split('@').next().unwrap_or(raw); // a version, as in `memcpy@@GLIBC_2.14`
    if let Ok(name) = rustc_demangle::try_demangle(raw) {
        return format!("{name:#}");
    }
    if !raw.starts_with("_Z") {
        return raw.to_owned();
    }
    let options = DemangleOptions::new().no_params().no_return_type();
    // A tag such as `[abi:cxx11]` tells two versions of one function apart, of which one is there.
    let named =
        Symbol::new(raw).ok().and_then(|symbol| symbol.demangle_with_options(&options).ok());
    match named.map(without_tags) {
        Some(name) if name.len() > READABLE => without_arguments(&name),
        Some(name) => name,
        None => raw.to_owned(),
    }
}

fn without_tags(mut name: String) -> String {
    while let Some(begins) = name.find("[abi:") {
        let Some(length) = name[begins..].find(']') else { break };
        name.replace_range(begins..=begins + length, "");
    }
    name
}

/// The name with `<..>` for each outermost list of a template's arguments.
fn without_arguments(name: &str) -> String {
    let mut short = String::new();
    let (mut depth, mut rest) = (0_usize, name);
    while let Some(letter) = rest.chars().next() {
        // An operator's own signs open no list.
        let mut operators = OPERATORS.iter();
        let operator = operators.find(|operator| rest.starts_with(*operator));
        let taken = operator.map_or(letter.len_utf8(), |operator| operator.len());
        match letter {
            '<' => {
                if depth == 0 {
                    short.push_str("<..>");
                }
                depth += 1;
            }
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => short.push_str(&rest[..taken]),
            _ => {}
        }
        rest = &rest[taken..];
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_parameters_hashes_and_versions() {
        for (raw, expected) in [
            ("main", "main"),
            ("memcpy@@GLIBC_2.14", "memcpy"),
            ("_ZN7rocksdb6crc32c6ExtendEjPKcm", "rocksdb::crc32c::Extend"),
            (
                "_ZN7rocksdb6crc32c10ExtendImplIXadL_ZNS0_L11Slow_CRC32CEPmPPKhEEEEjjPKcm",
                "rocksdb::crc32c::ExtendImpl",
            ),
            ("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"),
            ("_RNvCskwGfYPst2Cb_3foo3bar", "foo::bar"),
            (
                "_ZN7rocksdb6crc32c20IsFastCrc32SupportedB5cxx11Ev",
                "rocksdb::crc32c::IsFastCrc32Supported",
            ),
            ("_Znonsense", "_Znonsense"),
        ] {
            let name = plain(raw);
            assert!(name.starts_with(expected), "{raw}: {name}");
            let has_more = ["17h0123", "[abi"].iter().any(|part| name.contains(part));
            assert!(!has_more && !name.ends_with(')'), "{raw}: {name}");
        }
        assert_eq!(plain("_ZN7rocksdb6crc32c6ExtendEjPKcm"), "rocksdb::crc32c::Extend");
    }

    #[test]
    fn long_lists_of_arguments_are_cut_and_operators_are_not() {
        assert_eq!(without_arguments("a<b<c>, d>::e<f>"), "a<..>::e<..>");
        assert_eq!(without_arguments("s::operator<<<int>"), "s::operator<<<..>");
        assert_eq!(without_arguments("s::operator->"), "s::operator->");
    }
}
