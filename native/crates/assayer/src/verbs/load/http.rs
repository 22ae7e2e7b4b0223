//! A file of an HTTP server.

use assay_load::clients::http::HttpClient;
use assay_wire::Target;
use assay_wire::http::HttpTarget;

use super::measure;
use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::request::{LoadRequest, LoadTarget};

/// Runs GET of one path.
pub fn run(
    request: &LoadRequest,
    target: &Target,
    path: &str,
    output: &mut Output,
) -> Result<(), Failure> {
    let file = self::target(&request.target, target, path)?;
    let open = |handle, _| HttpClient::open(handle, file.clone());
    measure(request, target, &["get"], |_| open, output)
}

/// A path of a server, under the name that was asked for.
pub fn target(asked: &LoadTarget, target: &Target, path: &str) -> Result<HttpTarget, Failure> {
    let usual = if target.tls.is_some() { 443 } else { 80 };
    let host = match (asked.host.is_empty(), asked.port) {
        (true, _) => "localhost".to_owned(),
        (false, port) if port == usual => asked.host.clone(),
        (false, port) => format!("{}:{port}", asked.host),
    };
    let file = HttpTarget::new(target.address.clone(), host, path);
    Ok(file.map_err(|error| Failure::usage(error.to_string()))?.with_tls(target.tls.clone()))
}
