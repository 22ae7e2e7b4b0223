//! Tasks, timers and connections of one worker.

use std::cell::{Cell, RefCell};
use std::io::{ErrorKind, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use assay_primitives::Clock;
use assay_runtime::{
    Address, Backend, Connection, Elapsed, Gate, Handle, Listener, RuntimeError, Worker, deadline,
    sleep_until,
};

/// A worker of every kind that this kernel has.
fn workers() -> Vec<Worker> {
    let epoll = Worker::with_backend(Clock::calibrated(), Backend::Epoll).unwrap();
    match Worker::with_backend(Clock::calibrated(), Backend::IoUring) {
        Ok(uring) => vec![epoll, uring],
        // An emulator or an old kernel without it, or a container that forbids it.
        Err(RuntimeError::Os { source, .. })
            if matches!(source.kind(), ErrorKind::Unsupported | ErrorKind::PermissionDenied) =>
        {
            vec![epoll]
        }
        Err(error) => panic!("{error}"),
    }
}

/// Runs a task and everything that it starts, ten seconds at most, on every kind of worker.
fn run<F: Future<Output = ()> + 'static>(task: impl Fn(Handle) -> F) {
    for worker in workers() {
        let is_done = Rc::new(Cell::new(false));
        let (handle, mark) = (worker.handle(), Rc::clone(&is_done));
        let task = task(handle);
        worker.spawn(async move {
            task.await;
            mark.set(true);
        });
        worker.run(after_ms(&worker.handle(), 10_000), &AtomicBool::new(false)).unwrap();
        assert!(is_done.get(), "the task did not end on {}", worker.backend().name());
    }
}

fn after_ms(handle: &Handle, ms: u64) -> u64 {
    let clock = handle.clock();
    clock.ticks() + clock.ticks_of_ns(ms * 1_000_000)
}

/// Waits until something is true; other tasks run meanwhile.
async fn until(handle: &Handle, is_true: impl Fn() -> bool) {
    while !is_true() {
        sleep_until(handle, after_ms(handle, 1)).await;
    }
}

fn any_port() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// Sends back whatever comes, until the peer closes.
async fn echo(mut connection: Connection) {
    while connection.more().await.is_ok() {
        let bytes = connection.input().to_vec();
        connection.consume(bytes.len());
        if connection.send(&bytes).await.is_err() {
            return;
        }
    }
}

/// A server for some connections; its address.
fn echo_server(handle: &Handle, connections: usize) -> Address {
    let listener = Listener::bind(handle, any_port()).unwrap();
    let address = listener.address().unwrap();
    let accepting = handle.clone();
    handle.spawn(async move {
        for _ in 0..connections {
            let connection = listener.accept().await.unwrap();
            accepting.spawn(echo(connection));
        }
    });
    Address::Tcp(address)
}

async fn receive(connection: &mut Connection, bytes: usize) -> Vec<u8> {
    while connection.input().len() < bytes {
        connection.more().await.unwrap();
    }
    let received = connection.input()[..bytes].to_vec();
    connection.consume(bytes);
    received
}

#[test]
fn what_is_sent_comes_back_on_every_connection() {
    run(|handle| async move {
        let address = echo_server(&handle, 50);
        let done = Rc::new(Cell::new(0));
        for number in 0..50_u32 {
            let (handle, address, done) = (handle.clone(), address.clone(), Rc::clone(&done));
            handle.clone().spawn(async move {
                let mut connection = Connection::open(&handle, &address).await.unwrap();
                for turn in 0..20 {
                    let message = (number * 1000 + turn).to_le_bytes();
                    connection.send(&message).await.unwrap();
                    assert_eq!(receive(&mut connection, 4).await, message);
                }
                assert_eq!(connection.traffic().sent, 80);
                done.set(done.get() + 1);
            });
        }
        until(&handle, || done.get() == 50).await;
    });
}

