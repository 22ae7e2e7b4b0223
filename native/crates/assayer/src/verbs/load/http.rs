//! A file of an HTTP server.

use assay_load::clients::http::HttpClient;
use assay_wire::Target;
use assay_wire::http::HttpTarget;

use super::measure;
use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::request::LoadRequest;

/// Runs GET of one path.
pub fn run(
    request: &LoadRequest,
    target: &Target,
    path: &str,
    output: &mut Output,
) -> Result<(), Failure> {
    let host = &request.target.host;
    let usual = if target.tls.is_some() { 443 } else { 80 };
    let host = match (host.is_empty(), request.target.port) {
        (true, _) => "localhost".to_owned(),
        (false, port) if port == usual => host.clone(),
        (false, port) => format!("{host}:{port}"),
    };
    let file = HttpTarget::new(target.address.clone(), host, path)
        .map_err(|error| Failure::usage(error.to_string()))?
        .with_tls(target.tls.clone());
    let open = |handle, _| HttpClient::open(handle, file.clone());
    measure(request, target, &["get"], |_| open, output)
}
