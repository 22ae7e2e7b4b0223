//! A store: its settings, its data, a run.

use serde_json::{Value, json};

use crate::protocol::holds;
use crate::support::libraries::{Folder, LIBRARIES, request};
use crate::support::run;

#[test]
fn a_store_says_what_the_specification_says() {
    let folder = Folder::new("protocol");
    holds("store-options", run("store", &request("sqlite", &folder, "options", json!({}))));
    for (store, _) in LIBRARIES {
        let mut prepared = run("store", &request(store, &folder, "prepare", json!({})));
        assert_eq!(prepared.only("result")["faults"], json!([]));
        if store == "sqlite" {
            // Told each second, so only where it takes one.
            prepared.messages.retain(|message| message["type"] != "loading");
            holds("store-prepare", prepared);
        }
        let outcome = run("store", &request(store, &folder, "run", json!({})));
        assert_eq!(outcome.only("result")["state"]["checksum_ok"], Value::Bool(true));
        holds(&format!("store-{store}"), outcome);
    }
}
