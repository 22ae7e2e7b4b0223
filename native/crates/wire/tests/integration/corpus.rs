//! The fuzz targets' checks over bytes that servers and clients have really sent
//! (`native/fuzz/corpus`), and over inputs that were found to break them.

use std::path::PathBuf;

use crate::fuzz::{http, memcached, mysql, postgres, resp, stub};

/// A target's inputs, by name.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("no corpus at {}: {error}", folder.display()));
    let mut inputs: Vec<_> = files
        .map(|file| {
            let file = file.unwrap();
            let name = file.file_name().into_string().unwrap();
            (name, std::fs::read(file.path()).unwrap())
        })
        .collect();
    inputs.sort();
    inputs
}

/// Checks a target's inputs. What was captured is understood to its end; `found` is what broke a
/// check once, and `odd` what a server may not send.
fn holds_of_corpus(target: &str, check: fn(&[u8]), said: fn(&[u8]) -> String) {
    let inputs = corpus(target);
    let captured = inputs.iter().filter(|(name, _)| !is_spoilt(name)).count();
    assert!(captured >= 3, "{captured} captured inputs of {target}: is the corpus gone?");
    for (name, input) in &inputs {
        let checked = std::panic::catch_unwind(|| check(input));
        assert!(checked.is_ok(), "the check of {target}/{name} does not hold, as said above");
        let words = said(input);
        let is_understood = !words.lines().any(|line| line.starts_with("Protocol {"));
        assert!(is_understood || is_spoilt(name), "{target}/{name} is not understood: {words}");
    }
}

fn is_spoilt(name: &str) -> bool {
    name.starts_with("found-") || name.starts_with("odd-")
}

fn said_of(target: &str, name: &str, said: fn(&[u8]) -> String) -> String {
    let inputs = corpus(target);
    let (_, input) = inputs.iter().find(|(found, _)| found == name).unwrap();
    said(input)
}

#[test]
fn what_mysql_servers_send_is_read_the_same_however_it_is_cut() {
    holds_of_corpus("mysql", mysql::check, mysql::said);
    // Two results that claim the largest number of rows each: their sum is no other number.
    let words = said_of("mysql", "found-affected-overflow", mysql::said);
    assert!(words.contains(&format!("affected: {}", u64::MAX)), "{words}");
}

#[test]
fn what_postgresql_sends_is_read_the_same_however_it_is_cut() {
    holds_of_corpus("postgres", postgres::check, postgres::said);
    // The server has proven that it knows the password, so the whole dialogue was replayed.
    let login = said_of("postgres", "login-scram", postgres::said);
    assert!(login.contains("Some(Ok(()))"), "{login}");
}

#[test]
fn what_resp_servers_send_is_read_the_same_however_it_is_cut() {
    holds_of_corpus("resp", resp::check, resp::said);
}

#[test]
fn what_memcached_sends_is_read_the_same_however_it_is_cut() {
    holds_of_corpus("memcached", memcached::check, memcached::said);
}

#[test]
fn what_http_servers_send_is_read_the_same_however_it_is_cut() {
    holds_of_corpus("http", http::check, http::said);
}

#[test]
fn what_clients_send_is_answered_the_same_however_it_is_cut() {
    holds_of_corpus("stub", stub::check, stub::said);
}

/// Too long for a file of the corpus: a head of 70,000 bytes was read when it came whole, and
/// refused when it came in pieces.
#[test]
fn a_head_that_is_too_long_is_refused_however_it_is_cut() {
    let field = "a".repeat(70_000);
    let answer = format!("\0HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: {field}\r\n\r\n");
    http::check(answer.as_bytes());
    assert!(http::said(answer.as_bytes()).contains("a head of more than"));
    let request = format!("\u{2}GET / HTTP/1.1\r\nX: {field}\r\n\r\n");
    stub::check(request.as_bytes());
    assert_eq!(stub::said(request.as_bytes()), "\"refused\"\n");
}

/// The checks themselves: they find a reader whose words depend on the pieces, and one that takes
/// memory for what has not come.
mod checks {
    use crate::fuzz::feed::{Reader, Step, same_however_cut};
    use crate::fuzz::transcript::Transcript;

    struct Hasty;

    impl Reader for Hasty {
        fn read(&mut self, input: &[u8], transcript: &mut Transcript) -> Step {
            transcript.note(input.len());
            Step::More(input.len())
        }
    }

    #[test]
    #[should_panic(expected = "is read differently")]
    fn a_reader_whose_words_depend_on_the_pieces_is_found() {
        same_however_cut(b"some bytes", || Hasty);
    }

    struct Believer(Vec<u8>);

    impl Reader for Believer {
        fn read(&mut self, _: &[u8], _: &mut Transcript) -> Step {
            self.0.reserve(1 << 20);
            Step::More(0)
        }
    }

    #[test]
    #[should_panic(expected = "bytes of memory where")]
    fn a_reader_that_takes_memory_for_what_has_not_come_is_found() {
        same_however_cut(b"some bytes", || Believer(Vec::new()));
    }
}