#[test]
fn a_message_larger_than_all_buffers_arrives_whole() {
    run(|handle| async move {
        let address = echo_server(&handle, 1);
        let mut connection = Connection::open(&handle, &address).await.unwrap();
        let message: Vec<u8> = (0..3_000_000_u32).map(|place| (place * 7 / 5) as u8).collect();
        // The peer sends back while we still send: both directions fill up and empty again.
        let (first, second) = message.split_at(200_000);
        connection.send(first).await.unwrap();
        assert!(receive(&mut connection, first.len()).await == first);
        for part in second.chunks(100_000) {
            connection.send(part).await.unwrap();
            assert!(receive(&mut connection, part.len()).await == part);
        }
        assert!(connection.input().is_empty());
    });
}

#[test]
fn a_send_after_a_send_does_not_wait_until_something_comes() {
    run(|handle| async move {
        let listener = Listener::bind(&handle, any_port()).unwrap();
        let address = Address::Tcp(listener.address().unwrap());
        let mut connection = Connection::open(&handle, &address).await.unwrap();
        let start = Instant::now();
        for _ in 0..100 {
            connection.send(b"nobody answers this").await.unwrap();
        }
        // A loop that sleeps before each of them needs two seconds.
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    });
}

#[test]
fn sleepers_wake_in_the_order_of_their_times_and_never_early() {
    run(|handle| async move {
        for lead_ms in [30, 300, 5000] {
            let (order, is_late) = (Rc::new(RefCell::new(Vec::new())), Rc::new(Cell::new(false)));
            let first = after_ms(&handle, lead_ms);
            for later in [9_u64, 3, 6, 0] {
                let (handle, order) = (handle.clone(), Rc::clone(&order));
                let is_late = Rc::clone(&is_late);
                let at = first + handle.clock().ticks_of_ns(later * 1_000_000);
                handle.clone().spawn(async move {
                    is_late.set(is_late.get() || handle.clock().ticks() >= first);
                    sleep_until(&handle, at).await;
                    assert!(handle.clock().ticks() >= at);
                    order.borrow_mut().push(later);
                });
            }
            until(&handle, || order.borrow().len() == 4).await;
            // Only who is asleep before the first time comes is woken by its time.
            if !is_late.get() {
                assert_eq!(*order.borrow(), [0, 3, 6, 9]);
                return;
            }
        }
        panic!("the machine stalls for seconds");
    });
}

#[test]
fn who_misses_a_deadline_is_dropped_and_who_makes_it_answers() {
    run(|handle| async move {
        let never = std::future::pending::<()>();
        assert_eq!(deadline(&handle, after_ms(&handle, 2), never).await, Err(Elapsed));
        let soon = sleep_until(&handle, after_ms(&handle, 1));
        assert_eq!(deadline(&handle, after_ms(&handle, 5000), soon).await, Ok(()));
    });
}

#[test]
fn nobody_passes_a_gate_before_it_opens() {
    run(|handle| async move {
        let gate = Rc::new(Gate::new(&handle));
        let passed = Rc::new(Cell::new(0));
        for _ in 0..5 {
            let (gate, passed) = (Rc::clone(&gate), Rc::clone(&passed));
            handle.spawn(async move {
                gate.pass().await;
                passed.set(passed.get() + 1);
            });
        }
        until(&handle, || gate.waiting() == 5).await;
        assert_eq!(passed.get(), 0);
        gate.open();
        until(&handle, || passed.get() == 5).await;
        assert_eq!(gate.waiting(), 0);
    });
}

#[test]
fn a_port_where_nobody_listens_is_an_error_with_its_address() {
    run(|handle| async move {
        // Nobody listens on port 1; a port that was just free may be somebody else's by now.
        let free = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        let refused = Connection::open(&handle, &Address::Tcp(free)).await.err().unwrap();
        assert!(refused.to_string().contains(&free.to_string()), "{refused}");
        let unix = Address::unix("/nowhere/at.all");
        let refused = Connection::open(&handle, &unix).await.err().unwrap();
        assert!(refused.to_string().contains("/nowhere/at.all"), "{refused}");
    });
}

