// SPDX-License-Identifier: GPL-2.0-or-later
//! The protocol by which tools of scx read a scheduler's statistics, as the crate `scx_stats` defines it.
//!
//! A request and its answer are a line of JSON each, over a Unix socket: `{"req":"stats","args":{"target":"top"}}`, where
//! `args` may be left out, and `{"errno":0,"args":{"resp":…}}`. `stats` gives the figures since the same connection's last
//! `stats`, `stats_meta` what they are. Any other request is answered by `EINVAL`, with the reason in place of the figures.
//! The crate itself wants figures that are known when it is compiled, and a newer compiler than this project does.

use std::collections::BTreeMap;
use std::fmt::Write;

use policy::Manifest;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::stats::{Stats, since};

/// Where scx's schedulers listen, and its tools look unless they are told otherwise.
pub const SOCKET: &str = "/var/run/scx/root/stats";

/// The name of scx's schedulers for what holds their figures.
const STRUCT: &str = "Metrics";
/// The figures that a request gets which names no others; there are no others.
const TOP: &str = "top";

#[derive(Serialize, Deserialize)]
pub struct Request {
    pub req: String,
    #[serde(default)]
    pub args: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
pub struct Response {
    pub errno: i32,
    pub args: BTreeMap<String, Value>,
}

impl Response {
    fn new(errno: i32, resp: Value) -> Self {
        Self {
            errno,
            args: [("resp".to_owned(), resp)].into(),
        }
    }

    /// The figures, or why there are none.
    pub fn resp(mut self) -> Result<Value, String> {
        let resp = self.args.remove("resp").unwrap_or_default();
        match (self.errno, resp) {
            (0, resp) => Ok(resp),
            (_, Value::String(why)) => Err(why),
            (errno, other) => Err(format!("errno {errno}: {other}")),
        }
    }
}

/// One connection: its answers depend on what it has been told before.
pub struct Conversation<'meta> {
    meta: &'meta Value,
    last: Stats,
}

impl<'meta> Conversation<'meta> {
    /// `now` is what has been counted when the connection is made.
    pub fn new(meta: &'meta Value, now: Stats) -> Self {
        Self { meta, last: now }
    }

    /// The answer to a line, as a line. `now` has all that has been counted.
    pub fn answer(&mut self, request: &str, now: Stats) -> String {
        let response = match self.figures(request, now) {
            Ok(resp) => Response::new(0, resp),
            Err(why) => Response::new(libc::EINVAL, json!(why)),
        };
        let mut line = serde_json::to_string(&response).expect("names, numbers and strings");
        line.push('\n');
        line
    }

    fn figures(&mut self, request: &str, now: Stats) -> Result<Value, String> {
        let request: Request = serde_json::from_str(request)
            .map_err(|error| format!("expected {{\"req\":NAME,\"args\":{{…}}}}: {error}"))?;
        match request.req.as_str() {
            "stats_meta" => Ok(self.meta.clone()),
            "stats" => {
                let target = request.args.get("target").map_or(TOP, String::as_str);
                if target != TOP {
                    return Err(format!("unknown target '{target}': expected {TOP}"));
                }
                let counted = since(&self.last, &now);
                self.last = now;
                Ok(counted
                    .into_iter()
                    .map(|(name, count)| (name, json!(count)))
                    .collect())
            }
            other => Err(format!(
                "unknown request '{other}': expected stats or stats_meta"
            )),
        }
    }
}

fn about(scheduler: &str) -> String {
    format!("what scx_{scheduler} has counted since the last request")
}

/// What the figures are, in the form in which scx's schedulers describe theirs.
pub fn meta(scheduler: &str, manifest: &Manifest) -> Value {
    let stats = manifest.stats.iter();
    let fields: serde_json::Map<String, Value> = stats
        .map(|stat| {
            (
                stat.name.clone(),
                json!({"datum": "u64", "desc": stat.about}),
            )
        })
        .collect();
    json!({STRUCT: {"name": STRUCT, "top": "true", "desc": about(scheduler), "fields": fields}})
}

