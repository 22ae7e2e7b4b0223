//! Arms that take turns: processes that share a board.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Outcome, finish, start};

struct Board(PathBuf);

impl Board {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("assay-{name}-{}", std::process::id()));
        std::fs::write(&path, [0; 4096]).unwrap();
        Self(path)
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn request(board: &Board, arm: usize, order: &[usize]) -> Value {
    json!({
        "parts": {"lock": "ttas"}, "workload": {"kind": "lock", "locks": "one"},
        "threads": 2, "pin": false, "warmup_ms": 20,
        "slices": {"board": board.0, "arm": arm, "order": order, "slice_us": 30_000,
                   "lead_us": 3000, "patience_s": 60},
    })
}

fn intervals(outcome: &Outcome) -> Vec<&Value> {
    outcome.messages.iter().filter(|it| it["type"] == "interval").map(|it| &it["data"]).collect()
}

#[test]
fn each_arm_measures_in_its_own_slices_and_they_do_not_overlap() {
    let (board, order) = (Board::new("turns"), [1, 0, 0, 1, 2, 2]);
    let arms = [0, 1, 2].map(|arm| start("micro", &request(&board, arm, &order)));
    let ended = arms.map(finish);
    for (arm, outcome) in ended.iter().enumerate() {
        assert_eq!(outcome.code, Some(0), "{}", outcome.text);
        let slices = intervals(outcome);
        let turns: Vec<u64> =
            slices.iter().map(|it| it["slice"]["turn"].as_u64().unwrap()).collect();
        let own =
            order.iter().enumerate().filter(|(_, of)| **of == arm).map(|(turn, _)| turn as u64);
        assert_eq!(turns, own.collect::<Vec<_>>());
        for slice in &slices {
            assert!(slice["operations"].as_u64().unwrap() > 0);
            assert!((slice["length_ms"].as_f64().unwrap() - 27.0).abs() < 0.1, "{slice}");
        }
        let result = outcome.only("result");
        assert_eq!(result["complete"], true);
        let counted: u64 = slices.iter().map(|it| it["operations"].as_u64().unwrap()).sum();
        assert_eq!(result["operations"].as_u64(), Some(counted));
        assert!((result["window_s"].as_f64().unwrap() - 0.054).abs() < 0.001);
        assert_eq!(result["state"]["checksum_ok"], true);
    }
    // From the start of an arm's first slice to that of its second, the others' slices pass.
    let start_of_second = intervals(&ended[1])[1]["start_ms"].as_f64().unwrap();
    assert!(start_of_second >= 90.0, "two slices of another lie between: {start_of_second}");
}

#[test]
fn what_ends_in_the_lead_is_counted_by_milliseconds_and_rests_are_timed() {
    let board = Board::new("lead");
    let mut alone = request(&board, 0, &[0, 0, 0]);
    alone["slices"]["lead_us"] = json!(25_000);
    let outcome = finish(start("micro", &alone));
    assert_eq!(outcome.code, Some(0), "{}", outcome.text);
    let slices: Vec<&Value> = intervals(&outcome).iter().map(|it| &it["slice"]).collect();
    let mut counted = 0;
    for slice in &slices {
        let early = slice["early"].as_array().unwrap();
        assert!(early.len() <= 25, "the lead has 25 ms: {slice}");
        counted += early.iter().map(|count| count.as_u64().unwrap()).sum::<u64>();
        assert!(slice["calibration"].is_null());
    }
    // One slice may lose its lead to a stall of the machine.
    assert!(counted > 0, "{}", outcome.text);
    assert!(slices[0]["rest_s"].is_null() && slices[0]["rest_cpu_s"].is_null());
    for slice in &slices[1..] {
        let (rest_s, cpu_s) = (&slice["rest_s"], &slice["rest_cpu_s"]);
        assert!(rest_s.as_f64().unwrap() > 0.0 && cpu_s.as_f64().unwrap() >= 0.0, "{slice}");
    }
}

#[test]
fn an_arm_that_is_alone_has_a_calibration_between_its_slices() {
    let board = Board::new("calibrated");
    let mut alone = request(&board, 0, &[0, 0, 0]);
    alone["slices"]["calibrate_us"] = json!(5000);
    let outcome = finish(start("micro", &alone));
    assert_eq!(outcome.code, Some(0), "{}", outcome.text);
    for interval in intervals(&outcome) {
        assert!(interval["slice"]["calibration"].as_f64().unwrap() > 0.0, "{interval}");
    }
    let second = &intervals(&outcome)[1]["slice"];
    assert!(second["rest_s"].as_f64().unwrap() >= 0.005, "the loop lies between: {second}");
    alone["slices"]["order"] = json!([0, 1]);
    let refused = finish(start("micro", &alone));
    assert!(refused.text.contains("slices.calibrate_us"), "{}", refused.text);
}

#[test]
fn an_arm_that_never_comes_is_waited_for_in_vain_and_said() {
    let board = Board::new("absent");
    let mut alone = request(&board, 0, &[0, 1]);
    alone["slices"]["patience_s"] = json!(1);
    let outcome = finish(start("micro", &alone));
    assert_eq!(outcome.code, Some(1), "{}", outcome.text);
    let message = outcome.only("error")["message"].as_str().unwrap().to_owned();
    assert!(message.contains("no arm handed its turn over"), "{message}");
}

#[test]
fn an_arm_that_is_told_to_stop_names_itself_to_the_others() {
    let board = Board::new("stopped");
    let order: Vec<usize> = (0..4000).map(|turn| turn % 2).collect();
    let [one, other] = [0, 1].map(|arm| start("micro", &request(&board, arm, &order)));
    std::thread::sleep(std::time::Duration::from_millis(500));
    let killed = std::process::Command::new("kill").args(["-TERM", &one.id().to_string()]).status();
    assert!(killed.unwrap().success());
    let (one, other) = (finish(one), finish(other));
    assert_eq!((one.code, one.only("result")["complete"].as_bool()), (Some(0), Some(false)));
    assert_eq!(other.code, Some(1), "{}", other.text);
    assert!(other.text.contains("arm 0 gave up its slices"), "{}", other.text);
}

#[test]
fn an_order_that_cannot_be_is_refused() {
    let board = Board::new("refused");
    for (order, arm, why) in [
        (json!([]), 0, "slices.order has 0 slices"),
        (json!([0, 2]), 0, "must hold every arm from 0 to 2"),
        (json!([0, 1]), 2, "slices.arm is 2"),
    ] {
        let mut asked = request(&board, arm, &[0]);
        asked["slices"]["order"] = order;
        let outcome = finish(start("micro", &asked));
        assert_eq!(outcome.code, Some(2), "{}", outcome.text);
        assert!(outcome.text.contains(why), "{}", outcome.text);
    }
    let mut asked = request(&board, 0, &[0]);
    asked["slices"]["lead_us"] = json!(30_000);
    assert!(finish(start("micro", &asked)).text.contains("slices.lead_us"));
    asked["slices"]["lead_us"] = json!(0);
    asked["slices"]["board"] = json!("/nowhere/board");
    assert_eq!(finish(start("micro", &asked)).code, Some(3));
}
