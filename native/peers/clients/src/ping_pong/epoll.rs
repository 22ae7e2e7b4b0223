//! By epoll, `recv` and `send`: three calls, of which the first serves all answers that have come.

use std::mem::MaybeUninit;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

use super::{BUFFER_BYTES, Peers};

/// Events taken at a time.
const EVENTS: usize = 256;
/// The event of the timer.
const OVER: u64 = u64::MAX;

/// Sends and receives for some time; the number of whole answers.
pub fn run(peers: &Peers, time: Duration) -> Result<u64> {
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
    let never = Timespec { tv_sec: 0, tv_nsec: 0 };
    let once = Itimerspec { it_interval: never, it_value: Timespec::try_from(time)? };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &once)?;
    epoll::add(&poll, &timer, epoll::EventData::new_u64(OVER), epoll::EventFlags::IN)?;
    for (number, socket) in peers.sockets.iter().enumerate() {
        let name = epoll::EventData::new_u64(number as u64);
        epoll::add(&poll, socket, name, epoll::EventFlags::IN)?;
        ask(peers, number)?;
    }
    let mut left = vec![peers.answer_bytes; peers.sockets.len()];
    let mut events = [MaybeUninit::uninit(); EVENTS];
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut operations = 0;
    loop {
        let (found, _) = epoll::wait(&poll, &mut events, None)?;
        for event in found {
            let name = event.data.u64();
            if name == OVER {
                return Ok(operations);
            }
            let number = name as usize;
            let received = match net::recv(&peers.sockets[number], &mut buffer, RecvFlags::empty())
            {
                Ok((0, _)) => bail!("the server closed a connection"),
                Ok((bytes, _)) => bytes,
                Err(Errno::AGAIN) => continue,
                Err(errno) => return Err(errno.into()),
            };
            if peers.is_whole(&mut left[number], received)? {
                operations += 1;
                ask(peers, number)?;
            }
        }
    }
}

fn ask(peers: &Peers, number: usize) -> Result<()> {
    let sent = net::send(&peers.sockets[number], &peers.request, SendFlags::NOSIGNAL)?;
    ensure!(sent == peers.request.len(), "the server takes no more requests");
    Ok(())
}