/// The same for people, as `--help-stats` of scx's schedulers prints it.
pub fn help(scheduler: &str, manifest: &Manifest) -> String {
    let mut text = format!("[{STRUCT}] {}\n", about(scheduler));
    let width = manifest.stats.iter().map(|stat| stat.name.len()).max();
    for stat in &manifest.stats {
        let (name, width) = (&stat.name, width.unwrap_or_default());
        let _ = writeln!(text, "  {name:width$} (u64) : {}", stat.about);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::manifest::Stat;

    fn manifest() -> Manifest {
        let stat = |name: &str, about: &str| Stat {
            name: name.into(),
            about: about.into(),
        };
        Manifest {
            stats: vec![stat("kicks", "CPUs kicked"), stat("far_picks", "far away")],
            ..Manifest::default()
        }
    }

    fn counted(kicks: u64, far_picks: u64) -> Stats {
        vec![("kicks".into(), kicks), ("far_picks".into(), far_picks)]
    }

    /// Requests as tools of scx write them, answers as they have to read them.
    #[test]
    fn a_conversation_word_for_word() {
        let meta = meta("bare", &manifest());
        let mut one = Conversation::new(&meta, counted(100, 7));
        let stats = r#"{"req":"stats","args":{"target":"top"}}"#;
        assert_eq!(
            one.answer(stats, counted(112, 7)),
            "{\"errno\":0,\"args\":{\"resp\":{\"far_picks\":0,\"kicks\":12}}}\n"
        );
        // Another connection neither sees nor moves where this one stands.
        let mut other = Conversation::new(&meta, counted(112, 7));
        assert_eq!(
            other.answer(r#"{"req":"stats"}"#, counted(113, 8)),
            "{\"errno\":0,\"args\":{\"resp\":{\"far_picks\":1,\"kicks\":1}}}\n"
        );
        assert_eq!(
            one.answer(r#"{"req": "stats", "args": {}}"#, counted(120, 9)),
            "{\"errno\":0,\"args\":{\"resp\":{\"far_picks\":2,\"kicks\":8}}}\n"
        );
        assert_eq!(
            one.answer(r#"{"req":"stats_meta","args":{}}"#, counted(120, 9)),
            "{\"errno\":0,\"args\":{\"resp\":{\"Metrics\":{\"desc\":\"what scx_bare has counted since the last request\",\
             \"fields\":{\"far_picks\":{\"datum\":\"u64\",\"desc\":\"far away\"},\
             \"kicks\":{\"datum\":\"u64\",\"desc\":\"CPUs kicked\"}},\"name\":\"Metrics\",\"top\":\"true\"}}}}\n"
        );
    }

    #[test]
    fn what_is_no_request_is_einval_with_the_reason_and_counts_as_none() {
        let meta = meta("bare", &manifest());
        let mut talk = Conversation::new(&meta, counted(0, 0));
        for (request, why) in [
            (
                "kicks",
                "expected {\"req\":NAME,\"args\":{…}}: expected value at line 1 column 1",
            ),
            (
                r#"{"args":{}}"#,
                "expected {\"req\":NAME,\"args\":{…}}: missing field `req` at line 1 column 11",
            ),
            (
                r#"{"req":"reset"}"#,
                "unknown request 'reset': expected stats or stats_meta",
            ),
            (
                r#"{"req":"stats","args":{"target":"cpus"}}"#,
                "unknown target 'cpus': expected top",
            ),
        ] {
            let answer: Response =
                serde_json::from_str(&talk.answer(request, counted(5, 0))).unwrap();
            assert_eq!(answer.errno, 22);
            assert_eq!(answer.resp().unwrap_err(), why);
        }
        let answer: Response =
            serde_json::from_str(&talk.answer(r#"{"req":"stats"}"#, counted(6, 0))).unwrap();
        assert_eq!(answer.resp().unwrap()["kicks"], 6);
    }

    #[test]
    fn the_help_is_a_line_a_figure() {
        assert_eq!(
            help("bare", &manifest()),
            "[Metrics] what scx_bare has counted since the last request\n  \
             kicks     (u64) : CPUs kicked\n  far_picks (u64) : far away\n"
        );
    }
}
