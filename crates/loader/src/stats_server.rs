// SPDX-License-Identifier: GPL-2.0-or-later
//! A scheduler's statistics on a socket ([`crate::scx_stats`]), for as long as it runs.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::scx_stats::Conversation;
use crate::stats::Counters;

/// Bytes of a request. Who sends more without an end of line is cut off.
const LONGEST: u64 = 64 << 10;

/// Dropped, nobody is answered any more, and the socket is gone.
pub struct Server {
    path: PathBuf,
    inode: u64,
    listener: Arc<UnixListener>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// There is one scheduler in the kernel, and it is the caller's: a socket that lies there is left over.
    pub fn start(path: &Path, meta: Value, counters: Counters) -> Result<Self> {
        let cannot = || format!("cannot listen on {}", path.display());
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).with_context(cannot)?;
        }
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).with_context(cannot);
            }
            _ => {}
        }
        let listener = Arc::new(UnixListener::bind(path).with_context(cannot)?);
        let inode = std::fs::metadata(path).with_context(cannot)?.ino();
        let accepting = Arc::clone(&listener);
        let thread = std::thread::spawn(move || listen(&accepting, &Arc::new(meta), &counters));
        Ok(Self {
            path: path.to_owned(),
            inode,
            listener,
            thread: Some(thread),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The kernel may have thrown our scheduler out, and another one may listen there by now.
        if std::fs::metadata(&self.path).is_ok_and(|there| there.ino() == self.inode) {
            let _ = std::fs::remove_file(&self.path);
        }
        // SAFETY: the descriptor is open. Its accept() ends with an error.
        unsafe { libc::shutdown(self.listener.as_raw_fd(), libc::SHUT_RDWR) };
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn listen(listener: &UnixListener, meta: &Arc<Value>, counters: &Counters) {
    signals::left_to_others();
    while let Ok((stream, _)) = listener.accept() {
        let (meta, counters) = (Arc::clone(meta), counters.clone());
        std::thread::spawn(move || {
            // Who goes in the middle of an answer wants none.
            let _ = serve(&stream, &meta, &counters);
        });
    }
}

fn serve(stream: &UnixStream, meta: &Value, counters: &Counters) -> std::io::Result<()> {
    let Some(now) = counters.read() else {
        return Ok(());
    };
    let mut conversation = Conversation::new(meta, now);
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        reader.by_ref().take(LONGEST).read_until(b'\n', &mut line)?;
        let whole = line.ends_with(b"\n");
        if !whole {
            return Ok(());
        }
        let Some(now) = counters.read() else {
            return Ok(());
        };
        let answer = conversation.answer(&String::from_utf8_lossy(&line), now);
        (&*stream).write_all(answer.as_bytes())?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{Counter, STRIDE};
    use policy::topology::MAX_CPUS;
    use serde_json::json;
    use std::ptr::NonNull;

    /// A counter as a policy's is, which the test counts up.
    struct Counted {
        memory: Box<[u64]>,
        counters: Counters,
    }

    impl Counted {
        fn new() -> Self {
            let mut memory = vec![0; MAX_CPUS * STRIDE / 8].into_boxed_slice();
            let first = NonNull::from(&mut memory[0]);
            let name = "kicks".to_owned();
            // SAFETY: the memory is dropped after whoever reads it.
            let counters = unsafe { Counters::new(vec![Counter { name, first }]) };
            Self { memory, counters }
        }

        fn count(&mut self, more: u64) {
            let cell = &raw mut self.memory[0];
            // SAFETY: ours; the server reads it meanwhile, as it reads a policy's.
            unsafe { cell.write_volatile(cell.read_volatile() + more) };
        }

        fn serve(&self, path: &Path) -> Server {
            let meta = json!({"Metrics": {"top": "true"}});
            Server::start(path, meta, self.counters.clone()).unwrap()
        }
    }

    impl Drop for Counted {
        fn drop(&mut self) {
            self.counters.close();
        }
    }

    /// A client that knows of the protocol only what scx publishes: lines of JSON.
    struct Client(BufReader<UnixStream>);

    impl Client {
        fn connect(path: &Path) -> Self {
            Self(BufReader::new(UnixStream::connect(path).unwrap()))
        }

        fn say(&mut self, bytes: &[u8]) -> String {
            self.0.get_mut().write_all(bytes).unwrap();
            let mut line = String::new();
            let _ = self.0.read_line(&mut line);
            line
        }

        fn kicks(&mut self) -> u64 {
            let answer: Value = serde_json::from_str(&self.say(b"{\"req\":\"stats\"}\n")).unwrap();
            assert_eq!(answer["errno"], 0);
            answer["args"]["resp"]["kicks"].as_u64().unwrap()
        }
    }

    #[test]
    fn every_client_is_told_what_was_counted_since_it_asked_last() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("root/stats");
        let mut counted = Counted::new();
        let _server = counted.serve(&path);
        let mut early = Client::connect(&path);
        assert_eq!(early.kicks(), 0);
        counted.count(5);
        let mut late = Client::connect(&path);
        assert_eq!(late.kicks(), 0);
        counted.count(2);
        assert_eq!((early.kicks(), late.kicks()), (7, 2));
        assert_eq!((early.kicks(), late.kicks()), (0, 0));
        assert_eq!(
            early.say(b"{\"req\":\"stats_meta\",\"args\":{}}\n"),
            "{\"errno\":0,\"args\":{\"resp\":{\"Metrics\":{\"top\":\"true\"}}}}\n"
        );
    }

    #[test]
    fn bad_clients_hurt_nobody_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stats");
        let mut counted = Counted::new();
        let _server = counted.serve(&path);
        let mut good = Client::connect(&path);
        assert_eq!(good.kicks(), 0);
        drop(UnixStream::connect(&path).unwrap());
        let mut endless = Client::connect(&path);
        assert_eq!(endless.say(&vec![b'x'; LONGEST as usize]), "", "cut off");
        let mut odd = Client::connect(&path);
        assert!(odd.say(b"\xff\n").starts_with("{\"errno\":22,"));
        counted.count(1);
        assert_eq!((good.kicks(), odd.kicks()), (1, 1));
    }

    #[test]
    fn the_socket_goes_with_the_scheduler_and_a_left_over_one_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stats");
        drop(UnixListener::bind(&path).unwrap()); // whoever was killed leaves it behind
        let mut counted = Counted::new();
        let server = counted.serve(&path);
        let mut client = Client::connect(&path);
        counted.count(1);
        drop(server);
        assert!(!path.exists());
        counted.counters.close();
        assert_eq!(
            client.say(b"{\"req\":\"stats\"}\n"),
            "",
            "an end, no figures"
        );
    }

    #[test]
    fn another_ones_socket_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stats");
        let (counted, next) = (Counted::new(), Counted::new());
        let thrown_out = counted.serve(&path);
        let _next = next.serve(&path);
        drop(thrown_out);
        assert_eq!(Client::connect(&path).kicks(), 0);
    }

    #[test]
    fn what_cannot_listen_says_where() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file/stats");
        std::fs::write(folder.path().join("file"), "").unwrap();
        let error = Server::start(&path, json!({}), Counted::new().counters.clone()).err();
        let said = format!("{:#}", error.unwrap());
        assert!(
            said.starts_with(&format!("cannot listen on {}: ", path.display())),
            "{said}"
        );
    }
}
