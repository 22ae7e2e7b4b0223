//! Sessions with a real Redis, and with servers that behave as older ones do.

use assay_runtime::Address;
use assay_wire::resp::Session;
use assay_wire::resp::codec::{Kind, Reply, command};
use assay_wire::{Target, WireError};

use crate::redis_server::RedisServer;
use crate::worker::{run, scripted};

fn batch(commands: &[&[&[u8]]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    commands.iter().for_each(|parts| command(&mut bytes, parts));
    bytes
}

/// What a batch is answered, as far as there is no error.
async fn answers(session: &mut Session, commands: &[&[&[u8]]]) -> (Vec<String>, Option<WireError>) {
    let mut seen = Vec::new();
    let result = session
        .run(&batch(commands), commands.len(), |reply| {
            seen.push(match reply {
                Reply::Simple(text) | Reply::Bulk(text) => String::from_utf8_lossy(text).into(),
                Reply::Integer(number) => number.to_string(),
                Reply::Null => "null".to_owned(),
                other => format!("{other:?}"),
            });
            Ok(())
        })
        .await;
    (seen, result.err())
}

fn code(error: Option<WireError>) -> String {
    match error {
        Some(WireError::Server { code, .. }) => code,
        other => panic!("an error of the server was expected: {other:?}"),
    }
}

fn at(address: Address, password: Option<&str>) -> Target {
    let password = password.map(str::to_owned);
    Target { address, user: String::new(), password, database: String::new(), tls: None }
}

#[test]
fn what_is_set_is_got_one_by_one_and_in_pipelines_of_16() {
    run(|handle| async move {
        let server = RedisServer::start(&[]);
        let mut session = Session::open(&handle, &server.target()).await.unwrap();
        assert_eq!(session.version(), 3);
        let (seen, error) = answers(&mut session, &[&[b"SET", b"k", b"v"]]).await;
        assert!(error.is_none() && seen == ["OK"]);
        let (seen, _) = answers(&mut session, &[&[b"GET", b"k"]]).await;
        assert_eq!(seen, ["v"]);
        let (seen, _) = answers(&mut session, &[&[b"GET", b"nothing"]]).await;
        assert_eq!(seen, ["null"]);

        let increment = [b"INCR".as_slice(), b"n"];
        let increments = [&increment[..]; 16];
        let (seen, error) = answers(&mut session, &increments).await;
        let expected: Vec<_> = (1..=16).map(|number| number.to_string()).collect();
        assert!(error.is_none() && seen == expected, "{seen:?}");

        let mut kinds = Vec::new();
        let commands =
            batch(&[&[b"GET", b"k"], &[b"GET", b"nothing"], &[b"LRANGE", b"l", b"0", b"9"]]);
        session.exchange(&commands, 3, |kind| kinds.push(kind)).await.unwrap();
        assert_eq!(kinds, [Kind::Value, Kind::Null, Kind::Value]);
    });
}

#[test]
fn an_error_is_told_after_the_whole_batch_and_the_session_goes_on() {
    run(|handle| async move {
        let server = RedisServer::start(&[]);
        let mut session = Session::open(&handle, &server.target()).await.unwrap();
        let commands: [&[&[u8]]; 4] =
            [&[b"SET", b"k", b"v"], &[b"LPUSH", b"k", b"x"], &[b"NONSENSE"], &[b"GET", b"k"]];
        let (seen, error) = answers(&mut session, &commands).await;
        assert_eq!(
            (seen, code(error)),
            (vec!["OK".to_owned(), "v".to_owned()], "WRONGTYPE".into())
        );

        let mut kinds = Vec::new();
        let result = session.exchange(&batch(&commands), 4, |kind| kinds.push(kind)).await;
        assert_eq!(code(result.err()), "WRONGTYPE");
        assert_eq!(kinds, [Kind::Value, Kind::Error, Kind::Error, Kind::Value]);

        let (seen, error) = answers(&mut session, &[&[b"NONSENSE"]]).await;
        assert_eq!((seen.len(), code(error)), (0, "ERR".to_owned()));
        assert_eq!(answers(&mut session, &[&[b"GET", b"k"]]).await.0, ["v"]);
    });
}

#[test]
fn an_error_of_the_visitor_is_returned_and_the_session_goes_on() {
    run(|handle| async move {
        let server = RedisServer::start(&[]);
        let mut session = Session::open(&handle, &server.target()).await.unwrap();
        let bad = || WireError::Protocol { protocol: "test", what: "not this".to_owned() };
        let two = batch(&[&[b"ECHO", b"a"], &[b"ECHO", b"b"]]);
        let result = session.run(&two, 2, |_| Err(bad())).await;
        assert!(matches!(result, Err(WireError::Protocol { protocol: "test", .. })));
        assert_eq!(answers(&mut session, &[&[b"ECHO", b"c"]]).await.0, ["c"]);
    });
}

#[test]
fn a_value_of_a_megabyte_goes_there_and_back() {
    run(|handle| async move {
        let server = RedisServer::start(&[]);
        let mut session = Session::open(&handle, &server.target()).await.unwrap();
        let value: Vec<u8> = (0..1 << 20).map(|place| (place * 7 / 3) as u8).collect();
        session.run(&batch(&[&[b"SET", b"k", &value]]), 1, |_| Ok(())).await.unwrap();
        let mut got = Vec::new();
        let keep = |reply: &Reply<'_>| {
            let Reply::Bulk(bytes) = reply else { panic!("no bulk") };
            got.extend_from_slice(bytes);
            Ok(())
        };
        session.run(&batch(&[&[b"GET", b"k"]]), 1, keep).await.unwrap();
        assert!(got == value);
    });
}

