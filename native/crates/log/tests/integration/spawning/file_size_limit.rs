//! A process may make files only so large: what it has acknowledged by then is kept.

use std::io::ErrorKind;

use assay_log::Log;

use super::this_binary;
use crate::common::{Folder, LOGGING, options, read};
use crate::failure::failed;

const CHILD: &str = "ASSAY_LOG_LIMITED_CHILD";
const LIMIT_BYTES: u64 = 64 << 10;

/// Does nothing unless started by the test below: fills a file up to the process's limit.
#[test]
fn child() {
    let Ok(path) = std::env::var(CHILD) else { return };
    let mode = std::env::var("ASSAY_LOG_MODE").unwrap();
    let mode = LOGGING.into_iter().find(|one| one.name() == mode).unwrap();
    let limit = libc::rlimit { rlim_cur: LIMIT_BYTES, rlim_max: LIMIT_BYTES };
    // SAFETY: `limit` is valid for the call; SIG_IGN is a valid disposition.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit), 0);
    }
    let log = Log::create(&path, mode, options()).unwrap();
    let mut worker = log.worker();
    let mut acknowledged = 0_u64;
    let error = loop {
        worker.put(1, acknowledged, &[3; 1000]);
        match worker.commit(acknowledged + 1) {
            Ok(_) => acknowledged += 1,
            Err(error) => break error,
        }
    };
    assert!(error.next().contains("file size limit"));
    failed(Err(error), "write", ErrorKind::FileTooLarge);
    std::fs::write(format!("{path}.acknowledged"), acknowledged.to_string()).unwrap();
}

#[test]
fn a_real_file_that_may_not_grow_keeps_what_was_acknowledged() {
    for mode in LOGGING {
        let folder = Folder::new();
        let path = folder.file("log");
        let child = this_binary()
            .args(["--exact", "spawning::file_size_limit::child"])
            .env(CHILD, &path)
            .env("ASSAY_LOG_MODE", mode.name())
            .output()
            .unwrap();
        assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
        let acknowledged = std::fs::read_to_string(folder.file("log.acknowledged")).unwrap();
        let acknowledged: usize = acknowledged.parse().unwrap();
        let (recovered, found) = read(&path);
        assert!(recovered.file_bytes <= LIMIT_BYTES);
        if mode.is_durable() {
            assert_eq!(acknowledged, (LIMIT_BYTES as usize - 32) / (32 + 16 + 1000));
            assert_eq!(found.len(), acknowledged);
        }
    }
}
