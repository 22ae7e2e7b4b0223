//! The servers, as the sessions of `assay-wire` see them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use assay_runtime::{Address, Connection, Handle, sleep_until};
use assay_stub::http::{file_server, proxy};
use assay_stub::memcached;
use assay_stub::resp::echo;
use assay_stub::stall::{self, Server, stall_end};
use assay_wire::http::{HttpTarget, Session as HttpSession};
use assay_wire::resp::Session as RespSession;
use assay_wire::resp::codec::{Reply, command};
use assay_wire::{Target, WireError};

use crate::worker::{after_ms, listen, run};

fn spawn_files(handle: &Handle, body_bytes: usize) -> Address {
    let (listener, address) = listen(handle);
    let server = file_server::serve(handle.clone(), listener, file_server::Options { body_bytes });
    handle.spawn(async move { panic!("{}", server.await) });
    address
}

fn spawn_proxy(handle: &Handle, upstreams: Vec<Address>) -> Address {
    let (listener, address) = listen(handle);
    let server = proxy::serve(handle.clone(), listener, proxy::Options { upstreams });
    handle.spawn(async move { panic!("{}", server.await) });
    address
}

fn spawn_stalling(handle: &Handle, options: stall::Options) -> Address {
    let (listener, address) = listen(handle);
    let server = stall::serve(handle.clone(), listener, options);
    handle.spawn(async move { panic!("{}", server.await) });
    address
}

fn spawn_echo(handle: &Handle, answer: echo::Answer) -> Address {
    let (listener, address) = listen(handle);
    let server = echo::serve(handle.clone(), listener, echo::Options { answer });
    handle.spawn(async move { panic!("{}", server.await) });
    address
}

async fn http(handle: &Handle, address: &Address) -> HttpSession {
    let target = HttpTarget::new(address.clone(), "stub", "/file").unwrap();
    HttpSession::open(handle, &target).await.unwrap()
}

async fn resp(handle: &Handle, address: &Address) -> RespSession {
    let (user, database) = (String::new(), String::new());
    let target = Target { address: address.clone(), user, password: None, database, tls: None };
    RespSession::open(handle, &target).await.unwrap()
}

/// Sends bytes, and gives what comes until the server closes.
async fn answer_to(handle: &Handle, address: &Address, request: &[u8]) -> String {
    let mut connection = Connection::open(handle, address).await.unwrap();
    connection.send(request).await.unwrap();
    while connection.more().await.is_ok() {}
    String::from_utf8(connection.input().to_vec()).unwrap()
}

#[test]
fn the_file_server_answers_with_its_file_and_keeps_the_connection() {
    run(|handle| async move {
        let address = spawn_files(&handle, 512);
        let mut session = http(&handle, &address).await;
        for _ in 0..100 {
            let answer = session.get().await.unwrap();
            assert_eq!((answer.status, answer.body_bytes, answer.stays_open), (200, 512, true));
        }
    });
}

#[test]
fn pipelined_requests_are_all_answered_and_the_last_one_closes() {
    run(|handle| async move {
        let address = spawn_files(&handle, 3);
        let get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
        let head = "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n";
        let last = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        let requests = [get, head, get, last].concat();
        let text = answer_to(&handle, &address, requests.as_bytes()).await;
        assert_eq!(text.matches("HTTP/1.1 200 OK").count(), 4);
        assert_eq!(text.matches("\r\n\r\nxxx").count(), 3);
        assert!(text.ends_with("Connection: close\r\n\r\nxxx"), "{text}");
    });
}

#[test]
fn what_the_http_servers_do_not_answer_is_refused_by_both() {
    run(|handle| async move {
        let files = spawn_files(&handle, 3);
        let proxy = spawn_proxy(&handle, vec![files.clone()]);
        for request in [
            "POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx",
            "GET / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx",
            "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "GET / HTTP/3\r\n\r\n",
        ] {
            for address in [&files, &proxy] {
                let text = answer_to(&handle, address, request.as_bytes()).await;
                assert!(text.starts_with("HTTP/1.1 400 "), "{request}: {text}");
            }
        }
    });
}

#[test]
fn the_proxy_asks_its_upstreams_by_turns_over_connections_that_it_keeps() {
    run(|handle| async move {
        // Files of different sizes tell who answered.
        let sizes = [1_usize, 200, 1_000_000];
        let upstreams = sizes.map(|size| spawn_files(&handle, size));
        let address = spawn_proxy(&handle, upstreams.to_vec());
        let mut session = http(&handle, &address).await;
        for turn in 0..30 {
            let answer = session.get().await.unwrap();
            assert_eq!((answer.status, answer.stays_open), (200, true));
            assert_eq!(answer.body_bytes, sizes[turn % 3] as u64);
        }
        let request = b"HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        let text = answer_to(&handle, &address, request).await;
        assert!(text.contains("Content-Length: 1\r\n") && text.ends_with("\r\n\r\n"), "{text}");
    });
}

