// SPDX-License-Identifier: GPL-2.0-or-later
//! The counters of a scheduler that another process has loaded, asked for at its socket.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::Value;

use crate::error::NotHere;
use crate::schedulers::Scheduler;
use crate::scx_stats::{Request, Response, SOCKET};
use crate::stats::{Stats, line};
use crate::sysfs::State;

/// How long a scheduler may be away that is loaded again, as when a CPU comes or goes.
const ABSENCE: Duration = Duration::from_secs(2);
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Prints what was counted in every interval, until Ctrl-C or until the scheduler is gone.
pub fn follow(scheduler: &Scheduler, every: Duration) -> Result<()> {
    let name = scheduler.name;
    ensure!(
        runs(scheduler)?,
        NotHere(format!("{name} is not running: start it with scx_{name}"))
    );
    let path = Path::new(SOCKET);
    let names: Vec<String> = (scheduler.manifest()?.stats.into_iter())
        .map(|stat| stat.name)
        .collect();
    let mut client = connect(path).map_err(|error| unreachable(name, path, &error))?;
    loop {
        signals::wait(every);
        if signals::caught() {
            return Ok(());
        }
        match client.figures(&names)? {
            Some(stats) => println!("{}", line(&stats)),
            None => match again(path) {
                Some(next) if runs(scheduler)? => client = next,
                _ => return Ok(()),
            },
        }
    }
}

fn runs(scheduler: &Scheduler) -> Result<bool> {
    let state = State::read().map_err(|error| NotHere(format!("{error:#}")))?;
    Ok(state
        .ops
        .strip_prefix(scheduler.name)
        .is_some_and(|rest| rest.starts_with('_')))
}

fn unreachable(name: &str, path: &Path, error: &std::io::Error) -> anyhow::Error {
    let path = path.display();
    NotHere(match error.kind() {
        ErrorKind::PermissionDenied => format!("{name} tells root alone ({path})"),
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
            format!("{name} runs, but not from scx_{name}: nobody answers at {path}")
        }
        _ => format!("{path}: {error}"),
    })
    .into()
}

/// A scheduler that has ended may be on its way back.
fn again(path: &Path) -> Option<Client> {
    let until = Instant::now() + ABSENCE;
    while Instant::now() < until && !signals::caught() {
        if let Ok(client) = connect(path) {
            return Some(client);
        }
        signals::wait(ABSENCE / 20);
    }
    None
}

struct Client(BufReader<UnixStream>);

fn connect(path: &Path) -> std::io::Result<Client> {
    let stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(Client(BufReader::new(stream)))
}

impl Client {
    /// In the order of `names`; `None` where the other end is gone.
    fn figures(&mut self, names: &[String]) -> Result<Option<Stats>> {
        let request = Request {
            req: "stats".to_owned(),
            args: [("target".to_owned(), "top".to_owned())].into(),
        };
        let mut request = serde_json::to_string(&request)?;
        request.push('\n');
        if self.0.get_mut().write_all(request.as_bytes()).is_err() {
            return Ok(None);
        }
        let mut answer = String::new();
        match self.0.read_line(&mut answer) {
            Ok(0) => return Ok(None),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(None),
            Err(_) if signals::caught() => return Ok(None),
            Err(error) => bail!("the scheduler does not answer: {error}"),
        }
        let response: Response =
            serde_json::from_str(&answer).context("the scheduler's answer is none of scx_stats")?;
        let figures = response
            .resp()
            .map_err(|why| anyhow!("the scheduler refuses: {why}"))?;
        let figure = |name: &String| {
            let count = figures.get(name).and_then(Value::as_u64);
            let count =
                count.context("the running scheduler is another build: use its own scx program")?;
            Ok((name.clone(), count))
        };
        names.iter().map(figure).collect::<Result<_>>().map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    /// What a client asks and is told where the other end gives these answers, one for each connection.
    fn told(answers: &'static [&str]) -> (String, Result<Option<Stats>>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stats");
        let listener = UnixListener::bind(&path).unwrap();
        let other_end = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut asked = String::new();
            BufReader::new(&stream).read_line(&mut asked).unwrap();
            for answer in answers {
                (&stream).write_all(answer.as_bytes()).unwrap();
            }
            asked
        });
        let names = ["kicks".to_owned(), "far_picks".to_owned()];
        let told = connect(&path).unwrap().figures(&names);
        (other_end.join().unwrap(), told)
    }

    #[test]
    fn figures_come_in_the_schedulers_order() {
        let answer = "{\"errno\":0,\"args\":{\"resp\":{\"far_picks\":1,\"kicks\":2,\"more\":3}}}\n";
        let (asked, stats) = told(Box::leak(Box::new([answer])));
        assert_eq!(asked, "{\"req\":\"stats\",\"args\":{\"target\":\"top\"}}\n");
        assert_eq!(line(&stats.unwrap().unwrap()), "kicks 2  far_picks 1");
    }

    #[test]
    fn what_else_may_come() {
        assert!(told(&[]).1.unwrap().is_none());
        for (answer, why) in [
            (
                "{\"errno\":0,\"args\":{\"resp\":{\"kicks\":2}}}\n",
                "the running scheduler is another build: use its own scx program",
            ),
            (
                "{\"errno\":22,\"args\":{\"resp\":\"no such target\"}}\n",
                "the scheduler refuses: no such target",
            ),
            (
                "HTTP/1.1 400\n",
                "the scheduler's answer is none of scx_stats",
            ),
        ] {
            let error = told(Box::leak(Box::new([answer]))).1.unwrap_err();
            assert_eq!(error.to_string(), why);
        }
    }

    #[test]
    fn nobody_there_is_told_by_the_reason() {
        let said = |kind: ErrorKind| unreachable("bfs", Path::new("/s"), &kind.into()).to_string();
        assert_eq!(
            said(ErrorKind::PermissionDenied),
            "bfs tells root alone (/s)"
        );
        assert_eq!(
            said(ErrorKind::NotFound),
            "bfs runs, but not from scx_bfs: nobody answers at /s"
        );
    }
}