#[test]
fn a_peer_that_closes_or_is_shut_down_ends_the_waiting() {
    run(|handle| async move {
        let listener = Listener::bind(&handle, any_port()).unwrap();
        let address = Address::Tcp(listener.address().unwrap());
        let mut client = Connection::open(&handle, &address).await.unwrap();
        drop(listener.accept().await.unwrap());
        assert!(matches!(client.more().await, Err(RuntimeError::Closed)));

        let mut client = Connection::open(&handle, &address).await.unwrap();
        let _peer = listener.accept().await.unwrap();
        client.shut_down();
        assert!(matches!(client.more().await, Err(RuntimeError::Closed)));
    });
}

#[test]
fn a_peer_that_closes_right_after_its_last_bytes_ends_the_waiting() {
    run(|handle| async move {
        let listener = Listener::bind(&handle, any_port()).unwrap();
        let address = Address::Tcp(listener.address().unwrap());
        let mut client = Connection::open(&handle, &address).await.unwrap();
        let mut peer = listener.accept().await.unwrap();
        // Both arrive before the loop looks: one edge tells of them.
        peer.send(b"bye").await.unwrap();
        drop(peer);
        assert_eq!(receive(&mut client, 3).await, b"bye");
        assert!(matches!(client.more().await, Err(RuntimeError::Closed)));
    });
}

#[test]
fn what_was_sent_before_a_connection_was_dropped_arrives() {
    run(|handle| async move {
        let listener = Listener::bind(&handle, any_port()).unwrap();
        let address = Address::Tcp(listener.address().unwrap());
        let mut client = Connection::open(&handle, &address).await.unwrap();
        let mut peer = listener.accept().await.unwrap();
        // More than a socket holds: the sender waits for the reader, and is dropped at its end.
        let message: Vec<u8> = (0..9_000_000_u32).map(|place| (place * 5 / 3) as u8).collect();
        let sent = message.clone();
        handle.spawn(async move {
            peer.send(&sent).await.unwrap();
        });
        assert!(receive(&mut client, message.len()).await == message);
        assert!(matches!(client.more().await, Err(RuntimeError::Closed)));
    });
}

#[test]
fn a_task_that_does_not_read_makes_its_peer_wait() {
    run(|handle| async move {
        let listener = Listener::bind(&handle, any_port()).unwrap();
        let address = Address::Tcp(listener.address().unwrap());
        let mut client = Connection::open(&handle, &address).await.unwrap();
        let mut peer = listener.accept().await.unwrap();
        client.send(b"x").await.unwrap();
        receive(&mut peer, 1).await;
        let sent = Rc::new(Cell::new(0));
        let counted = Rc::clone(&sent);
        const PARTS: u8 = 64;
        handle.spawn(async move {
            for part in 0..PARTS {
                peer.send(&vec![part; 1_000_000]).await.unwrap();
                counted.set(part + 1);
            }
        });
        // The first part wakes a reader; then it does not read until nothing moves any more.
        client.more().await.unwrap();
        let (mut before, mut still) = (0, 0);
        while still < 50 {
            sleep_until(&handle, after_ms(&handle, 2)).await;
            still = if sent.get() == before { still + 1 } else { 0 };
            before = sent.get();
        }
        assert!(before < PARTS / 2, "{before} MB were taken ahead of a task that does not read");
        for part in 0..PARTS {
            assert!(receive(&mut client, 1_000_000).await.iter().all(|byte| *byte == part));
        }
    });
}

#[test]
fn many_answers_at_once_all_arrive() {
    const CONNECTIONS: usize = 400;
    run(|handle| async move {
        let listener = Listener::bind(&handle, any_port()).unwrap();
        let address = Address::Tcp(listener.address().unwrap());
        let (done, mut peers) = (Rc::new(Cell::new(0)), Vec::new());
        for _ in 0..CONNECTIONS {
            let mut client = Connection::open(&handle, &address).await.unwrap();
            peers.push(listener.accept().await.unwrap());
            let done = Rc::clone(&done);
            handle.spawn(async move {
                assert!(receive(&mut client, 20_000).await.iter().all(|byte| *byte == 7));
                done.set(done.get() + 1);
            });
        }
        for peer in &mut peers {
            peer.send(&[7; 20_000]).await.unwrap();
        }
        until(&handle, || done.get() == CONNECTIONS).await;
    });
}

