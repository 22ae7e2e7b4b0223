//! Work by io_uring: sends are handed over together, received bytes come with the answer. Long
//! answers are read by the task itself, as fast as it wants them and without a copy.
//!
//! The kernel holds a socket as long as it does something for it, so a closed source stays until
//! that has ended.

use std::cell::RefCell;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::task::Poll;

use io_uring::types::{CancelBuilder, Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use rustix::io::Errno;

use crate::RuntimeError;
use crate::input::{BUFFER_BYTES, Buffers, Input};
use crate::slab::Slab;

use super::buffer_ring::{BufferRing, GROUP, RING_BUFFER_BYTES};
use super::{SourceId, TaskId};

/// Pieces of work handed over at a time, and answers that have room before the kernel keeps them
/// itself.
const SUBMISSIONS: u32 = 1024;
const COMPLETIONS: u32 = 4096;
/// Reads of an answer from which on it is a long one, and one more.
const LONG_READS: u32 = 3;
/// Bytes sent at a time; larger messages are sent in parts.
const SEND_BYTES_MAX: usize = 256 * 1024;
/// Memory for what is being sent; longer messages make it grow.
const SENDING_BYTES: usize = 1024;

/// What an answer is about; with the source's number it makes the answer's name.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
enum Work {
    Receive,
    Send,
    Events,
    Cancel,
}

impl Work {
    const ALL: [Self; 4] = [Self::Receive, Self::Send, Self::Events, Self::Cancel];

    fn name(self, source: SourceId) -> u64 {
        (source as u64) * Self::ALL.len() as u64 + self as u64
    }

    fn of(name: u64) -> (Self, SourceId) {
        let kinds = Self::ALL.len() as u64;
        (Self::ALL[(name % kinds) as usize], (name / kinds) as SourceId)
    }
}

/// A send of a source.
///
/// | state | the kernel | ends by |
/// |---|---|---|
/// | `None` | has nothing | |
/// | `AtOnce` | sends now what the socket takes, and answers only if that is not everything | the call that hands it over |
/// | `InParts` | sends the rest as the peer reads | an answer |
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Sending {
    #[default]
    None,
    AtOnce,
    InParts,
}

#[derive(Default)]
struct Source {
    file: RawFd,
    task: Option<TaskId>,
    received: Vec<u8>,
    send: Sending,
    /// What the kernel is sending.
    sending: Vec<u8>,
    /// Work that the kernel has and has not ended.
    under_way: u32,
    is_receiving: bool,
    is_waiting_for_events: bool,
    has_events: bool,
    is_cancelled: bool,
    /// Where so much comes that the task had better read it: one more than the reads since it
    /// last waited.
    long_reads: u32,
    /// Whether the last of these emptied the socket.
    is_drained: bool,
    /// Whether the task waits until it can send again.
    wants_to_send: bool,
    /// Whether the peer sends no more.
    is_ended: bool,
    /// Why nothing more can be received, or sent. A peer that has closed may have said why before:
    /// what it sent is still received after sending has failed.
    receive_error: Option<Errno>,
    send_error: Option<Errno>,
    /// The file of a source that nobody uses any more.
    closed: Option<OwnedFd>,
}

pub struct Uring(RefCell<State>);

/// In the order in which it is dropped: the kernel is to be done with the memory before it goes.
struct State {
    ring: IoUring,
    memory: BufferRing,
    sources: Slab<Source>,
    /// Whose sends are `AtOnce`.
    handed_over: Vec<SourceId>,
    /// Whether somebody waits for one of these to end.
    is_awaited: bool,
    sending: Buffers,
}

impl Uring {
    pub fn new() -> Result<Self, RuntimeError> {
        let os = |call| move |error: std::io::Error| RuntimeError::Os { call, source: error };
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_cqsize(COMPLETIONS)
            .build(SUBMISSIONS)
            .map_err(os("io_uring_setup"))?;
        let memory = BufferRing::new(&ring.submitter())
            .map_err(RuntimeError::os("IORING_REGISTER_PBUF_RING"))?;
        Ok(Self(RefCell::new(State {
            ring,
            memory,
            sources: Slab::new(),
            handed_over: Vec::new(),
            is_awaited: false,
            sending: Buffers::new(SENDING_BYTES),
        })))
    }

    pub fn add(&self, file: BorrowedFd<'_>) -> SourceId {
        let source = Source { file: file.as_raw_fd(), ..Source::default() };
        self.0.borrow_mut().sources.insert(source)
    }

    pub fn close(&self, source: SourceId, file: OwnedFd) {
        let mut state = self.0.borrow_mut();
        if let Some(known) = state.sources.get_mut(source) {
            known.closed = Some(file);
            known.task = None;
            state.is_awaited |= known.send == Sending::AtOnce;
            state.end(source);
        }
    }

    pub fn poll_events(
        &self,
        id: SourceId,
        file: BorrowedFd<'_>,
        events: libc::c_short,
        task: TaskId,
    ) -> Poll<()> {
        let mut state = self.0.borrow_mut();
        let Some(source) = state.sources.get_mut(id) else { return Poll::Pending };
        source.task = Some(task);
        if std::mem::take(&mut source.has_events) {
            return Poll::Ready(());
        }
        if !source.is_waiting_for_events {
            state.wait_for(id, file, events);
        }
        Poll::Pending
    }

    pub fn poll_read(
        &self,
        id: SourceId,
        file: BorrowedFd<'_>,
        input: &mut Input,
        buffers: &Buffers,
        task: TaskId,
    ) -> Poll<Result<usize, Errno>> {
        let mut borrowed = self.0.borrow_mut();
        let state = &mut *borrowed;
        let Some(source) = state.sources.get_mut(id) else { return Poll::Pending };
        source.task = Some(task);
        if !source.received.is_empty() {
            let bytes = source.received.len();
            input.take(std::mem::take(&mut source.received), buffers);
            return Poll::Ready(Ok(bytes));
        }
        if source.is_ended {
            return Poll::Ready(Ok(0));
        }
        if let Some(errno) = source.receive_error {
            return Poll::Ready(Err(errno));
        }
        if source.is_receiving || source.is_waiting_for_events {
            return Poll::Pending;
        }
        if source.long_reads > 0 {
            if !source.is_drained {
                let buffer = input.with_room(buffers);
                let room = buffer.capacity() - buffer.len();
                match read(file, buffer) {
                    Err(Errno::AGAIN) => {}
                    Ok(bytes) => {
                        source.long_reads += 1;
                        source.is_drained = bytes > 0 && bytes < room;
                        return Poll::Ready(Ok(bytes));
                    }
                    failed => return Poll::Ready(failed),
                }
            }
            if input.bytes().is_empty() {
                input.release(buffers);
            }
            source.is_drained = false;
            // What came in one read is not long: such answers are cheaper with the others.
            let is_long = source.long_reads >= LONG_READS;
            source.long_reads = u32::from(is_long);
            if is_long {
                state.wait_for(id, file, libc::POLLIN);
                return Poll::Pending;
            }
        }
        source.is_receiving = true;
        let entry = opcode::RecvMulti::new(Fd(file.as_raw_fd()), GROUP).build();
        state.push(id, Work::Receive, entry);
        Poll::Pending
    }

    pub fn poll_send(
        &self,
        id: SourceId,
        bytes: &[u8],
        task: TaskId,
    ) -> Poll<Result<usize, Errno>> {
        let mut borrowed = self.0.borrow_mut();
        let state = &mut *borrowed;
        let Some(source) = state.sources.get_mut(id) else { return Poll::Pending };
        if let Some(errno) = source.send_error {
            return Poll::Ready(Err(errno));
        }
        if source.send != Sending::None {
            source.task = Some(task);
            source.wants_to_send = true;
            state.is_awaited |= source.send == Sending::AtOnce;
            return Poll::Pending;
        }
        let taken = bytes.len().min(SEND_BYTES_MAX);
        source.sending = state.sending.lend();
        source.sending.extend_from_slice(&bytes[..taken]);
        source.send = Sending::AtOnce;
        // A send that took everything, as nearly all do, is not answered: answers to sends would end
        // the wait for what comes. One that may not wait has ended when its call has.
        let entry = send(source.file, &source.sending, libc::MSG_DONTWAIT)
            .flags(squeue::Flags::SKIP_SUCCESS);
        state.push(id, Work::Send, entry);
        state.handed_over.push(id);
        Poll::Ready(Ok(taken))
    }

    pub fn wait(
        &self,
        sleep_ns: u64,
        buffers: &Buffers,
        ready: &mut Vec<TaskId>,
    ) -> Result<bool, Errno> {
        let mut state = self.0.borrow_mut();
        let sleep_ns = if state.is_awaited { 0 } else { sleep_ns };
        state.enter(sleep_ns)?;
        let is_taken = state.has_kernel_everything();
        let has_news = state.take_answers(buffers, ready);
        if is_taken {
            state.end_sends(ready);
        }
        Ok(has_news)
    }

    pub fn flush(&self) {
        // What the kernel does not take now it takes when it is asked next, or says why.
        let _ = self.0.borrow_mut().ring.submit();
    }

    /// Ends whatever is under way; sources that nobody uses any more are closed.
    pub fn finish(&self) {
        let mut state = self.0.borrow_mut();
        state.cancel_all();
        state.take_answers(&Buffers::new(BUFFER_BYTES), &mut Vec::new());
        state.end_sends(&mut Vec::new());
    }
}

impl State {
    fn push(&mut self, id: SourceId, work: Work, entry: squeue::Entry) {
        let entry = entry.user_data(work.name(id));
        // SAFETY: memory that an entry points to belongs to a source, which stays until the answer
        // has come, and the file to the source's owner or to the source itself.
        while unsafe { self.ring.submission().push(&entry) }.is_err() {
            // Full: the kernel takes what there is, sooner or later.
            let _ = self.ring.submit();
        }
        if let Some(source) = self.sources.get_mut(id) {
            source.under_way += 1;
        }
    }

    fn wait_for(&mut self, id: SourceId, file: BorrowedFd<'_>, events: libc::c_short) {
        if let Some(source) = self.sources.get_mut(id) {
            source.is_waiting_for_events = true;
        }
        let entry = opcode::PollAdd::new(Fd(file.as_raw_fd()), events as u32).build();
        self.push(id, Work::Events, entry);
    }

    /// Hands over what there is to do and waits for an answer, for a time.
    fn enter(&mut self, sleep_ns: u64) -> Result<(), Errno> {
        let waiting = Timespec::new().nsec(sleep_ns as u32);
        let arguments = SubmitArgs::new().timespec(&waiting);
        let wanted = u32::from(sleep_ns > 0);
        let flags = ENTER_GETEVENTS | ENTER_EXT_ARG;
        let count = self.ring.submission().len() as u32;
        // Asked for answers even if none are waited for: deferred work is done only then.
        // SAFETY: the arguments live as long as the call.
        let entered =
            unsafe { self.ring.submitter().enter(count, wanted, flags, Some(&arguments)) };
        match entered.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::INVAL)) {
            // The time is over, or answers are to be taken first.
            Ok(_) | Err(Errno::TIME | Errno::BUSY | Errno::AGAIN) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// Whether no work waits to be handed over, and no answer has found the ring full.
    fn has_kernel_everything(&mut self) -> bool {
        let submission = self.ring.submission();
        submission.is_empty() && !submission.cq_overflow()
    }

    /// Ends the sends that the kernel was given and did not answer: it has taken them.
    fn end_sends(&mut self, ready: &mut Vec<TaskId>) {
        self.is_awaited = false;
        let mut handed_over = std::mem::take(&mut self.handed_over);
        for id in handed_over.drain(..) {
            let Some(source) = self.sources.get_mut(id) else { continue };
            if source.send == Sending::AtOnce {
                self.sent(id);
                self.wake(id, Work::Send, ready);
                self.ended(id);
            }
        }
        self.handed_over = handed_over;
    }

    fn take_answers(&mut self, buffers: &Buffers, ready: &mut Vec<TaskId>) -> bool {
        let mut has_any = false;
        while let Some(answer) = self.next_answer() {
            has_any = true;
            let (work, id) = Work::of(answer.user_data());
            if work == Work::Cancel {
                self.ended(id);
                continue;
            }
            let is_last = !cqueue::more(answer.flags());
            match work {
                Work::Receive => self.received(id, &answer, is_last, buffers),
                Work::Send => self.send_answered(id, answer.result()),
                _ => {
                    let Some(source) = self.sources.get_mut(id) else { continue };
                    source.is_waiting_for_events = false;
                    source.has_events = true;
                }
            }
            self.wake(id, work, ready);
            if is_last {
                self.ended(id);
            }
        }
        has_any
    }

    fn next_answer(&mut self) -> Option<cqueue::Entry> {
        self.ring.completion().next()
    }

    fn wake(&mut self, id: SourceId, work: Work, ready: &mut Vec<TaskId>) {
        let Some(source) = self.sources.get_mut(id) else { return };
        // Nobody waits for a send, unless there is more to send, or it failed.
        let is_news = work != Work::Send || source.wants_to_send || source.send_error.is_some();
        if is_news {
            source.wants_to_send = false;
            ready.extend(source.task);
        }
    }

    fn received(&mut self, id: SourceId, answer: &cqueue::Entry, is_last: bool, buffers: &Buffers) {
        let Some(source) = self.sources.get_mut(id) else { return };
        source.is_receiving = !is_last;
        match answer.result() {
            0 => source.is_ended = true,
            result if result > 0 => {
                let Some(number) = cqueue::buffer_select(answer.flags()) else { return };
                if source.closed.is_none() {
                    if source.received.capacity() == 0 {
                        source.received = buffers.lend();
                    }
                    source.received.extend_from_slice(self.memory.bytes(number, result as usize));
                }
                self.memory.give_back(number);
                if result as usize == RING_BUFFER_BYTES {
                    source.long_reads = LONG_READS;
                    self.cancel(id);
                }
            }
            result => match Errno::from_raw_os_error(-result) {
                // No buffer was free just then, or the task reads: asked again when it is wanted.
                Errno::NOBUFS | Errno::CANCELED | Errno::INTR | Errno::AGAIN => {}
                errno => source.receive_error = Some(errno),
            },
        }
        if is_last && let Some(source) = self.sources.get_mut(id) {
            source.is_cancelled = false;
        }
    }

    /// A send that was not through at once goes on; one that failed is noted.
    fn send_answered(&mut self, id: SourceId, result: i32) {
        let Some(source) = self.sources.get_mut(id) else { return };
        let is_first = source.send == Sending::AtOnce;
        match sent_bytes(result) {
            Err(Errno::AGAIN) if is_first => self.send_in_parts(id, 0),
            Ok(bytes) if is_first && bytes < source.sending.len() => self.send_in_parts(id, bytes),
            Ok(bytes) => {
                let is_whole = bytes == source.sending.len();
                source.send_error = (!is_whole).then_some(Errno::PIPE);
                self.sent(id);
            }
            Err(errno) => {
                source.send_error = Some(errno);
                self.sent(id);
            }
        }
    }

    fn send_in_parts(&mut self, id: SourceId, sent: usize) {
        let Some(source) = self.sources.get_mut(id) else { return };
        source.sending.drain(..sent);
        source.send = Sending::InParts;
        // All of it or an error: the kernel goes on by itself when there is room.
        let entry = send(source.file, &source.sending, 0);
        self.push(id, Work::Send, entry);
    }

    fn sent(&mut self, id: SourceId) {
        let Some(source) = self.sources.get_mut(id) else { return };
        source.send = Sending::None;
        self.sending.give_back(std::mem::take(&mut source.sending));
    }

    /// Ends the receiving, which otherwise goes on.
    fn cancel(&mut self, id: SourceId) {
        let Some(source) = self.sources.get_mut(id) else { return };
        if source.is_cancelled {
            return;
        }
        source.is_cancelled = true;
        let work = if source.is_receiving { Work::Receive } else { Work::Events };
        let entry = opcode::AsyncCancel::new(work.name(id)).build();
        self.push(id, Work::Cancel, entry);
    }

    fn cancel_all(&mut self) {
        let _ = self.ring.submit();
        // Refused when nothing is under way.
        let _ = self.ring.submitter().register_sync_cancel(None, CancelBuilder::any());
    }

    /// One piece of a source's work is done.
    fn ended(&mut self, id: SourceId) {
        let Some(source) = self.sources.get_mut(id) else { return };
        source.under_way -= 1;
        if source.closed.is_some() {
            self.end(id);
        }
    }

    /// Goes on with closing: what is being sent first, then what would never end by itself.
    fn end(&mut self, id: SourceId) {
        let Some(source) = self.sources.get_mut(id) else { return };
        if source.under_way == 0 {
            self.sources.remove(id);
        } else if source.send == Sending::None
            && (source.is_receiving || source.is_waiting_for_events)
        {
            self.cancel(id);
        }
    }
}

/// All bytes are sent or it fails, and says how many were.
fn send(file: RawFd, bytes: &[u8], more_flags: libc::c_int) -> squeue::Entry {
    let flags = libc::MSG_NOSIGNAL | libc::MSG_WAITALL | more_flags;
    opcode::Send::new(Fd(file), bytes.as_ptr(), bytes.len() as u32).flags(flags).build()
}

fn sent_bytes(result: i32) -> Result<usize, Errno> {
    usize::try_from(result).map_err(|_| Errno::from_raw_os_error(-result))
}

fn read(file: BorrowedFd<'_>, buffer: &mut Vec<u8>) -> Result<usize, Errno> {
    loop {
        match rustix::io::read(file, rustix::buffer::spare_capacity(buffer)) {
            Err(Errno::INTR) => {}
            read => return read,
        }
    }
}

/// As linux/io_uring.h has them.
const ENTER_GETEVENTS: u32 = 1;
const ENTER_EXT_ARG: u32 = 1 << 3;

impl Drop for State {
    /// Ends all work, so that the kernel does not touch memory that is gone.
    fn drop(&mut self) {
        self.cancel_all();
    }
}
