// SPDX-License-Identifier: GPL-2.0-or-later
//! What whoever plans a campaign has to know of a workload, in a form that programs read.

use std::collections::BTreeMap;

use anyhow::Result;
use input::{Kind, Node};
use serde::Serialize;

use crate::file::{Domain, TRIAL_CPUS, Workload};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Description {
    pub name: String,
    pub title: String,
    pub source: String,
    /// The parameter that is the load.
    pub load: String,
    /// As the file has them.
    pub loads: Vec<Level>,
    /// What they are on so many CPUs, the least first.
    pub loads_on: BTreeMap<u32, Vec<i64>>,
    pub params: Vec<Param>,
    /// The metrics that it is judged by.
    pub promises: Vec<String>,
    /// The distributions that its programs log.
    pub logs: Vec<String>,
    /// Of the file and of those beside it: the `workload` of a cell's digests.
    pub digest: String,
    /// Files that it is made of too: paths from its own folder.
    pub beside: Vec<String>,
    /// The profile's kinds of task that no task stands for.
    pub leaves_out: Vec<String>,
    /// What of the file does something else than it may seem to.
    pub remarks: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Level {
    Number(i64),
    Expression(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Param {
    pub name: String,
    pub about: String,
    pub default: String,
    #[serde(flatten)]
    pub domain: Domain,
}

impl Workload {
    /// With its loads on so many CPUs; `levels`, where there are any, stand for those of the file.
    pub fn describe(&self, cpus: &[u32], levels: &[String]) -> Result<Description> {
        let root = self.root.table()?;
        let texts = |node: Option<&Node>| -> Result<Vec<String>> {
            let items = node.map_or(Ok(&[][..]), Node::list)?;
            items
                .iter()
                .map(|item| Ok(item.text()?.to_owned()))
                .collect()
        };
        let loads = if levels.is_empty() {
            self.loads.clone()
        } else {
            levels
                .iter()
                .map(|level| given(&self.root, level))
                .collect()
        };
        self.levels(&loads, TRIAL_CPUS)?;
        let mut loads_on = BTreeMap::new();
        for &cpus in cpus {
            loads_on.insert(cpus, self.levels(&loads, cpus)?);
        }
        let plan = self.plan(
            self.least_load(TRIAL_CPUS)?,
            &BTreeMap::new(),
            TRIAL_CPUS,
            1,
        )?;
        let profile = root.optional("profile").map(Node::text).transpose()?;
        let files = self.beside.iter().map(|(path, _)| path.as_str());
        Ok(Description {
            name: self.name.clone(),
            title: self.title.clone(),
            source: self.source.clone(),
            load: self.load.clone(),
            loads: loads.iter().map(level).collect(),
            loads_on,
            params: self
                .params
                .iter()
                .map(|param| Param {
                    name: param.name.clone(),
                    about: param.about.clone(),
                    default: param.default_text(),
                    domain: param.domain.clone(),
                })
                .collect(),
            promises: plan.promises,
            logs: plan.distributions,
            digest: self.digest.clone(),
            beside: profile
                .into_iter()
                .chain(files)
                .map(str::to_owned)
                .collect(),
            leaves_out: texts(root.optional("leaves_out"))?,
            remarks: self.remarks.clone(),
        })
    }
}

/// A level that the file does not have.
fn given(file: &Node, text: &str) -> Node {
    file.made(match text.parse() {
        Ok(number) if !text.starts_with('+') => Kind::Integer(number),
        _ => Kind::Text(text.to_owned()),
    })
}

fn level(node: &Node) -> Level {
    match &node.kind {
        Kind::Integer(number) => Level::Number(*number),
        Kind::Text(text) => Level::Expression(text.clone()),
        _ => Level::Expression(node.describe()),
    }
}
