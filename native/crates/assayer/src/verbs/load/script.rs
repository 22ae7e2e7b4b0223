//! Scripts of a user's own: run, and what makes their data.

use std::future::Future;
use std::rc::Rc;
use std::time::Instant;

use assay_load::Error;
use assay_load::clients::Open;
use assay_load::clients::script::{HttpScripts, RespScripts, ScriptClient, Scripted, SqlScripts};
use assay_primitives::Clock;
use assay_runtime::{Handle, Worker};
use assay_wire::Target;
use assay_workload::script::{Plan, Syntax, Template, Weighted};

use super::{measure, sql};
use crate::failure::Failure;
use crate::life;
use crate::output::Output;
use crate::protocol::request::{LoadAction, LoadRequest, LoadScript};
use crate::protocol::response::DataState;
use crate::verbs::ask::redis_words;

/// Statements of SQL.
pub fn sql<S: Open>(
    request: &LoadRequest,
    target: &Target,
    asked: &LoadScript,
    output: &mut Output,
) -> Result<(), Failure> {
    let plan = plan(request, asked, Syntax::Sql)?;
    if request.action != LoadAction::Run {
        let statements = statements(request, asked, Syntax::Sql)?;
        return act(output, async |handle| {
            let mut session = S::open(handle, target).await?;
            for statement in &statements {
                session.batch(statement).await?;
            }
            session.close().await;
            Ok(())
        });
    }
    let open = |handle: Handle, plan: Rc<Plan>| {
        let target = target.clone();
        async move { SqlScripts::<S>::open(&handle, &target, &plan).await }
    };
    run(request, target, asked, &plan, open, output)
}

/// Commands of Redis.
pub fn redis(
    request: &LoadRequest,
    target: &Target,
    asked: &LoadScript,
    output: &mut Output,
) -> Result<(), Failure> {
    let plan = plan(request, asked, Syntax::Lines)?;
    for text in plan.scripts().flat_map(|script| script.asks()) {
        let line = text.with_question_marks().0;
        if redis_words(&line).is_none_or(|words| words.is_empty()) {
            return Err(Failure::usage(format!("{line:?} is not a command of Redis")));
        }
    }
    let split = |line: &str| redis_words(line).unwrap_or_default();
    if request.action != LoadAction::Run {
        let commands = statements(request, asked, Syntax::Lines)?;
        return act(output, async |handle| {
            let mut session = RespScripts::open(handle, target, split).await?;
            let encoded: Vec<_> = commands.iter().map(|line| session.encoded(line)).collect();
            Ok(session.run(&encoded).await?)
        });
    }
    let open = |handle: Handle, _: Rc<Plan>| {
        let target = target.clone();
        async move { RespScripts::open(&handle, &target, split).await }
    };
    run(request, target, asked, &plan, open, output)
}

/// Paths of an HTTP server, which keeps no data of ours.
pub fn http(
    request: &LoadRequest,
    target: &Target,
    asked: &LoadScript,
    output: &mut Output,
) -> Result<(), Failure> {
    let plan = plan(request, asked, Syntax::Lines)?;
    let file = super::http_target(&request.target, target, "/")?;
    for text in plan.scripts().flat_map(|script| script.asks()) {
        let path = text.filled_with_zeros();
        file.with_path(&path).map_err(|error| Failure::usage(error.to_string()))?;
    }
    if request.action != LoadAction::Run {
        return act(output, async |_| Ok(()));
    }
    let open = |handle: Handle, _: Rc<Plan>| HttpScripts::open(handle, file.clone());
    run(request, target, asked, &plan, open, output)
}

/// Runs scripts over sessions that `open` makes.
fn run<S, F>(
    request: &LoadRequest,
    target: &Target,
    asked: &LoadScript,
    plan: &Plan,
    open: impl Fn(Handle, Rc<Plan>) -> F + Sync,
    output: &mut Output,
) -> Result<(), Failure>
where
    S: Scripted,
    F: Future<Output = Result<S, Error>> + 'static,
{
    let kinds: Vec<&'static str> = asked.scripts.iter().map(|it| kind(&it.name)).collect();
    let opener = |_| {
        let (plan, open) = (Rc::new(plan.clone()), &open);
        move |handle, number| {
            let (opening, plan) = (open(handle, Rc::clone(&plan)), Rc::clone(&plan));
            async move { Ok(ScriptClient::new(opening.await?, plan, number)) }
        }
    };
    measure(request, target, &kinds, opener, output)
}

/// A script's name, for as long as the process lives.
fn kind(name: &str) -> &'static str {
    name.to_owned().leak()
}

fn plan(request: &LoadRequest, asked: &LoadScript, syntax: Syntax) -> Result<Plan, Failure> {
    let scripts = asked.scripts.iter().map(|it| {
        let (name, weight, text) = (it.name.clone(), it.weight, it.text.clone());
        Weighted { name, weight, text }
    });
    let scripts: Vec<_> = scripts.collect();
    Plan::new(&scripts, syntax, &asked.given, request.schedule().seed).map_err(Failure::usage)
}

/// What the data are made by, with values filled in; nothing for other actions.
fn statements(
    request: &LoadRequest,
    asked: &LoadScript,
    syntax: Syntax,
) -> Result<Vec<String>, Failure> {
    if request.action != LoadAction::Prepare || asked.prepare.trim().is_empty() {
        return Ok(Vec::new());
    }
    let script = Weighted { name: "prepare".to_owned(), weight: 1, text: asked.prepare.clone() };
    let seed = request.schedule().seed;
    let plan = Plan::new(&[script], syntax, &asked.given, seed).map_err(Failure::usage)?;
    let mut found = Vec::new();
    let visit = |text: &Template, values: &[i64]| found.push(text.filled(values));
    let drawn = plan.stream(0).draw(&plan, 0, visit);
    drawn.map_err(|error| Failure::usage(format!("prepare, {error}")))?;
    Ok(found)
}

/// What is not a run.
fn act(
    output: &mut Output,
    work: impl AsyncFnOnce(&Handle) -> Result<(), Error>,
) -> Result<(), Failure> {
    let begun = Instant::now();
    let worker = Worker::new(Clock::calibrated()).map_err(anyhow::Error::from)?;
    let handle = worker.handle();
    let done = worker.block_on(work(&handle), life::stop_flag()).map_err(anyhow::Error::from)?;
    done.unwrap_or(Err(Error::Stopped)).map_err(sql::failed)?;
    let (rows, faults) = (0, Vec::new());
    output.write("result", &DataState { rows, seconds: begun.elapsed().as_secs_f64(), faults })
}
