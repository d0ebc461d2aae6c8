// SPDX-License-Identifier: GPL-2.0-or-later
//! Messages through a queue's file descriptor. A stamp travels in the first eight bytes.

use std::os::fd::RawFd;

use super::fault::{Fault, Kind};

const STAMP_BYTES: usize = size_of::<u64>();

/// Sends all of a message; blocks while the queue is full.
pub fn send(fd: RawFd, message: &mut [u8], stamp_ns: Option<u64>) -> Result<(), Fault> {
    if let Some(stamp_ns) = stamp_ns {
        message[..STAMP_BYTES].copy_from_slice(&stamp_ns.to_le_bytes());
    }
    let mut sent = 0;
    while sent < message.len() {
        let rest = &message[sent..];
        // SAFETY: reads a slice that lives here.
        match unsafe { libc::write(fd, rest.as_ptr().cast(), rest.len()) } {
            count @ 0.. => sent += count as usize,
            _ => Fault::unless_interrupted(Kind::Send)?,
        }
    }
    Ok(())
}

/// Receives all of a message; blocks while there is none.
pub fn receive(fd: RawFd, message: &mut [u8]) -> Result<(), Fault> {
    let mut received = 0;
    while received < message.len() {
        let rest = &mut message[received..];
        // SAFETY: writes to a slice that lives here.
        match unsafe { libc::read(fd, rest.as_mut_ptr().cast(), rest.len()) } {
            0 => {
                return Err(Fault {
                    kind: Kind::Receive,
                    errno: libc::EPIPE,
                    value: 0,
                });
            }
            count @ 1.. => received += count as usize,
            _ => Fault::unless_interrupted(Kind::Receive)?,
        }
    }
    Ok(())
}

pub fn stamp_ns(message: &[u8]) -> u64 {
    message
        .first_chunk::<STAMP_BYTES>()
        .map_or(0, |stamp| u64::from_le_bytes(*stamp))
}

/// Blocks until one of the descriptors can be read from, and says the first that can.
pub fn poll(fds: impl Iterator<Item = RawFd>) -> Result<u32, Fault> {
    let mut ready: Vec<libc::pollfd> = fds
        .map(|fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    // SAFETY: reads and writes a vector of that length.
    while unsafe { libc::poll(ready.as_mut_ptr(), ready.len() as libc::nfds_t, -1) } < 0 {
        Fault::unless_interrupted(Kind::Poll)?;
    }
    let first = ready.iter().position(|entry| entry.revents != 0);
    Ok(first.unwrap_or(0) as u32)
}
