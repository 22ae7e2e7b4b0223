//! By `io_uring`: one call sends what there is to send, and waits for answers.

use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use io_uring::types::{Fd, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};

use super::Peers;
use super::ring_buffers::{GROUP, RingBuffers};

const COMPLETIONS: u32 = 4096;
/// The answers of the timer and of a send that failed; others have the number of their connection.
const OVER: u64 = u64::MAX;
const SEND: u64 = u64::MAX - 1;

/// Sends and receives for some time; the number of whole answers.
pub fn run(peers: &Peers, time: Duration) -> Result<u64> {
    let entries = (peers.sockets.len() as u32 * 2 + 1).next_power_of_two();
    let mut ring: IoUring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_cqsize(COMPLETIONS.max(entries * 2))
        .build(entries)?;
    let mut buffers = RingBuffers::new(&ring.submitter())?;
    let timer = Timespec::from(time);
    let mut work = vec![opcode::Timeout::new(&timer).build().user_data(OVER)];
    for number in 0..peers.sockets.len() {
        work.extend([receive(peers, number), send(peers, number)]);
    }
    let mut left = vec![peers.answer_bytes; peers.sockets.len()];
    let mut operations = 0;
    loop {
        // SAFETY: what entries point to lives until the ring is dropped, at the end of this function.
        unsafe { ring.submission().push_multiple(&work).context("the ring is full")? };
        work.clear();
        match ring.submit_and_wait(1) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            entered => _ = entered?,
        }
        for answer in ring.completion() {
            let (name, result) = (answer.user_data(), answer.result());
            match name {
                OVER => return Ok(operations),
                SEND => bail!("a send ended with {result}"),
                _ => {}
            }
            let number = name as usize;
            if !cqueue::more(answer.flags()) {
                work.push(receive(peers, number));
            }
            if result == -libc::ENOBUFS {
                continue;
            }
            ensure!(result > 0, "receiving ended with {result}");
            buffers.give_back(cqueue::buffer_select(answer.flags()).context("no buffer")?);
            if peers.is_whole(&mut left[number], result as usize)? {
                operations += 1;
                work.push(send(peers, number));
            }
        }
    }
}

fn receive(peers: &Peers, number: usize) -> squeue::Entry {
    let file = Fd(peers.sockets[number].as_raw_fd());
    opcode::RecvMulti::new(file, GROUP).build().user_data(number as u64)
}

/// Answered only when it fails.
fn send(peers: &Peers, number: usize) -> squeue::Entry {
    let (file, request) = (Fd(peers.sockets[number].as_raw_fd()), &peers.request);
    opcode::Send::new(file, request.as_ptr(), request.len() as u32)
        .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
        .build()
        .flags(squeue::Flags::SKIP_SUCCESS)
        .user_data(SEND)
}
