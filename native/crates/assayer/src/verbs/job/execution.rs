//! One execution of a command: started, waited for, and ended with all it started.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};

use super::busiest::Busiest;
use super::tail::Tail;
use super::{children, stopped};
use crate::failure::Failure;
use crate::protocol::request::JobRequest;
use crate::protocol::response::JobExecution;

/// Kept of standard output.
const OUTPUT_MAX: usize = 1 << 20;
/// Kept of standard error.
const SAID_MAX: usize = 1 << 10;
/// How soon a signal to this process is noticed at the latest.
const LOOK_MS: i32 = 100;

/// A command, ready to be run.
pub struct Execution<'a> {
    program: &'a OsStr,
    words: &'a [String],
    request: &'a JobRequest,
}

/// What one execution took.
pub struct Outcome {
    wall: Duration,
    status: ExitStatus,
    usage: libc::rusage,
    output: Option<Tail>,
    said: String,
    busiest: Option<f64>,
}

impl<'a> Execution<'a> {
    /// Of a program, looked for on the PATH if it is a bare name.
    pub fn new(program: &'a OsStr, words: &'a [String], request: &'a JobRequest) -> Self {
        Self { program, words, request }
    }

    /// Runs it to its end.
    pub fn run(&self, role: &str, keep: bool) -> Result<Outcome, Failure> {
        let (said, error_end) = pipe(SAID_MAX)?;
        let (mut output, output_end) = match keep {
            true => pipe(OUTPUT_MAX).map(|(tail, end)| (Some(tail), Stdio::from(end)))?,
            false => (None, Stdio::null()),
        };
        let mut command = Command::new(self.program);
        command.arg0(&self.words[0]).args(&self.words[1..]).process_group(0);
        command.stdin(Stdio::null()).stdout(output_end).stderr(error_end);
        if let Some(directory) = &self.request.directory {
            command.current_dir(directory);
        }
        let mut said = said;
        let begun = Instant::now();
        let child = command.spawn().map_err(|error| self.refused(role, &error))?;
        drop(command); // and with it our writing ends
        let pid = child.id() as libc::pid_t;
        let mut busiest = self.request.server_pid.map(|_| Busiest::of(child.id()));
        let ended = self.wait(pid, begun, &mut said, output.as_mut(), busiest.as_mut());
        if ended.is_err() {
            // SAFETY: the child was not waited for, so the group is still its own.
            unsafe { libc::killpg(pid, libc::SIGKILL) };
        }
        let (status, usage) = reap(pid)?;
        [Some(&mut said), output.as_mut()].into_iter().flatten().for_each(Tail::read);
        let left = children::left_over();
        let why = said.text();
        let wall = ended.map_err(|why| Failure::Failed(anyhow!("{role} {why}")))?;
        if !left.is_empty() {
            let names = left.join(", ");
            return Err(anyhow!("{role} ended and left {names} running, which was killed").into());
        }
        let cpu_s = children::seconds(usage.ru_utime) + children::seconds(usage.ru_stime);
        let busiest = busiest.map(|seen| seen.share(wall, cpu_s));
        Ok(Outcome { wall, status, usage, output, said: why, busiest })
    }

