//! A memcached of the test's own: a free port of the loopback or a Unix socket, ended when dropped.
#![allow(dead_code)] // Not every test uses everything.

use std::net::Ipv4Addr;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use assay_runtime::Address;
use assay_wire::Target;

use super::process::{free_port, is_up};

pub struct MemcachedServer {
    process: Child,
    address: Address,
    folder: Option<PathBuf>,
}

impl MemcachedServer {
    /// Starts one and waits until it accepts connections.
    pub fn start(options: &[&str]) -> Self {
        // The port is free when asked for, but another may take it: then the server ends at once.
        for _ in 0..5 {
            let port = free_port();
            let places = ["-l", "127.0.0.1", "-p", &port.to_string()];
            let mut process = spawn(&[&places[..], options].concat());
            let address = (Ipv4Addr::LOCALHOST, port).into();
            if is_up(address, &mut process) {
                return Self { process, address: Address::Tcp(address), folder: None };
            }
        }
        panic!("memcached does not stay up");
    }

    /// The same on a Unix socket.
    pub fn start_unix(options: &[&str]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("assay-memcached-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let socket = folder.join("socket");
        let mut process = spawn(&[&["-s", socket.to_str().unwrap()], options].concat());
        for _ in 0..4000 {
            assert_eq!(process.try_wait().unwrap(), None, "memcached does not stay up");
            if UnixStream::connect(&socket).is_ok() {
                return Self { process, address: Address::unix(socket), folder: Some(folder) };
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = process.kill();
        panic!("nobody listens at {} after 20 s", socket.display());
    }

    pub fn target(&self) -> Target {
        let (user, database) = (String::new(), String::new());
        Target { address: self.address.clone(), user, password: None, database, tls: None }
    }
}

/// memcached runs as root only if it is told to, and elsewhere ignores that it is.
fn spawn(options: &[&str]) -> Child {
    Command::new("memcached")
        .args(["-u", "root", "-U", "0", "-t", "1"])
        .args(options)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| {
            panic!("cannot start memcached ({error}): install Debian's `memcached`")
        })
}

impl Drop for MemcachedServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}
