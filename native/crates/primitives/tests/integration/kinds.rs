//! Calls, loads, timers, hashes, codecs and vector code: every variant against an obvious twin.

use assay_primitives::calls::{self, Call, Targets};
use assay_primitives::chase::{Chase, LINE_BYTES, assay_chase};
use assay_primitives::codecs::{Codec, Compression, compress, decompress};
use assay_primitives::hashes::{self, Hash};
use assay_primitives::simd::{Simd, SimdFunction, SimdWork};
use assay_primitives::timers::{self, Timer};
use assay_primitives::unaligned::{Alignment, Pages, assay_unaligned_load};
use assay_primitives::{Arena, PageMode, PrimitiveError};

/// Bytes without a pattern: a linear congruential generator's high bits (Knuth's MMIX constants).
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1u64;
    let next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[test]
fn every_way_of_calling_comes_to_the_same_number() {
    let targets = Targets::new();
    for call in Call::ALL {
        for times in [0, 1, 7, 8, 9, 100] {
            // SAFETY: the targets are alive.
            let got = unsafe { calls::function(call)(&targets, times, 5) };
            assert_eq!(got, Targets::expected(times, 5), "{call:?} {times} times");
        }
    }
}

#[test]
fn loads_lie_where_their_alignment_says_and_read_what_is_there() {
    let arena = Arena::new(Pages::BYTES, PageMode::Small).unwrap();
    let pages = Pages::new(&arena).unwrap();
    let lies = |alignment: Alignment| {
        let start = pages.start(alignment).addr();
        (start.is_multiple_of(8), start % 64 > 56, start % 4096 > 4088)
    };
    assert_eq!(lies(Alignment::Aligned), (true, false, false));
    assert_eq!(lies(Alignment::WithinLine), (false, false, false));
    assert_eq!(lies(Alignment::AcrossLine), (false, true, false));
    assert_eq!(lies(Alignment::AcrossPage), (false, true, true));
    for alignment in Alignment::ALL {
        // SAFETY: the pages are alive.
        let sum = unsafe { assay_unaligned_load(pages.start(alignment), 9) };
        assert_eq!(sum, Pages::expected(alignment, 9), "{alignment:?}");
    }
}

/// Numbers without a pattern, of `noise`.
fn below() -> impl FnMut(u64) -> u64 {
    let mut bytes = noise(1 << 20).into_iter();
    move |bound| {
        let word: Vec<u8> = bytes.by_ref().take(4).collect();
        u64::from(u32::from_le_bytes(word.try_into().unwrap())) % bound
    }
}

/// The twin follows the addresses by itself: each place once, and nothing outside.
#[test]
fn a_chase_comes_to_every_place_once_on_a_line_of_its_own() {
    for stride in [64, 128, 4096, 1 << 16] {
        let bytes = 64 * stride;
        let arena = Arena::new(bytes, PageMode::Small).unwrap();
        let chase = Chase::new(&arena, bytes, stride, below()).unwrap();
        assert_eq!(chase.places(), 64);
        let first = chase.place(0);
        let (mut place, mut seen) = (first, std::collections::BTreeSet::new());
        for step in 0..64 {
            // SAFETY: the places are alive.
            assert!(unsafe { chase.leads(first, step, place) }, "{step} steps at {stride}");
            let offset = place.addr() - first.addr();
            assert!(offset < bytes && place.addr().is_multiple_of(LINE_BYTES), "{offset}");
            assert!(seen.insert(offset / stride), "twice at {offset}");
            // SAFETY: as above.
            place = unsafe { assay_chase(place, 1) };
        }
        assert_eq!((seen.len(), place), (64, first));
        // SAFETY: as above.
        unsafe {
            assert_eq!(assay_chase(first, 640_007), assay_chase(first, 7));
            assert!(!chase.leads(first, 8, assay_chase(first, 7)));
        }
    }
}

#[test]
fn places_apart_by_pages_do_not_all_lie_in_one_set_of_a_cache() {
    let (stride, bytes) = (4096, 128 * 4096);
    let arena = Arena::new(bytes, PageMode::Small).unwrap();
    let chase = Chase::new(&arena, bytes, stride, below()).unwrap();
    let lines: std::collections::BTreeSet<usize> =
        (0..128).map(|number| chase.place(number).addr() % 4096 / 64).collect();
    assert_eq!(lines.len(), 64, "all lines of a page are used");
}

#[test]
fn a_chase_that_cannot_be_is_refused() {
    let arena = Arena::new(1 << 20, PageMode::Small).unwrap();
    for (bytes, stride) in [(1 << 20, 0), (1 << 20, 32), (1 << 20, 96), (64, 64), (1 << 30, 64)] {
        assert!(Chase::new(&arena, bytes, stride, below()).is_none(), "{bytes} by {stride}");
    }
}

