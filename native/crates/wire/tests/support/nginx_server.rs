//! An nginx of the test's own: one process, a free port of the loopback, files and log in a
//! temporary directory, ended when dropped.
#![allow(dead_code)] // Not every test uses everything.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::process::{free_port, is_up};
use assay_runtime::Address;

pub struct NginxServer {
    process: Child,
    address: SocketAddr,
    folder: PathBuf,
}

impl NginxServer {
    /// Starts one that serves `/file` of so many bytes; `options` stand in its `server` block.
    pub fn start(file_bytes: usize, options: &str) -> Self {
        Self::listen("", file_bytes, options)
    }

    /// The same over TLS, with the files of a certificate and its key.
    pub fn start_tls(file_bytes: usize, (certificate, key): (PathBuf, PathBuf)) -> Self {
        let (certificate, key) = (certificate.display(), key.display());
        let options = format!("ssl_certificate {certificate}; ssl_certificate_key {key};");
        Self::listen("ssl", file_bytes, &options)
    }

    fn listen(how: &str, file_bytes: usize, options: &str) -> Self {
        // The port is free when asked for, but another may take it: then the server ends at once.
        for _ in 0..5 {
            let port = free_port();
            let folder = std::env::temp_dir()
                .join(format!("assay-wire-nginx-{}-{port}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("file"), vec![b'n'; file_bytes]).unwrap();
            fs::write(
                folder.join("nginx.conf"),
                configuration(&folder, &format!("{port} {how}"), options),
            )
            .unwrap();
            let mut process = Command::new("nginx")
                .env("PATH", format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default()))
                .arg("-p")
                .arg(&folder)
                .arg("-c")
                .arg(folder.join("nginx.conf"))
                .arg("-e")
                .arg(folder.join("error.log"))
                .stderr(Stdio::null())
                .spawn()
                .unwrap_or_else(|error| {
                    panic!("cannot start nginx ({error}): install Debian's `nginx-light`")
                });
            let address = (Ipv4Addr::LOCALHOST, port).into();
            if is_up(address, &mut process) {
                return Self { process, address, folder };
            }
            let log = fs::read_to_string(folder.join("error.log")).unwrap_or_default();
            let _ = fs::remove_dir_all(&folder);
            assert!(log.contains("Address already in use"), "nginx ended: {log}");
        }
        panic!("nginx does not stay up");
    }

    pub fn address(&self) -> Address {
        Address::Tcp(self.address)
    }
}

impl Drop for NginxServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Everything that nginx writes lies in the folder. One process, so that nobody changes user.
fn configuration(folder: &Path, listen: &str, options: &str) -> String {
    let folder = folder.display();
    format!(
        "daemon off; master_process off; pid {folder}/pid;\n\
         events {{ worker_connections 256; }}\n\
         http {{\n access_log off;\n client_body_temp_path {folder}/body;\n\
         proxy_temp_path {folder}/proxy;\n fastcgi_temp_path {folder}/fastcgi;\n\
         uwsgi_temp_path {folder}/uwsgi;\n scgi_temp_path {folder}/scgi;\n\
         server {{ listen 127.0.0.1:{listen}; root {folder};\n{options}\n}} }}\n"
    )
}
