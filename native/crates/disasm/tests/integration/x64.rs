//! What is found in short functions for x86-64.

use serde_json::{Value, json};

use crate::support::*;

fn sites_in(code: &[u8]) -> Vec<(String, Value)> {
    let image = image(&library_of(code, 62));
    let of = |site| serde_json::to_value(site).unwrap();
    let values = image.sites.iter().map(of);
    values.map(|v: Value| (v["kind"].as_str().unwrap().to_owned(), v["facts"].clone())).collect()
}

fn only(code: &[u8], kind: &str) -> Vec<Value> {
    sites_in(code).into_iter().filter(|site| site.0 == kind).map(|site| site.1).collect()
}

#[test]
fn loops_that_wait_are_found_with_and_without_pause() {
    // 1: mov (%rdi),%eax; pause; test %eax,%eax; jne 1b
    let paused = [0x8B, 0x07, 0xF3, 0x90, 0x85, 0xC0, 0x75, 0xF8, 0xC3];
    assert_eq!(only(&paused, "spin-loop"), [spins("pause", "load")]);
    // 1: mov (%rdi),%eax; test %eax,%eax; jne 1b
    let bare = [0x8B, 0x07, 0x85, 0xC0, 0x75, 0xFA, 0xC3];
    assert_eq!(only(&bare, "spin-loop"), [spins("none", "load")]);
    // 1: mov $1,%eax; xchg %eax,(%rdi); test %eax,%eax; jne 1b
    let swapped = [0xB8, 1, 0, 0, 0, 0x87, 0x07, 0x85, 0xC0, 0x75, 0xF5, 0xC3];
    assert_eq!(only(&swapped, "spin-loop"), [spins("none", "xchg")]);
    // 1: xor %eax,%eax; lock cmpxchg %esi,(%rdi); jne 1b
    let compared = [0x31, 0xC0, 0xF0, 0x0F, 0xB1, 0x37, 0x75, 0xF8, 0xC3];
    assert_eq!(only(&compared, "spin-loop"), [spins("none", "lock")]);
}

#[test]
fn loops_that_work_or_only_try_again_do_not_wait() {
    for code in [
        // 1: mov (%rdi),%eax; add $4,%rdi; test %eax,%eax; jne 1b
        &[0x8B, 0x07, 0x48, 0x83, 0xC7, 0x04, 0x85, 0xC0, 0x75, 0xF6, 0xC3][..],
        // 1: mov %eax,%edx; or $1,%edx; lock cmpxchg %edx,(%rdi); jne 1b
        &[0x89, 0xC2, 0x83, 0xCA, 0x01, 0xF0, 0x0F, 0xB1, 0x17, 0x75, 0xF5, 0xC3],
        // 1: mov (%rdi),%rdi; test %rdi,%rdi; jne 1b
        &[0x48, 0x8B, 0x3F, 0x48, 0x85, 0xFF, 0x75, 0xF8, 0xC3],
    ] {
        assert_eq!(only(code, "spin-loop"), [] as [Value; 0], "{code:x?}");
    }
}

#[test]
fn an_empty_counting_loop_has_its_constant() {
    // mov $200,%eax; 1: sub $1,%eax; jne 1b
    let code = [0xB8, 200, 0, 0, 0, 0x83, 0xE8, 0x01, 0x75, 0xFB, 0xC3];
    let facts = json!({"constant": 200, "near_atomic": false});
    assert_eq!(only(&code, "delay-loop"), [facts]);
}

#[test]
fn a_pause_in_a_loop_too_long_to_be_a_wait_is_in_a_loop_all_the_same() {
    // pause; 300 times nop; jne to the pause; ret
    let mut code = vec![0xF3, 0x90];
    code.extend([0x90; 300]);
    assert_eq!(only(&[&code[..], &[0xC3]].concat(), "hint-outside-loop").len(), 1);
    code.extend([0x0F, 0x85]);
    code.extend((-308i32).to_le_bytes());
    code.push(0xC3);
    assert_eq!(only(&code, "hint-outside-loop"), [] as [Value; 0]);
}

#[test]
fn a_pause_without_a_loop_and_a_timer_are_told() {
    // pause; rdtsc; ret
    let code = [0xF3, 0x90, 0x0F, 0x31, 0xC3];
    assert_eq!(only(&code, "hint-outside-loop"), [json!({"hint": "pause", "count": 1})]);
    assert_eq!(only(&code, "timer"), [json!({"count": 1})]);
    let image = image(&library_of(&code, 62));
    assert_eq!(
        (image.arch, image.counts["insns"], image.counts["pause_in_loop"]),
        ("x86_64", 3, 0)
    );
}
