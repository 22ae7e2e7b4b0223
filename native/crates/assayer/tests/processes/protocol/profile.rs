//! A profile, which takes words beside its request.

/// What an emulator does not show: `scripts/test-aarch64` skips it.
mod unemulated {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use serde_json::json;

    use crate::protocol::holds;
    use crate::support::{command, finish, run};

    #[test]
    fn a_profile_is_what_the_specification_says() {
        let pid = std::process::id();
        let checked = run("profile", &json!({"pid": pid, "check_only": true}));
        if !checked.only("ready")["manifest"]["absent"]["profile"].is_null() {
            return; // Not allowed here.
        }
        let mut spinning = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let mut profile = command();
        profile.arg("profile").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = profile.spawn().unwrap();
        let mut words = child.stdin.take().unwrap();
        let request = json!({"pid": spinning.id()}).to_string();
        words.write_all(request.as_bytes()).unwrap();
        for _ in 0..2 {
            words.write_all(b"\nmark\n").unwrap();
            std::thread::sleep(Duration::from_millis(300));
        }
        drop(words);
        let outcome = finish(child);
        spinning.kill().unwrap();
        spinning.wait().unwrap();
        holds("profile", outcome);
    }
}
