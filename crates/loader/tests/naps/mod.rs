// SPDX-License-Identifier: GPL-2.0-or-later
//! A workload whose tasks sleep once, and a cell of it under the kernel's own scheduler.

use std::collections::BTreeMap;

use cell::{Cell, Digests};

pub fn workload(sleep_ms: u64) -> String {
    format!(
        r#"# SPDX-License-Identifier: GPL-2.0-or-later
name = "naps"
title = "naps"
source = "a test"
load = "tasks"
loads = [1]

[params]
tasks = {{ default = 1, min = 1, max = 9, about = "tasks" }}

[[task]]
name = "nap"
count = "tasks"
program = [{{ sleep_ms = {sleep_ms} }}]

[metrics]
promises = ["elapsed_s"]
"#
    )
}

pub fn cell(seed: u64) -> Cell {
    Cell {
        api: None,
        built_in: false,
        digests: Digests::default(),
        exact_costs: false,
        kernel: None,
        load: 1,
        machine: "host".into(),
        modelled: false,
        params: BTreeMap::new(),
        place: "host".into(),
        repetition: seed - 1,
        scheduler: "default".into(),
        seed,
        tunables: BTreeMap::new(),
        workload: "naps".into(),
    }
}
