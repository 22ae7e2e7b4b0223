//! A Redis of the test's own: a free port of the loopback, no persistence, ended when dropped.
#![allow(dead_code)] // Not every test uses everything.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::process::{free_port, is_up};
use assay_runtime::Address;
use assay_wire::Target;

pub struct RedisServer {
    process: Child,
    address: SocketAddr,
}

impl RedisServer {
    /// Starts one and waits until it accepts connections.
    pub fn start(options: &[&str]) -> Self {
        Self::listen("--port", options)
    }

    /// The same over TLS alone, with the files of a certificate and its key.
    pub fn start_tls((certificate, key): (PathBuf, PathBuf)) -> Self {
        let (certificate, key) = (certificate.display().to_string(), key.display().to_string());
        let files = ["--tls-cert-file", &certificate, "--tls-key-file", &key];
        let options = ["--port", "0", "--tls-auth-clients", "no"];
        Self::listen("--tls-port", &[&options[..], &files].concat())
    }

    fn listen(port_option: &str, options: &[&str]) -> Self {
        // The port is free when asked for, but another may take it: then the server ends at once.
        for _ in 0..5 {
            let port = free_port();
            let mut process = Command::new("redis-server")
                .args([port_option, &port.to_string(), "--bind", "127.0.0.1"])
                .args(["--save", "", "--appendonly", "no", "--daemonize", "no"])
                .args(options)
                .current_dir(std::env::temp_dir())
                .stdout(Stdio::null())
                .spawn()
                .unwrap_or_else(|error| {
                    panic!("cannot start redis-server ({error}): install Debian's `redis-server`")
                });
            let address = (Ipv4Addr::LOCALHOST, port).into();
            if is_up(address, &mut process) {
                return Self { process, address };
            }
        }
        panic!("redis-server does not stay up");
    }

    /// As whom nobody in particular logs in.
    pub fn target(&self) -> Target {
        let address = Address::Tcp(self.address);
        Target { address, user: String::new(), password: None, database: String::new(), tls: None }
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
