//! The verb `profile`: where a process' threads are between two marks, by function.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use assay_sampler::process;
use assay_sampler::profile::{Profile, Profiler};

use super::words::{Word, listen, unknown};
use super::{own_build_id, typed};
use crate::failure::Failure;
use crate::files;
use crate::life;
use crate::output::Output;
use crate::protocol::request::ProfileRequest;
use crate::protocol::response::{
    Checked, ProfileManifest, Profiled, ProfiledFunction, ProfiledStack, Ready,
};

const HZ_MAX: u32 = 10_000;
/// How often buffers are emptied, and how soon a signal is noticed.
const LOOK: Duration = Duration::from_millis(100);

/// Runs the verb.
pub fn run(request: serde_json::Value, output: &mut Output) -> Result<(), Failure> {
    let request: ProfileRequest = typed(request)?;
    if !(1..=HZ_MAX).contains(&request.hz) {
        let message = format!("hz is {}: must be from 1 to {HZ_MAX}", request.hz);
        return Err(Failure::usage(message));
    }
    files::allow_most();
    process::hurry();
    let build_id = own_build_id()?;
    let opened = Profiler::open(request.pid, request.hz, request.hardware);
    let manifest = manifest(&request, &opened);
    let ready = Ready { verb: "profile", pid: std::process::id(), build_id: &build_id, manifest };
    if request.check_only {
        output.write("ready", &ready)?;
        return output.write("checked", &Checked {});
    }
    let mut profiler = opened.map_err(|why| Failure::Missing {
        message: format!("no profile of process {}: {why}", request.pid),
        next: "as root: sysctl kernel.perf_event_paranoid=1, or grant CAP_PERFMON".to_owned(),
    })?;
    output.write("ready", &ready)?;
    let cpu_s = process::process_cpu_s();
    let (complete, began_s) = watch(&mut profiler, &listen())?;
    let (event, kernel) = (profiler.event().name, profiler.why_no_kernel().is_none());
    let profile = profiler.finish();
    let used_s = process::process_cpu_s() - cpu_s;
    let Profile { seconds, samples, lost, named } = profile;
    let function = |of: assay_sampler::profile::named::Function| ProfiledFunction {
        name: of.name,
        module: of.module,
    };
    let stacks = named.stacks.into_iter();
    output.write(
        "result",
        &Profiled {
            complete,
            began_s,
            seconds,
            event,
            hz: request.hz,
            kernel,
            samples,
            lost,
            cpu_s: used_s,
            functions: named.functions.into_iter().map(function).collect(),
            stacks: stacks.map(|(frames, count)| ProfiledStack { frames, count }).collect(),
        },
    )
}

fn manifest(request: &ProfileRequest, opened: &Result<Profiler, String>) -> ProfileManifest {
    let absent = match opened {
        Err(why) => vec![("profile", why.clone())],
        Ok(profiler) => {
            let why = profiler.why_no_kernel().map(str::to_owned);
            why.map(|why| ("profile.kernel", why)).into_iter().collect()
        }
    };
    let profiler = opened.as_ref().ok();
    ProfileManifest {
        pid: request.pid,
        hz: request.hz,
        event: profiler.map(|profiler| profiler.event().name),
        kernel: profiler.is_some_and(|profiler| profiler.why_no_kernel().is_none()),
        threads: profiler.map_or(0, Profiler::threads),
        started_s: process::monotonic_s(),
        absent: BTreeMap::from_iter(absent),
    }
}

/// Follows the words to the end of standard input; says whether it was that, and when the first
/// mark was made (0 without one).
fn watch(profiler: &mut Profiler, words: &Receiver<Word>) -> Result<(bool, f64), Failure> {
    let mut began_s = 0.0;
    loop {
        if life::stop_flag().load(Ordering::Relaxed) {
            return Ok((false, began_s));
        }
        match words.recv_timeout(LOOK) {
            Ok(Word::Mark) => {
                profiler.mark();
                if began_s == 0.0 {
                    began_s = process::monotonic_s();
                }
            }
            Ok(Word::Other(word)) => return Err(unknown(&word)),
            Err(RecvTimeoutError::Timeout) => profiler.poll(),
            Err(RecvTimeoutError::Disconnected) => return Ok((true, began_s)),
        }
    }
}
