//! What files say of themselves, asked of the binary about itself.

use serde_json::{Value, json};

use crate::support::{assayer, run};

fn object(request: &Value) -> Value {
    let outcome = run("object", request);
    assert_eq!(outcome.types(), ["object", "result"], "{:?}", outcome.messages);
    outcome.only("object").clone()
}

#[test]
fn functions_and_their_places_are_told_of_the_binary_itself() {
    let name = "assay_lock_ttas_slow_none";
    let found = object(&json!({"paths": [assayer()], "symbols": [name], "functions": "all"}));
    assert_eq!((&found["kind"], &found["stripped"]), (&json!("executable"), &json!(false)));
    assert!(found["functions"].as_array().unwrap().contains(&json!(name)));
    assert!(found["needed"].as_array().unwrap().contains(&json!("libc.so.6")));
    let symbol = &found["symbols"][0];
    let census = run("census", &json!({"path": assayer(), "symbols": [name]}));
    let function = &census.only("result")["functions"][0];
    let address = format!("{:#x}", symbol["address"].as_u64().unwrap());
    assert_eq!(
        (json!(address), &symbol["bytes"]),
        (function["address"].clone(), &function["bytes"])
    );
    assert_eq!(found["build_id"], census.only("result")["build_id"]);
    assert!(symbol["offset"].as_u64().unwrap() < std::fs::metadata(assayer()).unwrap().len());
}

#[test]
fn what_is_not_asked_for_is_not_told() {
    let found = object(&json!({"paths": [assayer()]}));
    assert_eq!(found["functions"], Value::Null);
    for field in ["symbols", "references", "missing"] {
        assert_eq!(found[field], json!([]), "{field}");
    }
}

#[test]
fn what_is_no_elf_file_is_refused_and_counted() {
    let outcome = run("object", &json!({"paths": ["/dev/null", "/no/such/file", assayer()]}));
    assert_eq!(outcome.types(), ["refused", "refused", "object", "result"]);
    assert_eq!(outcome.only("result"), &json!({"images": 1, "refused": 2}));
    let wrong = run("object", &json!({"paths": [], "functions": "some"}));
    assert_eq!((wrong.code, &wrong.only("error")["kind"]), (Some(2), &json!("usage")));
}
