//! The verb `store`, from the request to the exit code. What needs a library is in `libraries`.

mod libraries;

use serde_json::json;

use crate::support::run;

#[test]
fn a_library_that_is_not_there_is_missing_by_its_path() {
    let data = std::env::temp_dir().join(format!("assayer-store-absent-{}", std::process::id()));
    let library = "/nowhere/librocksdb.so";
    let request =
        json!({"store": "rocksdb", "library": library, "path": data, "action": "prepare"});
    let outcome = run("store", &request);
    assert_eq!(outcome.code, Some(3));
    let message = outcome.only("error")["message"].as_str().unwrap();
    assert!(message.contains(library), "{message}");
    assert!(!data.exists());
}

#[test]
fn a_wrong_request_is_refused_with_what_is_allowed() {
    let right = json!({"store": "sqlite", "library": "libsqlite3.so.0", "path": "/tmp"});
    for (field, value, mention) in [
        ("store", json!("lmdb"), "rocksdb, sqlite"),
        ("workload", json!({"kind": "tpcc"}), "ycsb"),
        ("workload", json!({"records": 0}), "workload.records"),
        ("settings", json!({"cache_size": [1]}), "settings.cache_size"),
        ("path", json!(null), "path is missing"),
        ("threads", json!(0), "threads"),
        ("colour", json!(1), "colour"),
    ] {
        let mut request = right.clone();
        request[field] = value;
        let outcome = run("store", &request);
        let message = outcome.only("error")["message"].as_str().unwrap().to_owned();
        assert_eq!(outcome.code, Some(2), "{message}");
        assert!(message.contains(mention), "{message:?} does not mention {mention:?}");
    }
}
