//! What a survey says of a file: counts, sites, facts. Types only; `assayer`'s protocol has the
//! meaning of every field, because these are written as they are.

use std::collections::BTreeMap;

use serde::Serialize;

/// Instructions by class.
pub type Counts = BTreeMap<&'static str, u64>;

/// What was found in one input.
#[derive(Debug)]
pub enum Found {
    /// An ELF image was understood.
    Image(Box<Image>),
    /// The input, or a member of it, was not.
    Refused(Refused),
}

/// An input that cannot be surveyed.
#[derive(Debug, Serialize)]
pub struct Refused {
    /// The input.
    pub path: String,
    /// The member of a static library.
    pub member: Option<String>,
    /// Why, in words.
    pub why: String,
}

/// One ELF image.
#[derive(Debug, Serialize)]
pub struct Image {
    pub path: String,
    pub member: Option<String>,
    pub arch: &'static str,
    pub kind: &'static str,
    pub build_id: Option<String>,
    pub stripped: bool,
    pub language: Option<&'static str>,
    pub counts: Counts,
    pub unverified: Counts,
    pub helpers: Vec<Helper>,
    pub coverage: Coverage,
    pub sites: Vec<Site>,
    pub facts: Facts,
    pub exports_hints: BTreeMap<String, Hints>,
}

/// An outline-atomics helper, named from its body.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Helper {
    pub name: String,
    pub section: Option<String>,
    pub address: u64,
    pub calls: u64,
}

/// How much of the code is known to be instructions, and from what.
#[derive(Debug, Serialize)]
pub struct Coverage {
    pub text_bytes: u64,
    /// Fraction.
    pub covered: f64,
    pub by: &'static str,
}

/// How many hints to a spinning core a function holds.
#[derive(Clone, Copy, Debug, Default, Serialize, PartialEq, Eq)]
pub struct Hints {
    pub pause: u64,
    pub hints: u64,
}

/// A place worth looking at.
#[derive(Clone, Debug, Serialize)]
pub struct Site {
    #[serde(flatten)]
    pub kind: Kind,
    pub function: Option<String>,
    pub section: Option<String>,
    pub address: u64,
    /// In instructions.
    pub length: u64,
    pub listing: Vec<String>,
}