#[test]
fn what_was_sent_is_with_the_kernel_when_the_loop_ends() {
    for worker in workers() {
        let listener = std::net::TcpListener::bind(any_port()).unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        let handle = worker.handle();
        let send = async {
            let mut connection = Connection::open(&handle, &address).await.unwrap();
            connection.send(b"bye").await.unwrap();
            connection
        };
        let connection = worker.block_on(send, &AtomicBool::new(false)).unwrap();
        let (mut peer, mut bytes) = (listener.accept().unwrap().0, [0; 3]);
        peer.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
        peer.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"bye");
        drop(connection);
        drop(worker);
        assert_eq!(peer.read(&mut bytes).unwrap(), 0, "a dropped connection is closed");
    }
}

#[test]
fn a_worker_stops_when_told_and_can_go_on() {
    for worker in workers() {
        let (handle, turns) = (worker.handle(), Rc::new(Cell::new(0)));
        let (late, counted) = (worker.handle(), Rc::clone(&turns));
        worker.spawn(async move {
            sleep_until(&late, after_ms(&late, 3_600_000)).await;
            counted.set(1);
        });
        worker.run(u64::MAX, &AtomicBool::new(true)).unwrap();
        assert_eq!(turns.get(), 0);
        let counted = Rc::clone(&turns);
        worker.spawn(async move {
            loop {
                sleep_until(&handle, after_ms(&handle, 1)).await;
                counted.set(counted.get() + 1);
            }
        });
        for _ in 0..2 {
            let before = turns.get();
            // As often as a slow machine needs for one turn; a worker that cannot go on never ends.
            while turns.get() == before {
                worker.run(after_ms(&worker.handle(), 20), &AtomicBool::new(false)).unwrap();
            }
        }
    }
}

#[test]
fn a_future_that_borrows_is_run_beside_the_tasks() {
    for worker in workers() {
        let (handle, text) = (worker.handle(), String::from("borrowed"));
        let length = async {
            let address = echo_server(&handle, 1);
            let mut connection = Connection::open(&handle, &address).await.unwrap();
            connection.send(text.as_bytes()).await.unwrap();
            receive(&mut connection, text.len()).await.len()
        };
        assert_eq!(worker.block_on(length, &AtomicBool::new(false)).unwrap(), Some(8));
        let never = std::future::pending::<()>();
        assert_eq!(worker.block_on(never, &AtomicBool::new(true)).unwrap(), None);
    }
}

#[test]
fn a_worker_that_is_dropped_drops_its_tasks() {
    for worker in workers() {
        let (handle, kept) = (worker.handle(), Rc::new(()));
        let held = Rc::clone(&kept);
        worker.spawn(async move {
            sleep_until(&handle, u64::MAX).await;
            drop(held);
        });
        worker.run(after_ms(&worker.handle(), 1), &AtomicBool::new(false)).unwrap();
        assert_eq!(Rc::strong_count(&kept), 2);
        drop(worker);
        assert_eq!(Rc::strong_count(&kept), 1);
    }
}

#[test]
fn the_last_words_of_a_peer_that_hung_up_are_read_after_sending_has_failed() {
    run(|handle| async move {
        let listener = Listener::bind(&handle, any_port()).unwrap();
        let address = Address::Tcp(listener.address().unwrap());
        let mut client = Connection::open(&handle, &address).await.unwrap();
        let mut peer = listener.accept().await.unwrap();
        peer.send(b"enough").await.unwrap();
        peer.shut_down();
        // What comes for a peer that reads no more is answered by a reset, sooner or later.
        while client.send(&[0; 1000]).await.is_ok() {
            sleep_until(&handle, after_ms(&handle, 1)).await;
        }
        assert_eq!(receive(&mut client, 6).await, b"enough");
    });
}
