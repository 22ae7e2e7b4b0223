//! What is found in short functions for aarch64: each shape that must be found, and for each the
//! neighbour that must not.

use serde_json::json;

use crate::support::words::*;
use crate::support::*;

#[test]
fn loops_that_look_at_one_place_until_it_changes_wait() {
    for (words, by) in [
        (LLSC_LOCK, "llsc"),
        (ACQUIRE, "ldar"),
        (PLAIN, "load"),
        (LSE_LOCK, "lse"),
        (CHASED, "load"),
    ] {
        assert_eq!(sites_of(words, "spin-loop"), [(spins("none", by), 0)], "{words:x?}");
    }
    assert_eq!(sites_of(YIELDING, "spin-loop"), [(spins("yield", "ldar"), 0)]);
}

#[test]
fn a_reader_that_goes_round_while_a_writer_holds_the_lock_waits() {
    assert_eq!(sites_of(READER_LOCK, "spin-loop"), [(spins("none", "lse"), 0)]);
}

#[test]
fn loops_that_work_or_only_try_again_do_not_wait() {
    let bounded = [COUNTER, STORING, RETRY_STATE];
    let working = [RETRY_CAS, RETRY_LLSC, STRING, LIST, COPY, COUNTED, CALLING, STACK, DELAY];
    for words in working.into_iter().chain(bounded) {
        assert_eq!(sites_of(words, "spin-loop"), [], "{words:x?}");
    }
}

#[test]
fn code_between_the_parts_of_a_loop_does_not_belong_to_it() {
    assert_eq!(sites_of(APART, "spin-loop"), [(spins("none", "load"), 0)]);
    // A branch back to code that returns makes no loop.
    assert_eq!(sites_of(NOLOOP, "spin-loop"), []);
}

#[test]
fn an_empty_counting_loop_has_its_constant_and_whether_an_atomic_is_near() {
    let facts = |constant, near| json!({"constant": constant, "near_atomic": near});
    assert_eq!(sites_of(DELAY, "delay-loop"), [(facts(200, false), 4)]);
    assert_eq!(sites_of(DELAY_NEAR, "delay-loop"), [(facts(50, true), 4)]);
    for words in [PLAIN, COPY, COUNTED, BARRIER] {
        assert_eq!(sites_of(words, "delay-loop"), [], "{words:x?}");
    }
}

#[test]
fn an_atomic_behind_a_look_at_a_flag_is_dispatched_with_its_fallback() {
    assert_eq!(sites_of(GUARDED, "inline-dispatch"), [(json!({"count": 1}), 12)]);
    assert_eq!(sites_of(GUARDED, "llsc-outside-helper"), []);
    let image = image(&library(GUARDED));
    assert_eq!(image.facts.atomics, "inline-dispatch");
    assert_eq!((image.counts["lse"], image.counts["ll_sc"]), (1, 2));
}

#[test]
fn atomics_without_a_guard_are_named_by_what_they_are() {
    let unguarded = json!({"class": "lse", "count": 1});
    assert_eq!(sites_of(LSE_LOCK, "unguarded"), [(unguarded, 4)]);
    assert_eq!(image(&library(LSE_LOCK)).facts.atomics, "inline-unguarded");
    let add = json!({"operation": "add"});
    assert_eq!(sites_of(RETRY_LLSC, "llsc-outside-helper"), [(add, 0)]);
    assert_eq!(image(&library(RETRY_LLSC)).facts.atomics, "ll-sc-only");
    assert_eq!(image(&library(STRING)).facts.atomics, "none");
}

#[test]
fn barriers_of_the_whole_system_are_told_in_loops_only() {
    assert_eq!(sites_of(BARRIER, "barrier-in-loop"), [(json!({"what": "dmb sy"}), 0)]);
    let more = image(&library(BARRIER)).facts.more;
    assert_eq!((more["dmb sy"], more["dsb ish"]), (1, 1));
}

#[test]
fn timers_hints_and_questions_about_the_cpu_are_told_where_they_stand() {
    let kinds: Vec<_> = sites(TIMER).into_iter().map(|site| (site.0, site.2)).collect();
    let expected = [("hint-outside-loop", 4), ("id-register", 8), ("timer", 0)];
    assert_eq!(kinds, expected.map(|(kind, at)| (kind.to_owned(), at)));
}

#[test]
fn a_hint_in_a_loop_too_long_to_be_a_wait_is_in_a_loop_all_the_same() {
    // isb; 80 times nop; cbnz w1,-81; ret
    let back = 0x3500_0001 | ((-81i32).cast_unsigned() & 0x7_FFFF) << 5;
    let mut words = vec![0xD503_3FDF];
    words.extend([0xD503_201F; 80]);
    let without = [&words[..], &[0xD65F_03C0]].concat();
    assert_eq!(sites_of(&without, "hint-outside-loop").len(), 1);
    let with = [&words[..], &[back, 0xD65F_03C0]].concat();
    assert_eq!(sites_of(&with, "hint-outside-loop"), []);
}

#[test]
fn accelerated_code_that_nothing_refers_to_is_unreachable() {
    let facts = json!({"classes": ["crc32"], "why": "unreferenced", "exported": false});
    assert_eq!(sites_of(CRC, "unreachable"), [(facts, 0)]);
}

#[test]
fn weak_classes_outside_of_known_code_are_not_counted() {
    // The same words, but the unwinding entry is broken.
    let mut bytes = library(RETRY_LLSC);
    assert_eq!(image(&bytes).counts["ll_sc"], 2);
    let frame = bytes.windows(4).position(|four| four == b"\x01zR\0").unwrap();
    bytes[frame + 1] = b'?';
    let image = image(&bytes);
    assert_eq!(image.counts["ll_sc"], 0);
    assert_eq!(image.unverified["ll_sc"], 2);
    assert_eq!((image.coverage.covered, image.coverage.by), (0.0, "none"));
}

#[test]
fn an_excerpt_has_address_word_and_text() {
    let image = image(&library(LSE_LOCK));
    let spin = image.sites.iter().find(|site| site.kind.name() == "spin-loop").unwrap();
    assert_eq!(spin.length, 3);
    let expected = [
        "10000: 52800021  mov w1, #0x1",
        "10004: b8a18002  swpa w1, w2, [x0]",
        "10008: 35ffffc2  cbnz w2, 10000",
    ];
    assert_eq!(spin.listing, expected);
}