    /// How long it ran; why it was not waited for to its end.
    fn wait(
        &self,
        pid: libc::pid_t,
        begun: Instant,
        said: &mut Tail,
        mut output: Option<&mut Tail>,
        mut busiest: Option<&mut Busiest>,
    ) -> Result<Duration, String> {
        let patience = Duration::from_millis(self.request.patience_ms);
        let process = pidfd(pid)?;
        loop {
            let fd = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
            let out = output.as_ref().map_or(-1, |tail| tail.fd());
            let mut fds = [fd(process.as_raw_fd()), fd(said.fd()), fd(out)];
            // SAFETY: the array is as long as said, and lives through the call.
            unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, LOOK_MS) };
            let elapsed = begun.elapsed();
            if fds[0].revents != 0 {
                return Ok(elapsed);
            }
            said.read();
            if let Some(tail) = output.as_mut() {
                tail.read();
            }
            if let Some(seen) = busiest.as_mut() {
                seen.look(elapsed);
            }
            if stopped() {
                return Err("was ended, as this process is".to_owned());
            }
            if elapsed > patience {
                return Err(format!("was still running after {} s", patience.as_secs_f64()));
            }
        }
    }

    fn refused(&self, role: &str, error: &std::io::Error) -> Failure {
        let place = self.request.directory.as_ref();
        let place = place.map_or(String::new(), |folder| format!(" in {}", folder.display()));
        let program = self.program.display();
        let message = format!("{role} cannot be started: {program}{place}: {error}");
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::PermissionDenied => {
                let next = "give the path of a program that may be executed".to_owned();
                Failure::Missing { message, next }
            }
            _ => Failure::Failed(anyhow!(message)),
        }
    }
}

impl Outcome {
    /// From before the spawn until its end was seen.
    pub fn wall_ns(&self) -> u64 {
        u64::try_from(self.wall.as_nanos()).unwrap_or(u64::MAX)
    }

    /// The share of a CPU that its busiest thread took, where that is watched.
    pub fn busiest(&self) -> Option<f64> {
        self.busiest
    }

    /// Bytes of output that are kept.
    pub fn kept(&self) -> usize {
        self.output.as_ref().map_or(0, |tail| (tail.bytes() as usize).min(OUTPUT_MAX))
    }

    /// Itself, unless it failed.
    pub fn required(self, role: &str, any_code: bool) -> Result<Self, Failure> {
        let how = match (self.status.code(), self.status.signal()) {
            (Some(0), _) => return Ok(self),
            (Some(_), _) if any_code => return Ok(self),
            (Some(code), _) => format!("ended with code {code}"),
            (None, signal) => format!("was killed by signal {}", signal.unwrap_or(0)),
        };
        let said = self.said.trim();
        let said = if said.is_empty() { "it wrote no error" } else { said };
        Err(anyhow!("{role} {how}: {said}").into())
    }

    /// As the protocol has it.
    pub fn told(self) -> JobExecution {
        let us = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
        JobExecution {
            wall_ns: self.wall_ns(),
            user_us: us(self.usage.ru_utime),
            system_us: us(self.usage.ru_stime),
            max_rss_bytes: self.usage.ru_maxrss as u64 * 1024,
            code: self.status.code(),
            signal: self.status.signal(),
            output_bytes: self.output.as_ref().map_or(0, Tail::bytes),
            output: self.output.as_ref().map(Tail::text),
        }
    }
}

fn pipe(most: usize) -> Result<(Tail, OwnedFd), Failure> {
    let (reader, writer) = std::io::pipe().context("making a pipe")?;
    Ok((Tail::of(OwnedFd::from(reader), most), OwnedFd::from(writer)))
}

/// A descriptor that can be read once the process has ended.
fn pidfd(pid: libc::pid_t) -> Result<OwnedFd, String> {
    // SAFETY: the call touches no memory; what it gives, if it gives one, is a new descriptor.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        if fd < 0 {
            let error = std::io::Error::last_os_error();
            return Err(format!("cannot be waited for (pidfd_open, Linux 5.3): {error}"));
        }
        Ok(OwnedFd::from_raw_fd(fd as libc::c_int))
    }
}

/// Waits for a child that has ended, or that is about to: its status, and what it used.
fn reap(pid: libc::pid_t) -> Result<(ExitStatus, libc::rusage), Failure> {
    let mut status = 0;
    // SAFETY: rusage is plain numbers, for which zeros are values.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both places are ours and live through the call.
        let reaped = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
        if reaped == pid {
            return Ok((ExitStatus::from_raw(status), usage));
        }
        let error = std::io::Error::last_os_error();
        if error.kind() != ErrorKind::Interrupted {
            return Err(anyhow!(error).context("waiting for a child").into());
        }
    }
}
