// SPDX-License-Identifier: GPL-2.0-or-later
//! Queues as pipes, socket pairs and loopback connections.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use anyhow::{Context, Result, ensure};

use workload::plan::{Plan, QueueKind};

pub struct Channel {
    reader: OwnedFd,
    writer: OwnedFd,
}

impl Channel {
    /// The other direction of the same connection.
    fn back(&self) -> io::Result<Self> {
        Ok(Self {
            reader: self.writer.try_clone()?,
            writer: self.reader.try_clone()?,
        })
    }
}

/// All queues, by array and index.
pub struct Channels {
    arrays: Vec<Vec<Channel>>,
    limit: Option<libc::rlimit>,
}

/// Files that the process has open beside the queues, generously.
const OTHER_FILES: u64 = 64;

impl Channels {
    pub fn open(plan: &Plan) -> Result<Self> {
        let queues: u64 = plan.queues.iter().map(|queue| u64::from(queue.count)).sum();
        let limit = raise_limit(2 * queues + OTHER_FILES)?;
        let mut channels = Self {
            arrays: Vec::new(),
            limit,
        };
        for queue in &plan.queues {
            let open =
                |_| open(queue.kind).with_context(|| format!("cannot open queue {}", queue.name));
            let array = match queue.back_of {
                None => (0..queue.count).map(open).collect::<Result<_>>()?,
                Some(there) => channels.arrays[there as usize]
                    .iter()
                    .map(Channel::back)
                    .collect::<io::Result<_>>()
                    .with_context(|| format!("cannot open queue {}", queue.name))?,
            };
            channels.arrays.push(array);
        }
        Ok(channels)
    }

    /// Reader and writer of every queue, for a new program image.
    pub fn numbers(&self) -> Vec<Vec<(RawFd, RawFd)>> {
        let pair = |channel: &Channel| (channel.reader.as_raw_fd(), channel.writer.as_raw_fd());
        self.arrays
            .iter()
            .map(|array| array.iter().map(pair).collect())
            .collect()
    }

    /// The queues of these numbers.
    ///
    /// # Safety
    ///
    /// The descriptors are open, and nobody else closes them.
    pub unsafe fn from_numbers(numbers: &[Vec<(RawFd, RawFd)>]) -> Self {
        let channel = |&(reader, writer): &(RawFd, RawFd)| {
            // SAFETY: as the caller promised.
            let [reader, writer] = [reader, writer].map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
            Channel { reader, writer }
        };
        let arrays = numbers
            .iter()
            .map(|array| array.iter().map(channel).collect())
            .collect();
        Self {
            arrays,
            limit: None,
        }
    }

    pub fn reader(&self, array: usize, index: usize) -> RawFd {
        self.arrays[array][index].reader.as_raw_fd()
    }

    pub fn writer(&self, array: usize, index: usize) -> RawFd {
        self.arrays[array][index].writer.as_raw_fd()
    }
}

impl Drop for Channels {
    fn drop(&mut self) {
        self.arrays.clear();
        if let Some(limit) = self.limit {
            // SAFETY: reads a local.
            unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
        }
    }
}

fn open(kind: QueueKind) -> io::Result<Channel> {
    Ok(match kind {
        QueueKind::Pipe => {
            let (reader, writer) = io::pipe()?;
            Channel {
                reader: reader.into(),
                writer: writer.into(),
            }
        }
        QueueKind::Socket => {
            let (reader, writer) = UnixStream::pair()?;
            Channel {
                reader: reader.into(),
                writer: writer.into(),
            }
        }
        QueueKind::Tcp => {
            let listener = TcpListener::bind(("127.0.0.1", 0))?;
            let writer = TcpStream::connect(listener.local_addr()?)?;
            let (reader, _) = listener.accept()?;
            // A message is sent when it is written, not when more come.
            writer.set_nodelay(true)?;
            reader.set_nodelay(true)?;
            Channel {
                reader: reader.into(),
                writer: writer.into(),
            }
        }
    })
}

/// Lets the process open so many files; returns the limit to put back.
fn raise_limit(files: u64) -> Result<Option<libc::rlimit>> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: writes to a local.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    if limit.rlim_cur >= files {
        return Ok(None);
    }
    let most = limit.rlim_max;
    ensure!(
        most >= files,
        "the queues need {files} open files, but ulimit -Hn allows {most}"
    );
    let raised = libc::rlimit {
        rlim_cur: files,
        rlim_max: limit.rlim_max,
    };
    // SAFETY: reads a local.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const raised) };
    Ok(Some(limit))
}