#[test]
fn who_has_a_wrong_password_or_none_is_not_logged_in() {
    run(|handle| async move {
        let server = RedisServer::start(&["--requirepass", "secret"]);
        let mut target = server.target();
        for password in [None, Some("wrong")] {
            target.password = password.map(str::to_owned);
            let error = Session::open(&handle, &target).await.err().unwrap();
            assert!(matches!(error, WireError::Login { .. }), "{password:?}: {error}");
            assert!(error.to_string().contains("default"), "{error}");
        }
        target.password = Some("secret".to_owned());
        assert_eq!(Session::open(&handle, &target).await.unwrap().version(), 3);
        target.user = "nobody".to_owned();
        let error = Session::open(&handle, &target).await.err().unwrap();
        assert!(matches!(&error, WireError::Login { user, .. } if user == "nobody"), "{error}");
    });
}

#[test]
fn a_session_works_in_the_database_of_its_number() {
    run(|handle| async move {
        let server = RedisServer::start(&[]);
        let mut target = server.target();
        let mut first = Session::open(&handle, &target).await.unwrap();
        answers(&mut first, &[&[b"SET", b"k", b"in 0"]]).await;
        target.database = "3".to_owned();
        let mut other = Session::open(&handle, &target).await.unwrap();
        assert_eq!(answers(&mut other, &[&[b"GET", b"k"]]).await.0, ["null"]);
        target.database = "4000".to_owned();
        assert_eq!(code(Session::open(&handle, &target).await.err()), "ERR");
        target.database = "sales".to_owned();
        let error = Session::open(&handle, &target).await.err().unwrap().to_string();
        assert!(error.contains("\"sales\" is no number"), "{error}");
    });
}

const NO_HELLO: &[u8] = b"-ERR unknown command 'HELLO', with args beginning with: '3' \r\n";

#[test]
fn a_server_without_hello_is_spoken_to_in_resp2() {
    run(|handle| async move {
        let old = scripted(&handle, &[NO_HELLO, b"+PONG\r\n", b"$-1\r\n"]);
        let mut session = Session::open(&handle, &at(old, None)).await.unwrap();
        assert_eq!(session.version(), 2);
        assert_eq!(answers(&mut session, &[&[b"GET", b"k"]]).await.0, ["null"]);

        let old = scripted(&handle, &[NO_HELLO, b"+OK\r\n"]);
        assert_eq!(Session::open(&handle, &at(old, Some("x"))).await.unwrap().version(), 2);
        let resp2_only = scripted(&handle, &[b"-NOPROTO unsupported\r\n", b"+PONG\r\n"]);
        assert_eq!(Session::open(&handle, &at(resp2_only, None)).await.unwrap().version(), 2);
    });
}

#[test]
fn an_old_server_that_wants_a_password_or_wants_none_is_told_apart_from_one_that_loads() {
    run(|handle| async move {
        let old = scripted(&handle, &[NO_HELLO, b"-NOAUTH Authentication required.\r\n"]);
        let error = Session::open(&handle, &at(old, None)).await.err().unwrap();
        assert!(matches!(error, WireError::Login { .. }), "{error}");
        let open = b"-ERR Client sent AUTH, but no password is set\r\n";
        let old = scripted(&handle, &[NO_HELLO, open]);
        let error = Session::open(&handle, &at(old, Some("x"))).await.err().unwrap();
        assert!(matches!(error, WireError::Login { .. }), "{error}");
        let loading = scripted(&handle, &[b"-LOADING Redis is loading the dataset in memory\r\n"]);
        assert_eq!(code(Session::open(&handle, &at(loading, None)).await.err()), "LOADING");
    });
}

#[test]
fn pushes_answer_nothing_and_replies_that_nobody_asked_for_end_the_session() {
    run(|handle| async move {
        let hello = b"%1\r\n+proto\r\n:3\r\n";
        let chatty = scripted(
            &handle,
            &[hello, b">1\r\n+x\r\n+one\r\n>1\r\n+y\r\n", b"+two\r\n", b">1\r\n+z\r\n_\r\n"],
        );
        let mut session = Session::open(&handle, &at(chatty, None)).await.unwrap();
        assert_eq!(answers(&mut session, &[&[b"GET", b"k"]]).await.0, ["one"]);
        assert_eq!(answers(&mut session, &[&[b"GET", b"k"]]).await.0, ["two"]);
        let mut kinds = Vec::new();
        session.exchange(&batch(&[&[b"GET", b"k"]]), 1, |kind| kinds.push(kind)).await.unwrap();
        assert_eq!(kinds, [Kind::Null]);

        let wrong = scripted(&handle, &[hello, b"+one\r\n+unasked\r\n"]);
        let mut session = Session::open(&handle, &at(wrong, None)).await.unwrap();
        assert_eq!(answers(&mut session, &[&[b"GET", b"k"]]).await.0, ["one"]);
        let (_, error) = answers(&mut session, &[&[b"GET", b"k"]]).await;
        assert!(matches!(error, Some(WireError::Protocol { .. })), "{error:?}");
    });
}

#[test]
fn a_server_that_talks_something_else_or_closes_is_an_error() {
    run(|handle| async move {
        let http = scripted(&handle, &[b"HTTP/1.1 400 Bad Request\r\n\r\n"]);
        let error = Session::open(&handle, &at(http, None)).await.err().unwrap();
        assert!(matches!(error, WireError::Protocol { .. }), "{error}");
        let closing = scripted(&handle, &[b"%1\r\n+proto\r\n"]);
        let error = Session::open(&handle, &at(closing, None)).await.err().unwrap();
        assert!(matches!(error, WireError::Runtime(_)), "{error}");
    });
}
