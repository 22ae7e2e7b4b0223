//! Arenas: what the kernel gave is read back for exactly their mapping; what it refuses is said.

use assay_primitives::{Arena, PageMode, PrimitiveError};

const MIB: usize = 1 << 20;

#[test]
fn an_arena_is_its_own_mapping_and_zero() {
    for mode in [PageMode::Small, PageMode::Transparent] {
        let arena = match Arena::new(5 * MIB, mode) {
            Ok(arena) => arena,
            // An emulator takes the advice and forgets it; the read-back tells.
            Err(PrimitiveError::Missing { what, .. }) if mode == PageMode::Transparent => {
                assert!(what.contains("`thp`"), "{what}");
                continue;
            }
            Err(other) => panic!("{other}"),
        };
        let obtained = arena.obtained().unwrap();
        assert_eq!(obtained.bytes as usize, 6 * MIB, "rounded to whole huge pages");
        assert_eq!(obtained.private_hugetlb_bytes, 0);
        let memory = arena.carve(6 * MIB, 64).unwrap();
        // SAFETY: the arena handed out these bytes and nobody else uses them.
        let bytes = unsafe { std::slice::from_raw_parts(memory.as_ptr(), 6 * MIB) };
        assert!(bytes.iter().all(|byte| *byte == 0));
        assert!(arena.carve(1, 1).is_none(), "the arena is full");
    }
}

#[test]
fn small_pages_are_small() {
    let obtained = Arena::new(8 * MIB, PageMode::Small).unwrap().obtained().unwrap();
    assert_eq!(obtained.anon_huge_bytes, 0);
    assert!(obtained.kernel_page_bytes < 2 * MIB as u64);
}

#[test]
fn collapsed_pages_are_huge_or_refused_with_a_remedy() {
    match Arena::new(5 * MIB, PageMode::Collapse) {
        Ok(arena) => {
            let obtained = arena.obtained().unwrap();
            assert_eq!(obtained.anon_huge_bytes as usize, 6 * MIB);
            assert_eq!(obtained.private_hugetlb_bytes, 0);
        }
        Err(PrimitiveError::Missing { what, next }) => {
            assert!(what.contains("`collapse`"), "{what}");
            assert!(next.contains("Linux 6.1") || next.contains("memory"), "{next}");
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn pages_of_a_gibibyte_are_obtained_or_refused_with_a_remedy() {
    match Arena::new(MIB, PageMode::Hugetlb1g) {
        Ok(arena) => {
            let obtained = arena.obtained().unwrap();
            assert_eq!(obtained.private_hugetlb_bytes, 1 << 30);
            assert_eq!(obtained.kernel_page_bytes, 1 << 30);
        }
        Err(PrimitiveError::Missing { what, next }) => {
            assert!(what.contains("`hugetlb-1g`") && what.contains("1 GiB"), "{what}");
            assert!(next.contains("nr_hugepages") || next.contains("choose pages"), "{next}");
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn memory_is_handed_out_aligned_and_once() {
    let arena = Arena::new(MIB, PageMode::Small).unwrap();
    let first = arena.carve(3, 1).unwrap();
    let second = arena.carve(8, 128).unwrap();
    assert_eq!(second.as_ptr().addr() % 128, 0);
    assert!(second.as_ptr().addr() >= first.as_ptr().addr() + 3);
}

#[test]
fn a_pool_that_is_too_small_is_missing_and_says_how_to_fill_it() {
    // No pool has room for a tebibyte.
    let refused = Arena::new(1 << 40, PageMode::Hugetlb2m).unwrap_err();
    let PrimitiveError::Missing { what, next } = refused else { panic!("{refused}") };
    assert!(what.contains("524288 pages"), "{what}");
    let (_, pages) = next.split_once("sysctl -w vm.nr_hugepages=").expect("a command");
    assert!(pages.parse::<u64>().unwrap() >= 524_288, "{next}");
}
