//! What is written comes back; what was damaged never does.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use assay_log::{Log, LogError, LogMode, Tail, recover};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::common::{Device, Folder, LOGGING, Transaction, options, read, write};

fn transactions(count: usize) -> impl Strategy<Value = Vec<Transaction>> {
    let row = prop::option::of(prop::collection::vec(any::<u8>(), 0..200));
    let writes = prop::collection::vec((any::<u16>(), any::<u64>(), row), 1..8);
    prop::collection::vec((any::<u64>(), writes), 0..count)
}

/// A log file of forty transactions of many sizes, and what is in it.
static SAMPLE: LazyLock<(Vec<u8>, Vec<Transaction>)> = LazyLock::new(|| {
    let sample: Vec<Transaction> = (0..40_u64)
        .map(|tid| {
            let writes = (0..=tid % 5).map(|key| {
                let row = vec![(tid * 7 + key) as u8; (tid * key) as usize % 90];
                ((tid % 3) as u16, key, (key != 3).then_some(row))
            });
            (tid, writes.collect())
        })
        .collect();
    let folder = Folder::new();
    let path = folder.file("log");
    let log = Log::create(&path, LogMode::Asynchronous, options()).unwrap();
    write(&log, &sample);
    log.close().unwrap();
    (std::fs::read(&path).unwrap(), sample)
});

/// Recovers damaged bytes; whatever comes out is a prefix of the sample.
fn prefix_of_sample(path: &Path, bytes: &[u8]) -> usize {
    // ext4 flushes a file that is rewritten in place when it is closed; a new one costs nothing.
    let _ = std::fs::remove_file(path);
    std::fs::write(path, bytes).unwrap();
    match recover(path, &mut |_| ()) {
        Err(LogError::NotALog { .. }) => 0,
        Err(error) => panic!("{error}"),
        Ok(_) => {
            let (recovered, found) = read(path);
            assert!(recovered.valid_bytes <= bytes.len() as u64);
            assert_eq!(found, SAMPLE.1[..found.len()]);
            found.len()
        }
    }
}

#[test]
fn every_cut_leaves_the_records_before_it() {
    let folder = Folder::new();
    let path = folder.file("cut");
    let (bytes, sample) = &*SAMPLE;
    let mut before = 0;
    for length in 0..=bytes.len() {
        let found = prefix_of_sample(&path, &bytes[..length]);
        assert!(found == before || found == before + 1);
        before = found;
    }
    assert_eq!(before, sample.len());
}

#[test]
fn a_flipped_bit_anywhere_ends_the_log_at_its_record() {
    let folder = Folder::new();
    let path = folder.file("flip");
    let mut bytes = SAMPLE.0.clone();
    let mut before = 0;
    for at in 0..bytes.len() {
        let bit = 1 << (at % 8);
        bytes[at] ^= bit;
        let found = prefix_of_sample(&path, &bytes);
        bytes[at] ^= bit;
        assert!(found < SAMPLE.1.len(), "byte {at}: a changed record was taken");
        assert!(found == before || found == before + 1, "byte {at}: {found} after {before}");
        before = found;
    }
}

#[test]
fn records_out_of_their_place_do_not_count() {
    let folder = Folder::new();
    let bytes = &SAMPLE.0;
    let first = 32 + 32 + 16;
    let (file_header, one) = (&bytes[..32], &bytes[32..first]);
    let twice = [file_header, one, one].concat();
    assert_eq!(prefix_of_sample(&folder.file("twice"), &twice), 1);
    let skipped = [file_header, &bytes[first..]].concat();
    assert_eq!(prefix_of_sample(&folder.file("skipped"), &skipped), 0);
}

#[test]
fn a_record_of_another_log_does_not_continue_this_one() {
    let folder = Folder::new();
    let (one, other) = (folder.file("one"), folder.file("other"));
    let same = [(1, vec![(1, 1, Some(vec![1]))]), (2, vec![(1, 1, Some(vec![2]))])];
    for path in [&one, &other] {
        let log = Log::create(path, LogMode::Group, options()).unwrap();
        write(&log, &same);
        log.close().unwrap();
    }
    let (one, other) = (std::fs::read(one).unwrap(), std::fs::read(other).unwrap());
    let record = 32 + 16 + 1;
    let mixed = [&one[..32 + record], &other[32 + record..]].concat();
    let path = folder.file("mixed");
    std::fs::write(&path, mixed).unwrap();
    let (recovered, found) = read(&path);
    assert_eq!(found, same[..1]);
    assert!(matches!(recovered.tail, Tail::Torn { .. }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_comes_back(
        sample in transactions(20),
        mode in prop::sample::select(&LOGGING),
    ) {
        let device = Arc::new(Device::default());
        let log = device.log(mode);
        write(&log, &sample);
        log.close().unwrap();
        let (recovered, found) = device.read(true);
        prop_assert_eq!(&found, &sample);
        prop_assert_eq!(recovered.tail, Tail::Clean);
        prop_assert_eq!(recovered.valid_bytes, recovered.file_bytes);
        prop_assert_eq!(recovered.tid_max, sample.iter().map(|one| one.0).max().unwrap_or(0));
    }

    #[test]
    fn any_damage_leaves_a_prefix(
        damage in prop::collection::vec((any::<Index>(), any::<u8>()), 1..20),
        cut in any::<Index>(),
        junk in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let folder = Folder::new();
        let mut bytes = SAMPLE.0.clone();
        bytes.truncate(cut.index(bytes.len()) + 1);
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes.extend(junk);
        prefix_of_sample(&folder.file("damaged"), &bytes);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(junk in prop::collection::vec(any::<u8>(), 0..400)) {
        let folder = Folder::new();
        let path = folder.file("junk");
        std::fs::write(&path, &junk).unwrap();
        prop_assert!(recover(&path, &mut |_| ()).is_ok() == junk.is_empty());
        let behind_header = [&SAMPLE.0[..32], &junk].concat();
        prop_assert_eq!(prefix_of_sample(&path, &behind_header), 0);
    }
}
