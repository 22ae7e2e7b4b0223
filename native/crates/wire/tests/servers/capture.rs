//! Captures the fuzz targets' corpus anew, from real servers of this machine:
//! `cargo test --release -p assay-wire --test servers capture -- --ignored`.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;

use assay_runtime::Address;
use assay_wire::mysql::{self, Features};
use assay_wire::postgres;
use assay_wire::resp::codec::command;
use assay_wire::sql::{Session as _, Type, Value};
use assay_wire::{Target, WireError};

use crate::mariadb_server::MariadbServer;
use crate::memcached_server::MemcachedServer;
use crate::nginx_server::NginxServer;
use crate::recorder::Recorder;
use crate::redis_server::RedisServer;
use crate::worker::run;

/// As the fuzz targets have it.
const PASSWORD: &str = "se cret";

/// Writes an input of a target, after its first bytes, which say how it is read.
fn keep(target: &str, name: &str, how: &[u8], bytes: &[u8]) {
    assert!(!bytes.is_empty(), "{target}/{name} is empty");
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(name), [how, bytes].concat()).unwrap();
}

/// The bits of `fuzz::mysql::how`.
const LOGIN: u8 = 1;
const PREPARED: u8 = 2;

fn how(features: Features) -> u8 {
    u8::from(features.deprecate_eof) << 2 | u8::from(features.cache_metadata) << 3
}

const MYSQL_USERS: &str =
    "CREATE DATABASE lab; GRANT ALL ON *.* TO native@'%' IDENTIFIED BY 'se cret';
    CREATE USER socket@'%' IDENTIFIED VIA unix_socket";