/// Serves connections one after another: so many answers each, then closes; counts connections.
fn spawn_forgetful(handle: &Handle, answers: usize, accepted: Rc<Cell<usize>>) -> Address {
    let (listener, address) = listen(handle);
    handle.spawn(async move {
        let mut turn = 0;
        loop {
            let mut connection = listener.accept().await.unwrap();
            accepted.set(accepted.get() + 1);
            for _ in 0..answers {
                if connection.more().await.is_err() {
                    break;
                }
                let request = connection.input();
                assert_eq!(request, b"GET /file HTTP/1.1\r\nHost: stub\r\n\r\n");
                connection.consume(request.len());
                let answer = format!(
                    "HTTP/1.1 200 OK\r\nTurn: {turn}\r\nConnection: x\r\nContent-Length: 2\r\n\r\nab"
                );
                turn += 1;
                connection.send(answer.as_bytes()).await.unwrap();
            }
        }
    });
    address
}

#[test]
fn an_upstream_that_has_closed_an_idle_connection_is_asked_over_another() {
    run(|handle| async move {
        let accepted = Rc::new(Cell::new(0));
        let upstream = spawn_forgetful(&handle, 2, Rc::clone(&accepted));
        let address = spawn_proxy(&handle, vec![upstream]);
        let mut session = http(&handle, &address).await;
        for _ in 0..6 {
            assert_eq!(session.get().await.unwrap().body_bytes, 2);
        }
        assert_eq!(accepted.get(), 3);
    });
}

#[test]
fn heads_pass_the_proxy_as_they_are_but_for_what_holds_for_one_connection() {
    run(|handle| async move {
        let upstream = spawn_forgetful(&handle, 9, Rc::default());
        let address = spawn_proxy(&handle, vec![upstream]);
        let request = "GET /file HTTP/1.1\r\nHost: stub\r\n\r\n";
        let last = "GET /file HTTP/1.1\r\nconnection: Close\r\nHost: stub\r\n\r\n";
        let requests = [request, request, last].concat();
        let text = answer_to(&handle, &address, requests.as_bytes()).await;
        let expected = [0, 1, 2]
            .map(|turn| format!("HTTP/1.1 200 OK\r\nTurn: {turn}\r\nContent-Length: 2\r\n\r\nab"));
        assert_eq!(text, expected.concat());
    });
}

#[test]
fn an_upstream_that_is_not_there_is_a_502() {
    run(|handle| async move {
        let (listener, nobody) = listen(&handle);
        drop(listener);
        for upstreams in [vec![nobody], vec![]] {
            let address = spawn_proxy(&handle, upstreams);
            let error = http(&handle, &address).await.get().await.unwrap_err();
            assert!(matches!(error, WireError::Server { code, .. } if code == "502"));
        }
    });
}

#[test]
fn echo_answers_every_command_the_same_also_in_pipelines() {
    run(|handle| async move {
        let address = spawn_echo(&handle, echo::Answer::Bulk(100));
        let mut session = resp(&handle, &address).await;
        assert_eq!(session.version(), 2);
        let mut batch = Vec::new();
        for turn in 0..1000 {
            let name: &[u8] = if turn % 2 == 0 { b"GET" } else { b"ping" };
            command(&mut batch, &[name, b"key"]);
        }
        let mut turn = 0;
        let check = |reply: &Reply<'_>| {
            let bulk = [b'x'; 100];
            let expected = [Reply::Bulk(&bulk), Reply::Simple(b"PONG")][turn % 2];
            assert_eq!(*reply, expected);
            turn += 1;
            Ok(())
        };
        session.run(&batch, 1000, check).await.unwrap();
        let ok = spawn_echo(&handle, echo::Answer::Ok);
        let wrong = answer_to(&handle, &ok, b"*1\r\n$3\r\nGET\r\nPING\r\n").await;
        assert_eq!(wrong, "+OK\r\n-ERR Protocol error\r\n");
    });
}

#[test]
fn a_moment_is_in_the_stall_at_the_end_of_its_period_or_in_none() {
    let ends = |moment| stall_end(moment, 1000, 100);
    assert_eq!([0, 1, 899, 1000, 1899].map(ends), [None; 5]);
    assert_eq!([900, 999, 1900].map(ends), [Some(1000), Some(1000), Some(2000)]);
    assert_eq!(stall_end(5, 10, 0), None);
    assert_eq!(stall_end(5, 10, 10), Some(10));
    assert_eq!(stall_end(5, 10, 99), Some(10));
    assert_eq!(stall_end(u64::MAX, 0, 1), Some(u64::MAX));
}

