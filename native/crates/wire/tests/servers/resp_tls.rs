//! Redis over TLS, which is spoken from the start. Needs Debian's `redis-server`.

use assay_wire::resp::Session;
use assay_wire::resp::codec::{Reply, command};
use assay_wire::{Target, Tls};

use crate::authority::Authority;
use crate::redis_server::RedisServer;
use crate::tls::{agreed, believed, checked};
use crate::worker::run;

#[test]
fn redis_answers_over_tls_what_it_was_told_however_large() {
    let authority = Authority::new();
    let server = RedisServer::start_tls(authority.files());
    for tls in [checked(&authority, "localhost"), checked(&authority, "127.0.0.1"), believed(false)]
    {
        let target = Target { tls, ..server.target() };
        run(|handle| async move {
            let mut session = Session::open(&handle, &target).await.unwrap();
            assert!(agreed(&target.tls).unwrap().starts_with("TLSv1.3 TLS_"));
            for length in [0, 1, 20_000, 1_000_000] {
                let (value, mut batch) = (vec![b'v'; length], Vec::new());
                command(&mut batch, &[b"SET", b"key", &value]);
                for _ in 0..10 {
                    command(&mut batch, &[b"GET", b"key"]);
                }
                let mut answers = 0;
                let visit = |reply: &Reply<'_>| {
                    answers += usize::from(*reply == Reply::Bulk(&value));
                    Ok(())
                };
                session.run(&batch, 11, visit).await.unwrap();
                assert_eq!(answers, 10, "{length}");
            }
        });
    }
}

#[test]
fn redis_with_a_certificate_of_others_or_without_tls_is_refused() {
    let (authority, other) = (Authority::new(), Authority::new());
    let server = RedisServer::start_tls(authority.files());
    run(|handle| async move {
        let told = async |tls: Option<Tls>| {
            let target = Target { tls, ..server.target() };
            Session::open(&handle, &target).await.err().unwrap().to_string()
        };
        let why = told(checked(&other, "localhost")).await;
        assert!(why.contains("the certificate of localhost is not trusted: none of"), "{why}");
        let why = told(checked(&authority, "elsewhere")).await;
        assert!(why.contains("the certificate of elsewhere is not trusted"), "{why}");
        // Redis closes on who does not speak TLS.
        assert!(told(None).await.contains("closed the connection"));
    });
}
