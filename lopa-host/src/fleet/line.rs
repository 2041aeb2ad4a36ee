//! One end of a line: a thread that reads frames from it, and one that writes them.
//!
//! What a line does not take in time is dropped, as a wire would: nodes send it again.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread::{self, JoinHandle};

use super::port::{BREATH, Stream, idle};

/// Longer than any message of a node.
pub(super) const LONGEST: usize = 4_096;
/// Frames that wait for a line.
pub(super) const WAITING: usize = 64;

/// A line in use. It is let go of when it is dropped.
#[derive(Debug)]
pub(super) struct Line {
    outbox: SyncSender<Vec<u8>>,
    closed: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Line {
    /// Starts both threads; `take` receives every frame, with its final zero.
    pub(super) fn carry(stream: Stream, take: impl FnMut(&[u8]) + Send + 'static) -> Self {
        let (outbox, waiting) = mpsc::sync_channel(WAITING);
        let closed = Arc::new(AtomicBool::new(false));
        let Stream { reader, writer } = stream;
        let (reads, writes) = (Arc::clone(&closed), Arc::clone(&closed));
        let threads = vec![
            thread::spawn(move || read(reader, &reads, take)),
            thread::spawn(move || write(writer, &writes, &waiting)),
        ];
        Self { outbox, closed, threads }
    }

    /// Where frames wait to be written.
    pub(super) const fn outbox(&self) -> &SyncSender<Vec<u8>> {
        &self.outbox
    }

    /// Becomes true when the line is closed, at whichever end.
    pub(super) const fn closed(&self) -> &Arc<AtomicBool> {
        &self.closed
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Relaxed);
        // A thread that panicked has said so.
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// Cuts what comes into frames, each with its final zero, until the line is closed.
fn read(mut reader: Box<dyn Read + Send>, closed: &AtomicBool, mut take: impl FnMut(&[u8])) {
    let mut bytes = [0; 1_024];
    let mut frame = Vec::new();
    while !closed.load(Ordering::Relaxed) {
        let len = match reader.read(&mut bytes) {
            Ok(0) => break,
            Ok(len) => len,
            Err(error) if idle(&error) => continue,
            Err(_) => break,
        };
        for &byte in &bytes[..len] {
            frame.push(byte);
            if byte == 0 {
                take(&frame);
                frame.clear();
            } else if frame.len() > 2 * LONGEST {
                // No frame is that long. What follows is the rest of something, and is found to be damaged.
                frame.clear();
            }
        }
    }
    closed.store(true, Ordering::Relaxed);
}

/// Writes what waits, until the line is closed.
fn write(mut writer: Box<dyn Write + Send>, closed: &AtomicBool, waiting: &Receiver<Vec<u8>>) {
    while !closed.load(Ordering::Relaxed) {
        let frame = match waiting.recv_timeout(BREATH) {
            Ok(frame) => frame,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let mut rest = &frame[..];
        while !rest.is_empty() && !closed.load(Ordering::Relaxed) {
            match writer.write(rest) {
                Ok(0) => closed.store(true, Ordering::Relaxed),
                Ok(len) => rest = &rest[len..],
                Err(error) if idle(&error) => {}
                Err(_) => closed.store(true, Ordering::Relaxed),
            }
        }
        let _ = writer.flush();
    }
}
