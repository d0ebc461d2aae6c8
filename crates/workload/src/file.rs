// SPDX-License-Identifier: GPL-2.0-or-later
//! Reading workload files (`docs/workloads.md`).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow, ensure};
use cell::hex_digest;
use input::{Kind, Node, one_line, suggest};
use serde::Serialize;

use crate::command::{self, Beside, Command};
use crate::plan::Plan;
use crate::profile::Profile;
use crate::scope::{Scope, Setting};
use crate::{build, expr, rtapp};

/// The CPU count a file is tried with when it is read.
pub(crate) const TRIAL_CPUS: u32 = 4;

#[derive(Clone, Debug)]
pub struct Workload {
    pub name: String,
    pub title: String,
    pub source: String,
    /// Name of the load parameter.
    pub load: String,
    pub(crate) loads: Vec<Node>,
    pub params: Vec<Param>,
    pub(crate) root: Node,
    profile: Option<Arc<Profile>>,
    pub(crate) beside: Arc<Beside>,
    /// First 16 hex digits of SHA-256 of the file and, each after a NUL, its profile and the files its input is made with.
    pub digest: String,
    /// What of the file does something else than it may seem to, each with its place.
    pub remarks: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Param {
    pub name: String,
    pub about: String,
    pub domain: Domain,
    default: Node,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Domain {
    Choices(Vec<String>),
    #[serde(untagged)]
    Range {
        min: i64,
        max: i64,
    },
}

impl Workload {
    pub fn read(path: &Path) -> Result<Self> {
        let text = input::read(path, "a workload file")?;
        if path.extension().is_some_and(|end| end == "json") {
            let (root, remarks) = rtapp::workload(&text, path)?;
            let workload = Self::from_root(&root, &text, "")?;
            return Ok(Self {
                remarks,
                ..workload
            });
        }
        Self::from_toml(&text, &path.display().to_string())
    }

    /// Reads a workload's text; `file` is what errors call it, and where the path of its profile begins.
    pub fn from_toml(text: &str, file: &str) -> Result<Self> {
        Self::from_root(&Node::parse(text, file)?, text, file)
    }

    fn from_root(root: &Node, text: &str, file: &str) -> Result<Self> {
        let table = root.table()?;
        let name = table.required("name")?;
        ensure!(
            is_workload_name(name.text()?),
            name.expected("a name of a-z, 0-9 and -, beginning with a letter")
        );
        let mut params = Vec::new();
        for (name, node) in table.required("params")?.table()?.entries() {
            params.push(param(name, node)?);
        }
        let profile = table.optional("profile");
        let profile = profile.map(|name| Profile::read(name, file)).transpose()?;
        let beside = command::beside(&table, file)?;
        let load = table.required("load")?;
        let load_name = load.text()?;
        let Some(load_param) = params.iter().find(|param| param.name == load_name) else {
            return Err(load.expected("the name of a parameter"));
        };
        let Domain::Range { min, .. } = load_param.domain else {
            return Err(load.error("expected a number for a load, found a choice"));
        };
        ensure!(
            min >= 1,
            load.error("expected a parameter with min = 1 or more")
        );
        let loads = table.required("loads")?;
        let items = loads.list()?;
        ensure!(
            !items.is_empty(),
            loads.error("expected at least one load, found none")
        );
        let workload = Self {
            name: name.text()?.to_string(),
            title: table.required("title")?.text()?.to_string(),
            source: table.required("source")?.text()?.to_string(),
            load: load_param.name.clone(),
            loads: items.to_vec(),
            params,
            root: root.clone(),
            digest: digest(text, profile.as_ref(), &beside),
            profile: profile.map(Arc::new),
            beside: Arc::new(beside),
            remarks: Vec::new(),
        };
        if let Some(cgroups) = table.optional("cgroup") {
            ensure!(
                table.optional("command").is_none(),
                cgroups.error("expected no command beside it: an application is put into no group")
            );
        }
        for section in build::SECTIONS.iter().chain(&["command"]) {
            table.optional(section);
        }
        // What calibrate --model does not look for.
        if let Some(left_out) = table.optional("leaves_out") {
            let scope = workload.of_cpus(TRIAL_CPUS);
            for item in left_out.list()? {
                scope.profile(left_out)?.task(item, item.text()?)?;
            }
        }
        table.finish()?;
        // Everything else is found by fixing the plan at every load offered.
        for load in workload.loads(TRIAL_CPUS)? {
            let scope = workload.scope(load, &BTreeMap::new(), TRIAL_CPUS)?;
            build::plan(
                &workload.root,
                &Scope {
                    trial: true,
                    ..scope
                },
                1,
            )?;
            workload.command(load, &BTreeMap::new(), TRIAL_CPUS, 1)?;
        }
        Ok(workload)
    }

    /// Loads that show something on so many CPUs, for a first comparison; the least first.
    pub fn loads(&self, cpus: u32) -> Result<Vec<i64>> {
        self.levels(&self.loads, cpus)
    }

    pub(crate) fn levels(&self, items: &[Node], cpus: u32) -> Result<Vec<i64>> {
        let mut loads = Vec::new();
        for item in items {
            loads.push(self.level(item, cpus)?);
        }
        loads.sort_unstable();
        loads.dedup();
        Ok(loads)
    }

    pub fn least_load(&self, cpus: u32) -> Result<i64> {
        let loads = self.loads(cpus)?;
        Ok(*loads.first().expect("a list of loads is not empty"))
    }

    /// A load that counts in CPUs is at least 1: half of one CPU is one.
    fn level(&self, item: &Node, cpus: u32) -> Result<i64> {
        let param = self.params.iter().find(|param| param.name == self.load);
        let Some(Domain::Range { min, max }) = param.map(|param| &param.domain) else {
            unreachable!("read() has seen to it");
        };
        if matches!(item.kind, Kind::Integer(_)) {
            return item.integer(*min..=*max);
        }
        let load = self.of_cpus(cpus).known(item)?.max(1);
        let found = || format!("{} = {load} on {cpus} CPUs", item.describe());
        ensure!(
            (*min..=*max).contains(&load),
            item.error(format!("expected {min} to {max}, found {}", found()))
        );
        Ok(load)
    }

    /// The workload at one load, on so many CPUs, with parameters as a user wrote them.
    pub fn plan(
        &self,
        load: i64,
        params: &BTreeMap<String, String>,
        cpus: u32,
        seed: u64,
    ) -> Result<Plan> {
        ensure!(
            cpus > 0,
            anyhow!("{}: cpus: expected at least 1, found 0", self.name)
        );
        build::plan(&self.root, &self.scope(load, params, cpus)?, seed)
    }

    /// The application that the workload models, at one load; `None` where the tasks themselves are the workload.
    pub fn command(
        &self,
        load: i64,
        params: &BTreeMap<String, String>,
        cpus: u32,
        seed: u64,
    ) -> Result<Option<Command>> {
        let table = self.root.table()?;
        let Some(node) = table.optional("command") else {
            return Ok(None);
        };
        let scope = self.scope(load, params, cpus)?;
        let mut groups = Vec::new();
        for task in table.required("task")?.list()? {
            groups.push(task.table()?.required("name")?.text()?.to_string());
        }
        let metrics = table.required("metrics")?.table()?;
        let promises = metrics.required("promises")?;
        command::command(node, &scope, seed, &groups, promises, &self.beside).map(Some)
    }

    /// What is known before the parameters are.
    fn of_cpus(&self, cpus: u32) -> Scope {
        Scope {
            cpus,
            trial: false,
            params: BTreeMap::new(),
            profile: self.profile.clone(),
        }
    }

    fn scope(&self, load: i64, params: &BTreeMap<String, String>, cpus: u32) -> Result<Scope> {
        if let Some(name) = params
            .keys()
            .find(|name| self.params.iter().all(|p| p.name != **name))
        {
            let hint = suggest(name, self.params.iter().map(|param| param.name.as_str()));
            return Err(anyhow!(
                "{}: params.{}: unknown parameter, {hint}",
                self.name,
                one_line(name)
            ));
        }
        if params.contains_key(&self.load) {
            return Err(anyhow!(
                "{}: params.{}: expected as the load, found as a parameter",
                self.name,
                self.load
            ));
        }
        let mut scope = self.of_cpus(cpus);
        for param in &self.params {
            let setting = if param.name == self.load {
                self.check(param, "load", &load.to_string())?
            } else if let Some(text) = params.get(&param.name) {
                self.check(param, &format!("params.{}", param.name), text)?
            } else {
                param.setting(&scope)?
            };
            scope.params.insert(param.name.clone(), setting);
        }
        Ok(scope)
    }

    fn check(&self, param: &Param, key: &str, text: &str) -> Result<Setting> {
        let expected = match &param.domain {
            Domain::Range { min, max } => {
                if let Ok(value) = text.parse::<i64>()
                    && (*min..=*max).contains(&value)
                {
                    return Ok(Setting::Number(value));
                }
                format!("an integer from {min} to {max}")
            }
            Domain::Choices(choices) => {
                if choices.iter().any(|choice| choice == text) {
                    return Ok(Setting::Choice(text.to_string()));
                }
                format!("one of {}", choices.join(", "))
            }
        };
        Err(anyhow!(
            "{}: {key}: expected {expected}, found {}",
            self.name,
            one_line(text)
        ))
    }
}

impl Param {
    /// The default as the file has it, for listings.
    pub fn default_text(&self) -> String {
        match &self.default.kind {
            Kind::Text(text) => text.clone(),
            _ => self.default.describe(),
        }
    }

    fn setting(&self, scope: &Scope) -> Result<Setting> {
        match &self.domain {
            Domain::Range { min, max } => Ok(Setting::Number(scope.known_in(
                &self.default,
                *min,
                *max,
            )?)),
            Domain::Choices(_) => Ok(Setting::Choice(self.default.text()?.to_string())),
        }
    }
}

fn digest(text: &str, profile: Option<&Profile>, beside: &Beside) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let profile = profile.map(|profile| &profile.text).into_iter();
    for more in profile.chain(beside.iter().map(|(_, text)| text)) {
        bytes.push(0);
        bytes.extend_from_slice(more.as_bytes());
    }
    hex_digest(&bytes, 16)
}

fn is_workload_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(plain)
}

fn param(name: &str, node: &Node) -> Result<Param> {
    ensure!(
        expr::is_name(name) && !matches!(name, "me" | "cpus"),
        node.error("expected a parameter's name of a-z, 0-9 and _, neither me nor cpus")
    );
    let table = node.table()?;
    let default = table.required("default")?;
    let about = table.required("about")?.text()?.to_string();
    let domain = if let Some(choices) = table.optional("choices") {
        let items = choices.list()?;
        let texts: Vec<String> = items
            .iter()
            .map(|item| Ok(item.text()?.to_string()))
            .collect::<Result<_>>()?;
        let what = || default.expected(&format!("one of {}", texts.join(", ")));
        ensure!(
            texts
                .iter()
                .any(|text| default.kind == Kind::Text(text.clone())),
            what()
        );
        Domain::Choices(texts)
    } else {
        let min = table.required("min")?.integer(i64::MIN..=i64::MAX)?;
        let max = table.required("max")?.integer(min..=i64::MAX)?;
        if matches!(default.kind, Kind::Integer(_)) {
            default.integer(min..=max)?;
        }
        Domain::Range { min, max }
    };
    table.finish()?;
    Ok(Param {
        name: name.to_string(),
        about,
        domain,
        default: default.clone(),
    })
}
