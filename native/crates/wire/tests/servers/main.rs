//! Sessions with real servers and with servers of the tests, in one binary: servers are shared.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

#[path = "../support/allocations.rs"]
mod allocations;
#[path = "../../../runtime/tests/support/authority.rs"]
mod authority;
mod capture;
mod http_session;
mod http_tls;
#[path = "../support/mariadb_server.rs"]
mod mariadb_server;
#[path = "../support/memcached_server.rs"]
mod memcached_server;
mod memcached_session;
mod mysql_full_authentication;
#[path = "../support/mysql_lab.rs"]
mod mysql_lab;
mod mysql_limits;
mod mysql_server;
mod mysql_tls;
#[path = "../support/mysql_twin.rs"]
mod mysql_twin;
mod mysql_twins;
#[path = "../support/nginx_server.rs"]
mod nginx_server;
mod postgres_allocations;
mod postgres_failure;
mod postgres_fake;
mod postgres_load;
mod postgres_login;
#[path = "../support/postgres_messages.rs"]
mod postgres_messages;
mod postgres_requests;
#[path = "../support/postgres_server.rs"]
mod postgres_server;
mod postgres_tls;
#[path = "../support/process.rs"]
mod process;
#[path = "../support/recorder.rs"]
mod recorder;
#[path = "../support/redis_server.rs"]
mod redis_server;
mod resp_session;
mod resp_tls;
#[path = "../support/tls.rs"]
mod tls;
#[path = "../support/worker.rs"]
mod worker;
