//! Sessions with a real memcached, and with servers that misbehave.

use assay_runtime::Address;
use assay_wire::memcached::Session;
use assay_wire::memcached::codec::{Batch, Item, Kind, Reply};
use assay_wire::{Target, WireError};

use crate::memcached_server::MemcachedServer;
use crate::worker::{run, scripted};

/// A command, and the data block behind it where there is one.
type Command<'c> = (&'c str, Option<&'c str>);

fn batch(commands: &[Command<'_>]) -> Batch {
    let mut batch = Batch::default();
    for (line, data) in commands {
        batch.command(&line.split(' ').map(str::as_bytes).collect::<Vec<_>>());
        data.iter().for_each(|data| batch.data(data.as_bytes()));
    }
    batch
}

fn show(reply: &Reply<'_>) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let item = |item: Item<'_>| match item {
        Item::Value { key, flags, data, unique } => {
            let unique = unique.map(|_| "+").unwrap_or_default();
            format!("{}/{flags}/{}{unique}", text(key), text(data))
        }
        Item::Stat { name, value } => format!("{}={}", text(name), text(value)),
    };
    match reply {
        Reply::Items(items) => items.map(item).collect::<Vec<_>>().join(" "),
        Reply::Done(text_of) | Reply::NotDone(text_of) => text(text_of),
        Reply::Number(number) => number.to_string(),
        other => format!("{other:?}"),
    }
}

/// What a batch is answered, as far as there is no error.
async fn answers(
    session: &mut Session,
    commands: &[Command<'_>],
) -> (Vec<String>, Option<WireError>) {
    let mut seen = Vec::new();
    let visit = |reply: &Reply<'_>| {
        seen.push(show(reply));
        Ok(())
    };
    let result = session.run(&batch(commands), visit).await;
    (seen, result.err())
}

fn code(error: Option<WireError>) -> String {
    match error {
        Some(WireError::Server { code, .. }) => code,
        other => panic!("an error of the server was expected: {other:?}"),
    }
}

fn at(address: Address) -> Target {
    let (user, database) = (String::new(), String::new());
    Target { address, user, password: None, database, tls: None }
}

/// Every command of the protocol that is not of another kind (`quit`), in an order in which each
/// answer is known.
const DIALOGUE: &[(Command<'_>, &str)] = &[
    (("get k", None), ""),
    (("set k 7 0 5", Some("a\r\nbc")), "STORED"),
    (("get k", None), "k/7/a\r\nbc"),
    (("add k 0 0 1", Some("x")), "NOT_STORED"),
    (("add n 0 0 2", Some("41")), "STORED"),
    (("incr n 2", None), "43"),
    (("decr n 50", None), "0"),
    (("incr nothing 1", None), "NOT_FOUND"),
    (("replace nothing 0 0 1", Some("x")), "NOT_STORED"),
    (("replace k 0 0 0", Some("")), "STORED"),
    (("get k n nothing", None), "k/0/ n/0/0 "),
    (("gets n", None), "n/0/0 +"),
    (("cas n 0 0 1 99999", Some("x")), "EXISTS"),
    (("touch n 100", None), "TOUCHED"),
    (("touch nothing 100", None), "NOT_FOUND"),
    (("delete n", None), "DELETED"),
    (("delete n", None), "NOT_FOUND"),
    (("stats reset", None), "RESET"),
    (("verbosity 0", None), "OK"),
    (("flush_all", None), "OK"),
    (("get k", None), ""),
];

async fn holds_the_dialogue(session: &mut Session) {
    let (commands, expected): (Vec<_>, Vec<_>) = DIALOGUE.iter().copied().unzip();
    for (command, expected) in DIALOGUE {
        let (seen, error) = answers(session, &[*command]).await;
        assert!(error.is_none(), "{command:?}: {error:?}");
        // A number that has become shorter keeps its length, filled with spaces.
        assert_eq!(seen[0].trim_end(), expected.trim_end(), "{command:?}");
    }
    // The same in one go.
    let (seen, error) = answers(session, &commands).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(seen.len(), expected.len());
}

#[test]
fn every_command_is_answered_as_the_protocol_says_over_tcp_and_unix_sockets() {
    run(|handle| async move {
        for server in [MemcachedServer::start(&[]), MemcachedServer::start_unix(&[])] {
            let mut session = Session::open(&handle, &server.target()).await.unwrap();
            assert!(session.version().starts_with("1."), "{}", session.version());
            holds_the_dialogue(&mut session).await;
            let (seen, _) = answers(&mut session, &[("stats settings", None)]).await;
            assert!(seen[0].contains("maxbytes=67108864"), "{seen:?}");
            let (seen, _) = answers(&mut session, &[("stats", None)]).await;
            assert!(seen[0].contains("cmd_get=") && seen[0].contains("curr_items=0"), "{seen:?}");
            session.close().await;
        }
    });
}

#[test]
fn exchanges_hear_hits_misses_and_errors_in_order() {
    run(|handle| async move {
        let server = MemcachedServer::start(&[]);
        let mut session = Session::open(&handle, &server.target()).await.unwrap();
        let commands = [
            ("set k 0 0 1", Some("v")),
            ("get k", None),
            ("get nothing", None),
            ("add k 0 0 1", Some("v")),
            ("stats settings", None),
        ];
        let mut kinds = Vec::new();
        session.exchange(&batch(&commands), |kind| kinds.push(kind)).await.unwrap();
        let expected = [Kind::Done, Kind::Done, Kind::NotDone, Kind::NotDone, Kind::Done];
        assert_eq!(kinds, expected);
    });
}

#[test]
fn an_error_is_told_after_the_whole_batch_and_the_session_goes_on() {
    run(|handle| async move {
        let server = MemcachedServer::start(&[]);
        let mut session = Session::open(&handle, &server.target()).await.unwrap();
        let (commands, large) = (
            [("set k 0 0 1", Some("v")), ("incr k 1", None), ("nonsense", None), ("get k", None)],
            "x".repeat(2_000_000),
        );
        let (seen, error) = answers(&mut session, &commands).await;
        assert_eq!((seen.len(), code(error).as_str()), (2, "CLIENT_ERROR"));

        let mut kinds = Vec::new();
        let result = session.exchange(&batch(&commands), |kind| kinds.push(kind)).await;
        assert_eq!(code(result.err()), "CLIENT_ERROR");
        assert_eq!(kinds, [Kind::Done, Kind::Error, Kind::Error, Kind::Done]);

        // Larger than any value may be here: the server reads it all the same.
        let commands = [("set big 0 0 2000000", Some(large.as_str())), ("get k", None)];
        let (seen, error) = answers(&mut session, &commands).await;
        assert_eq!((seen, code(error)), (vec!["k/0/v".to_owned()], "SERVER_ERROR".to_owned()));
    });
}

#[test]
fn an_error_of_the_visitor_is_returned_and_the_session_goes_on() {
    run(|handle| async move {
        let server = MemcachedServer::start(&[]);
        let mut session = Session::open(&handle, &server.target()).await.unwrap();
        let bad = || WireError::Protocol { protocol: "test", what: "not this".to_owned() };
        let two = batch(&[("version", None), ("version", None)]);
        let result = session.run(&two, |_| Err(bad())).await;
        assert!(matches!(result, Err(WireError::Protocol { protocol: "test", .. })));
        assert_eq!(answers(&mut session, &[("get k", None)]).await.0, [""]);
    });
}

/// 10 MB of commands and 200 MB of answers are more than sockets hold: a client that sent all
/// commands first would wait for ever, as the server reads none while it cannot write.
#[test]
fn a_batch_that_no_socket_holds_is_answered() {
    run(|handle| async move {
        let key = [b'k'; 250];
        for server in [MemcachedServer::start(&[]), MemcachedServer::start_unix(&[])] {
            let mut session = Session::open(&handle, &server.target()).await.unwrap();
            let mut commands = Batch::default();
            commands.set(&key, &[b'x'; 5000]);
            session.exchange(&commands, |_| ()).await.unwrap();
            commands.clear();
            (0..40_000).for_each(|_| commands.get(&key));
            let mut hits = 0;
            session
                .exchange(&commands, |kind| hits += usize::from(kind == Kind::Done))
                .await
                .unwrap();
            assert_eq!(hits, 40_000);
        }
    });
}

#[test]
fn a_password_is_asked_for_and_proven() {
    let file = std::env::temp_dir().join(format!("assay-memcached-users-{}", std::process::id()));
    std::fs::write(&file, "user:secret\n").unwrap();
    run(|handle| async move {
        let server = MemcachedServer::start(&["-Y", file.to_str().unwrap()]);
        let user = |password: Option<&str>| Target {
            user: "user".to_owned(),
            password: password.map(str::to_owned),
            ..server.target()
        };
        let mut session = Session::open(&handle, &user(Some("secret"))).await.unwrap();
        assert_eq!(answers(&mut session, &[("get k", None)]).await.0, [""]);
        for password in [None, Some("wrong")] {
            let error = Session::open(&handle, &user(password)).await.err().unwrap();
            assert!(matches!(error, WireError::Login { .. }), "{error}");
            assert!(error.to_string().contains("auth"), "{error}");
        }
        std::fs::remove_file(&file).unwrap();
    });
}

#[test]
fn a_full_server_is_an_error_in_its_own_words() {
    run(|handle| async move {
        let server = MemcachedServer::start(&["-c", "20"]);
        let mut others = Vec::new();
        let refused = loop {
            assert!(others.len() < 100, "a server of 20 connections takes a hundred");
            match Session::open(&handle, &server.target()).await {
                Ok(session) => others.push(session),
                Err(error) => break error,
            }
        };
        assert!(refused.to_string().contains("Too many open connections"), "{refused}");
    });
}

#[test]
fn a_database_is_refused_and_so_is_a_server_that_talks_something_else_or_closes() {
    run(|handle| async move {
        let server = MemcachedServer::start(&[]);
        let target = Target { database: "1".to_owned(), ..server.target() };
        let error = Session::open(&handle, &target).await.err().unwrap();
        assert!(error.to_string().contains("no databases"), "{error}");
        for answer in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b"OK\r\n", b"END\r\n"] {
            let other = scripted(&handle, &[answer]);
            let error = Session::open(&handle, &at(other)).await.err().unwrap();
            assert!(matches!(error, WireError::Protocol { .. }), "{error}");
        }
        let closing = scripted(&handle, &[b"VERSION 1."]);
        let error = Session::open(&handle, &at(closing)).await.err().unwrap();
        assert!(matches!(error, WireError::Runtime(_)), "{error}");
    });
}

#[test]
fn an_answer_that_nobody_asked_for_is_an_error() {
    run(|handle| async move {
        let server = scripted(&handle, &[b"VERSION 1\r\n", b"END\r\nEND\r\n"]);
        let mut session = Session::open(&handle, &at(server)).await.unwrap();
        assert_eq!(answers(&mut session, &[("get k", None)]).await.0, [""]);
        let (_, error) = answers(&mut session, &[("get k", None)]).await;
        assert!(matches!(error, Some(WireError::Protocol { .. })), "{error:?}");
    });
}

#[test]
fn a_goodbye_ends_the_connection_at_the_server() {
    run(|handle| async move {
        let server = MemcachedServer::start(&[]);
        let mut watching = Session::open(&handle, &server.target()).await.unwrap();
        let first = connections(&mut watching).await;
        let other = Session::open(&handle, &server.target()).await.unwrap();
        assert_eq!(connections(&mut watching).await, first + 1);
        other.close().await;
        // The deadline of the test ends a wait for one that stays.
        while connections(&mut watching).await > first {}
    });
}

/// How many connections the server has.
async fn connections(session: &mut Session) -> u64 {
    let (seen, _) = answers(session, &[("stats", None)]).await;
    let mut words = seen[0].split(' ');
    words.find_map(|word| word.strip_prefix("curr_connections=")).unwrap().parse().unwrap()
}