#[test]
fn no_timer_of_this_cpu_runs_backwards_and_the_others_are_missing() {
    let own: &[Timer] = if cfg!(target_arch = "x86_64") {
        &[Timer::Rdtsc, Timer::Rdtscp]
    } else {
        &[Timer::Cntvct, Timer::IsbCntvct]
    };
    for timer in Timer::ALL {
        match timers::function(timer) {
            // SAFETY: the function was handed out for this CPU.
            Ok(function) => assert_eq!(unsafe { function(1000) }, 1, "{timer:?}"),
            Err(PrimitiveError::Missing { what, next }) => {
                assert!(!own.contains(&timer) || timer == Timer::Rdtscp, "{what}");
                assert!(what.contains(timer.name()) && next.contains("instant"), "{what}: {next}");
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(timers::function(own[0]).is_ok());
}

/// The hash of nothing is that of the reference implementation, seed 0.
#[test]
fn both_crates_compute_the_same_hash() {
    for length in [0, 1, 3, 16, 128, 129, 240, 241, 1024, 4097] {
        let mut data = noise(length);
        let [detected, compiled] = [Hash::Xxh3Detected, Hash::Xxh3Compiled].map(|hash| {
            // SAFETY: the buffer is ours.
            unsafe { hashes::function(hash)(data.as_mut_ptr(), data.len()) }
        });
        assert_eq!(detected, compiled, "{length} bytes");
        if length == 0 {
            assert_eq!(detected, 0x2D06_8005_38D3_94C2);
        }
    }
}

#[test]
fn the_cipher_changes_the_buffer_and_gives_it_back() {
    let plain = noise(1000);
    let mut data = plain.clone();
    let cipher = hashes::function(Hash::Chacha20);
    // SAFETY: the buffer is ours.
    let first = unsafe { cipher(data.as_mut_ptr(), data.len()) };
    assert_eq!(first.to_le_bytes(), data[..8]);
    let same = data.iter().zip(&plain).filter(|(a, b)| a == b).count();
    assert!(same < 30, "{same} bytes of 1000 are as before");
    // SAFETY: the buffer is ours.
    unsafe { cipher(data.as_mut_ptr(), data.len()) };
    assert_eq!(data, plain);
}

#[test]
fn what_was_compressed_comes_back_and_only_a_codec_makes_it_smaller() {
    let data: Vec<u8> = noise(64).into_iter().cycle().take(10_000).collect();
    for compression in Compression::ALL {
        let mut codec = Codec::new(compression, 3).unwrap();
        let mut packed = vec![0; codec.room(data.len())];
        let size = codec.run(compress(compression), &data, &mut packed).unwrap();
        assert_eq!(size < data.len() / 4, compression != Compression::Copy, "{compression:?}");
        let mut back = vec![0; data.len()];
        let length = codec.run(decompress(compression), &packed[..size], &mut back);
        assert_eq!((length, &back), (Some(data.len()), &data), "{compression:?}");
        assert_eq!(codec.run(compress(compression), &data, &mut [0; 3]), None, "no room");
    }
}

#[test]
fn every_vector_level_agrees_with_the_obvious_loop_at_every_length() {
    let data = noise(4800);
    for level in Simd::ALL {
        let Ok(sum) = SimdFunction::new(level, SimdWork::Sum) else { continue };
        let filter = SimdFunction::new(level, SimdWork::Filter).unwrap();
        for length in (0..=300).chain([4095, 4096, 4799]) {
            for start in [0, 1, 3] {
                let column = &data[start..length.max(start)];
                let numbers = column.chunks_exact(4);
                let twin = numbers.fold(0u32, |sum, bytes| {
                    sum.wrapping_add(u32::from_le_bytes(bytes.try_into().unwrap()))
                });
                assert_eq!(sum.run(column, 0), u64::from(twin), "{level:?} {length}");
                for threshold in [0, 1, 100, 128, 255] {
                    let twin = column.iter().filter(|byte| **byte >= threshold).count() as u64;
                    assert_eq!(filter.run(column, threshold), twin, "{level:?} {length}");
                }
            }
        }
    }
}

#[test]
fn a_vector_level_of_another_cpu_is_missing_by_name() {
    let foreign = if cfg!(target_arch = "x86_64") {
        [Simd::Neon, Simd::Translated]
    } else {
        [Simd::Sse2, Simd::Avx2]
    };
    for level in foreign {
        let refused = SimdFunction::new(level, SimdWork::Sum).unwrap_err();
        let PrimitiveError::Missing { what, .. } = refused else { panic!("{refused}") };
        assert!(what.contains(level.name()) && what.contains(std::env::consts::ARCH), "{what}");
    }
}