/// Asks as often as it can until it has seen enough; how long each answer took, in ms.
async fn waits(handle: &Handle, address: &Address, is_enough: impl Fn(&[u64]) -> bool) -> Vec<u64> {
    let mut session = resp(handle, address).await;
    let (mut batch, mut waits) = (Vec::new(), Vec::new());
    command(&mut batch, &[b"GET", b"k"]);
    let clock = handle.clock();
    while !is_enough(&waits) {
        let start = clock.ticks();
        session.exchange(&batch, 1, |_| ()).await.unwrap();
        waits.push(clock.ns_between(start, clock.ticks()) / 1_000_000);
    }
    waits
}

#[test]
fn a_closed_loop_waits_in_every_stall_and_is_answered_at_once_between() {
    run(|handle| async move {
        let server = Server::Resp(echo::Options { answer: echo::Answer::Ok });
        let options = stall::Options { period_ms: 200, stall_ms: 80, server };
        let address = spawn_stalling(&handle, options);
        let short = |seen: &[u64]| seen.iter().filter(|ms| **ms < 10).count();
        let long = |seen: &[u64]| seen.iter().filter(|ms| **ms >= 70).count();
        // A busy machine adds waits and lengthens some: then it takes longer to see enough.
        let seen = waits(&handle, &address, |seen| long(seen) >= 3 && short(seen) >= 20).await;
        // One connection waits once in a stall, and is answered many times before the next.
        assert!(short(&seen) > long(&seen), "{seen:?}");
    });
}

#[test]
fn what_arrives_in_a_stall_is_answered_at_its_end_in_the_order_in_which_it_came() {
    run(|handle| async move {
        let server = Server::Http(file_server::Options { body_bytes: 5 });
        // All is stall: there is an answer only between two.
        let options = stall::Options { period_ms: 100, stall_ms: 100, server };
        let start = handle.clock().ticks();
        let address = spawn_stalling(&handle, options);
        let mut sessions = Vec::new();
        for _ in 0..10 {
            sessions.push(Some(http(&handle, &address).await));
        }
        let (order, asked) = (Rc::new(RefCell::new(Vec::new())), Rc::new(Cell::new(0)));
        for turn in 0..10 {
            // They ask in another order than they connected in, each when the one before has sent.
            let mut session = sessions[turn * 3 % 10].take().unwrap();
            let (task, order, mark) = (handle.clone(), Rc::clone(&order), Rc::clone(&asked));
            handle.spawn(async move {
                let clock = task.clock();
                mark.set(turn + 1);
                session.get().await.unwrap();
                order.borrow_mut().push((turn, clock.ns_between(start, clock.ticks())));
            });
            while asked.get() <= turn {
                sleep_until(&handle, after_ms(&handle, 1)).await;
            }
        }
        while order.borrow().len() < 10 {
            sleep_until(&handle, after_ms(&handle, 1)).await;
        }
        let order = order.borrow();
        assert!(order.iter().all(|(_, ns)| *ns >= 100_000_000), "{order:?}");
        assert!(order.iter().map(|(turn, _)| *turn).eq(0..10), "{order:?}");
    });
}

#[test]
fn the_memcached_server_does_what_is_asked_and_every_key_has_its_value() {
    run(|handle| async move {
        let server = Server::Memcached(memcached::Options { value_bytes: 3 });
        let address =
            spawn_stalling(&handle, stall::Options { period_ms: 1000, stall_ms: 0, server });
        let requests = "set k 0 0 2\r\nab\r\nset k 0 0 1 noreply\r\nx\r\nget k\r\ngets a b\r\ndelete k\r\n\
                        incr n 5\r\ntouch n 1\r\nflush_all\r\nstats\r\nnonsense\r\nquit\r\nget k\r\n";
        let answers = "STORED\r\nVALUE k 0 3\r\nxxx\r\nEND\r\nVALUE a 0 3 1\r\nxxx\r\nVALUE b 0 3 1\r\nxxx\r\nEND\r\n\
                       DELETED\r\n1\r\nTOUCHED\r\nOK\r\nEND\r\nERROR\r\n";
        assert_eq!(answer_to(&handle, &address, requests.as_bytes()).await, answers);
        let (user, database) = (String::new(), String::new());
        let target = Target { address: address.clone(), user, password: None, database, tls: None };
        let session = assay_wire::memcached::Session::open(&handle, &target).await.unwrap();
        assert!(session.version().contains("stand-in"), "{}", session.version());
        for (request, answer) in [
            (&b"set k 0 0 2\r\nabc\r\n"[..], "CLIENT_ERROR bad data chunk\r\n"),
            (b"set k 0 0 x\r\n", "CLIENT_ERROR bad command line format\r\n"),
            (&[b'x'; 3000], "CLIENT_ERROR line too long\r\n"),
        ] {
            assert_eq!(answer_to(&handle, &address, request).await, answer);
        }
    });
}