/// What is there. The fields become `facts`.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
#[serde(tag = "kind", content = "facts", rename_all = "kebab-case")]
pub enum Kind {
    SpinLoop { hint: &'static str, by: &'static str },
    DelayLoop { constant: Option<u64>, near_atomic: bool },
    LlscOutsideHelper { operation: &'static str },
    InlineDispatch { count: u64 },
    Unguarded { class: &'static str, count: u64 },
    Unreachable { classes: Vec<&'static str>, why: String, exported: bool },
    Hwcap { argument: u64, bits: Vec<String> },
    Ifunc {},
    IdRegister { name: String },
    SigillProbe {},
    BarrierInLoop { what: String },
    Timer { count: u64 },
    HintOutsideLoop { hint: &'static str, count: u64 },
    SyncHelper { name: String, calls: u64 },
}

impl Kind {
    /// The name in the output.
    pub fn name(&self) -> &'static str {
        match self {
            Kind::SpinLoop { .. } => "spin-loop",
            Kind::DelayLoop { .. } => "delay-loop",
            Kind::LlscOutsideHelper { .. } => "llsc-outside-helper",
            Kind::InlineDispatch { .. } => "inline-dispatch",
            Kind::Unguarded { .. } => "unguarded",
            Kind::Unreachable { .. } => "unreachable",
            Kind::Hwcap { .. } => "hwcap",
            Kind::Ifunc {} => "ifunc",
            Kind::IdRegister { .. } => "id-register",
            Kind::SigillProbe {} => "sigill-probe",
            Kind::BarrierInLoop { .. } => "barrier-in-loop",
            Kind::Timer { .. } => "timer",
            Kind::HintOutsideLoop { .. } => "hint-outside-loop",
            Kind::SyncHelper { .. } => "sync-helper",
        }
    }
}

/// What holds of the whole image.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Facts {
    /// How it does atomic operations; `none` on other architectures than aarch64.
    pub atomics: &'static str,
    pub min_load_align: Option<u64>,
    /// Whether something sets the flag that the helpers read; null without helpers.
    pub constructor: Option<bool>,
    pub page_size_string: bool,
    pub jemalloc_lg_page: Option<u32>,
    /// Tables by bytes among its constants: `crc32`, `crc32c`.
    pub checksum_tables: Vec<&'static str>,
    pub bti: bool,
    pub pac: bool,
    pub section_align: BTreeMap<String, u64>,
    pub needed: Vec<String>,
    /// Barriers by domain, branch-target marks, ... beside the counts proper.
    pub more: BTreeMap<String, u64>,
    /// Kinds of sites of which not all are listed, and how many there are.
    pub cut: BTreeMap<&'static str, u64>,
}

/// Most sites of one kind that are listed.
pub const MOST_SITES: usize = 1000;

/// Collects sites, and cuts kinds that are everywhere.
#[derive(Debug, Default)]
pub struct Sites {
    /// Those that are listed.
    pub listed: Vec<Site>,
    /// All of a kind.
    pub by_kind: BTreeMap<&'static str, u64>,
}

impl Sites {
    /// Adds one; `site` is only made when it is listed.
    pub fn add(&mut self, kind: Kind, site: impl FnOnce(Kind) -> Site) {
        let count = self.by_kind.entry(kind.name()).or_default();
        *count += 1;
        if *count <= MOST_SITES as u64 {
            self.listed.push(site(kind));
        }
    }

    /// Adds those of other kinds.
    pub fn join(&mut self, others: Self) {
        self.listed.extend(others.listed);
        self.by_kind.extend(others.by_kind);
    }

    /// Kinds of which some were left out.
    pub fn cut(&self) -> BTreeMap<&'static str, u64> {
        let more = |(_, count): &(&&'static str, &u64)| **count > MOST_SITES as u64;
        self.by_kind.iter().filter(more).map(|(kind, count)| (*kind, *count)).collect()
    }
}

/// What the survey of one architecture finds.
#[derive(Debug, Default)]
pub struct Findings {
    pub counts: Counts,
    pub unverified: Counts,
    pub helpers: Vec<Helper>,
    pub sites: Sites,
    pub exports: BTreeMap<String, Hints>,
    pub atomics: &'static str,
    pub constructor: Option<bool>,
    pub more: BTreeMap<String, u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_written_with_its_kind_and_facts() {
        let site = Site {
            kind: Kind::SpinLoop { hint: "none", by: "load" },
            function: None,
            section: None,
            address: 16,
            length: 3,
            listing: vec![],
        };
        let expected = serde_json::json!({
            "kind": "spin-loop", "facts": {"hint": "none", "by": "load"}, "function": null,
            "section": null, "address": 16, "length": 3, "listing": [],
        });
        assert_eq!(serde_json::to_value(&site).unwrap(), expected);
    }

    #[test]
    fn the_name_of_a_kind_is_what_is_written() {
        let kinds = [
            Kind::Ifunc {},
            Kind::SigillProbe {},
            Kind::LlscOutsideHelper { operation: "add" },
            Kind::IdRegister { name: String::new() },
            Kind::DelayLoop { constant: None, near_atomic: false },
        ];
        for kind in kinds {
            let value = serde_json::to_value(&kind).unwrap();
            assert_eq!(value["kind"], kind.name());
            assert!(value["facts"].is_object());
        }
    }

    #[test]
    fn of_a_kind_that_is_everywhere_only_the_first_sites_are_listed() {
        let mut sites = Sites::default();
        for address in 0..MOST_SITES as u64 + 5 {
            sites.add(Kind::Ifunc {}, |kind| Site {
                kind,
                function: None,
                section: None,
                address,
                length: 1,
                listing: vec![],
            });
        }
        assert_eq!(sites.listed.len(), MOST_SITES);
        assert_eq!(sites.cut(), BTreeMap::from([("ifunc", MOST_SITES as u64 + 5)]));
    }
}