const MYSQL_TABLE: &str = "CREATE TABLE lab.kinds (id INT PRIMARY KEY, t TINYINT UNSIGNED, s SMALLINT,
    b BIGINT UNSIGNED, f FLOAT, d DECIMAL(10, 2), x DOUBLE, c VARCHAR(40), y YEAR, w DATETIME, z BLOB);
    INSERT INTO lab.kinds VALUES (1, 255, -2, 18446744073709551615, 1.5, 12.30, 2.5, 'text', 2026,
    '2026-11-21 12:34:56', REPEAT('z', 300)), (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (-3, 0, 0, 7, 0, -4, 0, '', 1999, '1999-01-01', '')";

#[test]
#[ignore = "writes the corpus anew"]
fn mariadb() {
    let server = MariadbServer::start(&[]);
    let recorder = Recorder::start(&server.port());
    run(|handle| async move {
        let mut root = mysql::Session::open(&handle, &server.root("")).await.unwrap();
        root.batch(MYSQL_USERS).await.unwrap();
        root.batch(MYSQL_TABLE).await.unwrap();
        let target = |user: &str, password: &str, database: &str| Target {
            address: recorder.address(),
            user: user.to_owned(),
            password: Some(password.to_owned()),
            database: database.to_owned(),
            tls: None,
        };
        // The second is asked to prove herself in another way, which is not built in.
        for (user, name) in [("native", "login-refused"), ("socket", "login-switched")] {
            let opened = mysql::Session::open(&handle, &target(user, "wrong", "")).await;
            assert!(matches!(opened, Err(WireError::Login { .. })));
            keep("mysql", name, &[LOGIN | how(Features::default())], &recorder.take());
        }
        let bare = Features { deprecate_eof: false, cache_metadata: false };
        for (features, word) in [(Features::default(), "new"), (bare, "old")] {
            let target = target("native", PASSWORD, "lab");
            let opened = mysql::Session::open_with(&handle, &target, features).await;
            let mut session = opened.unwrap();
            keep("mysql", &format!("login-{word}"), &[LOGIN | how(features)], &recorder.take());
            mysql_answers(&mut session, &recorder, how(features), word).await;
        }
    });
}

async fn mysql_answers(session: &mut mysql::Session, recorder: &Recorder, how: u8, word: &str) {
    for (name, text, values) in [
        ("select", "SELECT * FROM kinds WHERE id <> ? ORDER BY id", &[Value::Int(77)][..]),
        ("update", "UPDATE kinds SET c = ? WHERE id > 0", &[Value::Text(b"new")]),
        ("duplicate", "INSERT INTO kinds (id) VALUES (?)", &[Value::Int(1)]),
    ] {
        let types = match values {
            [Value::Text(_)] => [Type::Text],
            _ => [Type::Int],
        };
        let statement = session.prepare(text, &types).await.unwrap();
        for _ in 0..2 {
            let ran = session.run(statement, values, |_| Ok(())).await;
            assert_eq!(ran.is_err(), name == "duplicate");
        }
        keep("mysql", &format!("{name}-{word}"), &[PREPARED | how], &recorder.take());
    }
    let refused = session.prepare("SELECT nothing FROM nowhere", &[]).await;
    assert!(matches!(refused, Err(WireError::Server { .. })));
    keep("mysql", &format!("unprepared-{word}"), &[PREPARED | how], &recorder.take());
    session.batch("SELECT id, c FROM kinds; UPDATE kinds SET s = 7; SELECT 1").await.unwrap();
    session.batch("SELECT 1; SELEC 1").await.unwrap_err();
    session.ping().await.unwrap();
    keep("mysql", &format!("texts-{word}"), &[how], &recorder.take());
}

#[test]
#[ignore = "writes the corpus anew"]
fn postgresql() {
    let server = crate::postgres_server::Server::start();
    let recorder = Recorder::start(&server.target().address);
    run(|handle| async move {
        let mut admin = postgres::Session::open(&handle, &server.target()).await.unwrap();
        for (role, stored) in [
            ("scram_user", "scram-sha-256"),
            ("md5_user", "md5"),
            ("plain_user", "scram-sha-256"),
            ("refused_user", "scram-sha-256"),
        ] {
            let text = format!(
                "SET password_encryption = '{stored}'; CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}'"
            );
            admin.batch(&text).await.unwrap();
        }
        let target = |user: &str| Target {
            address: recorder.address(),
            ..server.target_of(user, Some(PASSWORD))
        };
        for kind in ["scram", "md5", "plain", "refused"] {
            let opened = postgres::Session::open(&handle, &target(&format!("{kind}_user"))).await;
            assert_eq!(opened.is_ok(), kind != "refused");
            keep("postgres", &format!("login-{kind}"), &[], &recorder.take());
        }
        let mut session = postgres::Session::open(&handle, &target("postgres")).await.unwrap();
        keep("postgres", "login-trust", &[], &recorder.take());
        postgres_answers(&mut session, &recorder).await;
    });
}

async fn postgres_answers(session: &mut postgres::Session, recorder: &Recorder) {
    let text = "SELECT g, g::bigint, 'text ' || g, NULL::int, 12.00::numeric, g = 1, now(), \
                '\\x0102'::bytea, 1.5::float8 FROM generate_series(1, ?) g";
    let select = session.prepare(text, &[Type::Int]).await.unwrap();
    session.run(select, &[Value::Int(3)], |_| Ok(())).await.unwrap();
    keep("postgres", "select", &[], &recorder.take());
    session.batch("CREATE TABLE t (id int PRIMARY KEY, c text)").await.unwrap();
    let insert = session.prepare("INSERT INTO t VALUES (?, ?)", &[Type::Int, Type::Text]);
    let insert = insert.await.unwrap();
    for is_duplicate in [false, true] {
        let ran = session.run(insert, &[Value::Int(1), Value::Text(b"x")], |_| Ok(())).await;
        assert_eq!(ran.is_err(), is_duplicate);
    }
    keep("postgres", "duplicate", &[], &recorder.take());
    session
        .batch("DO $$BEGIN RAISE NOTICE 'some words'; END$$; SELECT 1; ; LISTEN c; NOTIFY c, 'p'")
        .await
        .unwrap();
    session.batch("SELECT 1; SELEC 1").await.unwrap_err();
    keep("postgres", "texts", &[], &recorder.take());
    let mut rows = ["2\tb\n", "3\t\\N\n"].iter();
    let copied = session.copy_in("COPY t FROM STDIN", |out| {
        out.extend(rows.next().map_or(&b""[..], |row| row.as_bytes()));
        !rows.as_slice().is_empty()
    });
    assert_eq!(copied.await.unwrap(), 2);
    session.batch("COPY t TO STDOUT").await.unwrap_err();
    keep("postgres", "copy", &[], &recorder.take());
}

/// What a server sends to a client that sends this and waits until it closes.
fn answer(address: &Address, request: &[u8]) -> Vec<u8> {
    let Address::Tcp(address) = address else { panic!("a TCP address") };
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer
}

fn batch(commands: &[&str]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in commands.iter().chain(&["QUIT"]) {
        let parts: Vec<_> = line.split(' ').map(str::as_bytes).collect();
        command(&mut bytes, &parts);
    }
    bytes
}

#[test]
#[ignore = "writes the corpus anew"]
fn redis() {
    let server = RedisServer::start(&["--enable-debug-command", "yes"]);
    let address = server.target().address;
    let values = [
        "SET k v",
        "GET k",
        "GET nothing",
        "INCR n",
        "RPUSH l a b c",
        "LRANGE l 0 -1",
        "LLEN l",
        "HSET h f v g w",
        "HGETALL h",
        "SADD s a b",
        "SMEMBERS s",
        "ZADD z 1.5 m",
        "ZSCORE z m",
        "ZRANGE z 0 -1 WITHSCORES",
        "LPUSH k x",
        "NOSUCH",
        "GET",
        "COMMAND INFO GET",
        "ECHO ",
        "EVAL return{1,{2,{3,'x'}},false} 0",
        "LATENCY DOCTOR",
        "SELECT 99",
    ];
    let kinds = [
        "string", "integer", "double", "null", "array", "set", "map", "attrib", "push", "verbatim",
        "true", "false", "bignum",
    ];
    let debug: Vec<String> = kinds.iter().map(|kind| format!("DEBUG PROTOCOL {kind}")).collect();
    let debug: Vec<&str> = debug.iter().map(String::as_str).collect();
    for version in ["2", "3"] {
        let hello = format!("HELLO {version}");
        for (name, commands) in [("values", &values[..]), ("kinds", &debug)] {
            let request = batch(&[&[hello.as_str()], commands].concat());
            let name = format!("{name}-{version}");
            keep("resp", &name, &[], &answer(&address, &request));
            keep("stub", &format!("resp-{name}"), &[0], &request);
        }
    }
    let request = batch(&["HELLO 3", "CLIENT TRACKING ON", "GET k", "SET k w", "SUBSCRIBE c"]);
    keep("resp", "pushes", &[], &answer(&address, &request));
    let watched = batch(&["MULTI", "SET k v", "LPUSH k v", "EXEC", "WATCH k", "MULTI", "EXEC"]);
    keep("resp", "transaction", &[], &answer(&address, &watched));
}

/// What was asked, without `quit`, by the name of the input.
const MEMCACHED: &[(&str, &str)] = &[
    (
        "values",
        "get k\r\nset k 7 0 5\r\na\r\nbc\r\nget k\r\nset empty 0 0 0\r\n\r\nget k empty nothing\r\ngets k\r\n\
         gat 0 k\r\nget nothing\r\n",
    ),
    (
        "words",
        "add k 0 0 1\r\nx\r\nadd k 0 0 1\r\nx\r\nreplace no 0 0 1\r\nx\r\ncas k 0 0 1 99999\r\ny\r\ncas no 0 0 1 1\r\n\
         y\r\nset n 0 0 2\r\n10\r\nincr n 5\r\ndecr n 9\r\nget n\r\nincr no 1\r\ntouch n 9\r\ntouch no 9\r\ndelete n\r\n\
         delete n\r\nappend k 0 0 1\r\nz\r\nprepend k 0 0 1\r\na\r\nget k\r\nflush_all\r\nverbosity 0\r\nversion\r\n\
         stats reset\r\n",
    ),
    (
        "errors",
        "nonsense\r\nget\r\nset k 0 0 1\r\nx\r\nincr k 1\r\nset k 0 0 x\r\ndelete k 5\r\nshutdown\r\nget k\r\n",
    ),
    ("stats", "stats\r\nstats settings\r\nstats items\r\nstats slabs\r\nstats sizes\r\n"),
];

#[test]
#[ignore = "writes the corpus anew"]
fn memcached() {
    let server = MemcachedServer::start(&[]);
    let address = server.target().address;
    for (name, commands) in MEMCACHED {
        let request = format!("{commands}quit\r\n");
        keep("memcached", name, &[], &answer(&address, request.as_bytes()));
        keep("stub", &format!("memcached-{name}"), &[3], request.as_bytes());
    }
}

const NGINX: &str = "gzip on; gzip_types *; gzip_min_length 1; gzip_http_version 1.0;
    location /nothing { return 204; } location /away { return 301 /file; }
    location /no { return 403; } location /busy { return 503 'come back later'; }";

#[test]
#[ignore = "writes the corpus anew"]
fn nginx() {
    let server = NginxServer::start(600, NGINX);
    let request = |method: &str, path: &str, version: &str, fields: &str| {
        format!("{method} {path} HTTP/{version}\r\nHost: somewhere\r\n{fields}\r\n")
    };
    let (gzip, last) = ("Accept-Encoding: gzip\r\n", "Connection: close\r\n");
    let get = |path, fields| request("GET", path, "1.1", fields);
    let inputs = [
        ("files", get("/file", "") + &get("/file", "") + &get("/nowhere", last)),
        ("chunked", get("/file", gzip) + &get("/file", gzip) + &get("/file", last)),
        (
            "statuses",
            ["/nothing", "/away", "/no", "/busy"].map(|path| get(path, "")).concat()
                + &get("/file", last),
        ),
        (
            "ranges",
            get("/file", "Range: bytes=5-9\r\n")
                + &get("/file", "Range: bytes=900-\r\n")
                + &get("/file", last),
        ),
        ("until-close", request("GET", "/file", "1.0", gzip)),
        (
            "kept-1.0",
            request("GET", "/file", "1.0", "Connection: keep-alive\r\n")
                + &request("GET", "/file", "1.0", ""),
        ),
        ("refused", "NONSENSE\r\n\r\n".to_owned()),
    ];
    for (name, request) in inputs {
        keep("http", name, &[0], &answer(&server.address(), request.as_bytes()));
        keep("stub", &format!("http-{name}"), &[1], request.as_bytes());
        if ["kept-1.0", "refused"].contains(&name) {
            keep("stub", &format!("proxy-{name}"), &[2], request.as_bytes());
        }
    }
    let heads = request("HEAD", "/file", "1.1", "") + &request("HEAD", "/file", "1.1", last);
    keep("http", "heads", &[1], &answer(&server.address(), heads.as_bytes()));
    keep("stub", "http-heads", &[1], heads.as_bytes());
}
