//! `ask`: questions to a server, one after another over one connection, and their answers as texts.

mod memcached;
mod redis;

pub use redis::words as redis_words;

use assay_load::Error;
use assay_load::clients::Open;
use assay_primitives::Clock;
use assay_runtime::{Handle, Worker, deadline};
use assay_wire::http::HttpTarget;
use assay_wire::sql::Ask;
use assay_wire::{Target, WireError, http, mysql, postgres};

use super::load::{http_target, sql, target};
use super::typed;
use crate::failure::Failure;
use crate::life;
use crate::output::Output;
use crate::protocol::request::{AskRequest, LoadProtocol};
use crate::protocol::response::Answers;

/// The rows of one answer.
type Rows = Vec<Vec<Option<String>>>;

const NS_PER_S: u64 = 1_000_000_000;
/// A day: keeps the product of time and clock rate inside 64 bits.
const PATIENCE_MAX_S: u64 = 86_400;

/// Runs the verb.
pub fn run(request: serde_json::Value, output: &mut Output) -> Result<(), Failure> {
    let request: AskRequest = typed(request)?;
    if !(1..=PATIENCE_MAX_S).contains(&request.patience_s) {
        let message =
            format!("patience_s is {}: must be from 1 to {PATIENCE_MAX_S}", request.patience_s);
        return Err(Failure::usage(message));
    }
    let target = target(&request.target)?;
    let answers = match request.target.protocol {
        LoadProtocol::Mysql => {
            patiently(&request, async |it| of_sql::<mysql::Session>(it, &target, &request).await)
        }
        LoadProtocol::Postgresql => {
            patiently(&request, async |it| of_sql::<postgres::Session>(it, &target, &request).await)
        }
        LoadProtocol::Redis => {
            let commands = redis::commands(&request.asks)?;
            patiently(&request, async |it| redis::ask(it, &target, &commands).await)
        }
        LoadProtocol::Memcached => {
            let commands = memcached::commands(&request.asks)?;
            patiently(&request, async |it| memcached::ask(it, &target, &commands).await)
        }
        LoadProtocol::Http => {
            let file = |path: &String| http_target(&request.target, &target, path);
            let files = request.asks.iter().map(file).collect::<Result<Vec<_>, _>>()?;
            patiently(&request, async |it| of_http(it, &files).await)
        }
    };
    output.write("answers", &Answers { answers: answers? })
}

fn patiently(
    request: &AskRequest,
    ask: impl AsyncFnOnce(&Handle) -> Result<Vec<Rows>, WireError>,
) -> Result<Vec<Rows>, Failure> {
    let clock = Clock::calibrated();
    let worker = Worker::new(clock).map_err(anyhow::Error::from)?;
    let (handle, seconds) = (worker.handle(), request.patience_s);
    let end = clock.ticks() + clock.ticks_of_ns(seconds * NS_PER_S);
    let asking = async {
        match deadline(&handle, end, ask(&handle)).await {
            Ok(answers) => answers.map_err(Error::from),
            Err(_) => Err(Error::Silence { seconds }),
        }
    };
    let answers = worker.block_on(asking, life::stop_flag()).map_err(anyhow::Error::from)?;
    answers.unwrap_or(Err(Error::Stopped)).map_err(sql::failed)
}

async fn of_sql<S: Open + Ask>(
    handle: &Handle,
    target: &Target,
    request: &AskRequest,
) -> Result<Vec<Rows>, WireError> {
    let mut session = S::open(handle, target).await?;
    let mut answers = Vec::new();
    for statement in &request.asks {
        let mut rows = Rows::new();
        session
            .ask(statement, |row| rows.push(row.iter().map(|it| it.map(text)).collect()))
            .await?;
        answers.push(rows);
    }
    session.close().await;
    Ok(answers)
}

async fn of_http(handle: &Handle, files: &[HttpTarget]) -> Result<Vec<Rows>, WireError> {
    let mut answers = Vec::new();
    for file in files {
        let (mut session, mut body) = (http::Session::open(handle, file).await?, Vec::new());
        session.get_with(|piece| body.extend_from_slice(piece)).await?;
        answers.push(vec![vec![Some(text(&body))]]);
    }
    Ok(answers)
}

/// Bytes as a text; what is no UTF-8 is replaced.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
