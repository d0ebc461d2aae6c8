// SPDX-License-Identifier: GPL-2.0-or-later
//! Every helper and kfunc of the model is called by a policy that runs in the simulator and in a guest.

use std::collections::BTreeSet;

use kernel::{Execution, Release};
use policy::Source;

use crate::common::{fixtures_of_both_worlds, policy_path};

/// Those that no such policy calls, and why.
const NOT_CALLED: &[(&str, &str)] = &[
    ("bpf_ktime_get_coarse_ns", TRACES),
    ("bpf_perf_event_read_value", TRACES),
    ("bpf_probe_read_str", TRACES),
    ("scx_bpf_dump_bstr", "the simulator asks nobody for a dump"),
    (
        "scx_bpf_exit_bstr",
        "it ends the policy: bugs.rs has a policy that does",
    ),
];
const TRACES: &str =
    "the kernel gives it to programs that trace, which an object may have beside a scheduler's";

/// What the policies of the tree and the fixtures refer to where a kernel of this release runs them.
fn called(release: Release) -> BTreeSet<String> {
    let offered = kernel::calls(release);
    let tree = Source::all(&policy_path("vtime").join("..")).unwrap();
    let fixtures = fixtures_of_both_worlds()
        .into_iter()
        .map(|name| policy_path(&name));
    let paths = tree.into_iter().map(|source| source.dir).chain(fixtures);
    // What a fixture needs is not in every release.
    let programs =
        paths.filter_map(|path| kernel::load(&path, Execution::Interpreted, release).ok());
    let outside = programs.flat_map(|program| program.image.outside.clone());
    let name = |call| offered.iter().find(|(known, _)| *known == call).unwrap().1;
    outside.map(|call| name(call).to_string()).collect()
}

#[test]
fn every_call_is_tried_in_both_worlds() {
    let mut all = BTreeSet::new();
    let mut tried = BTreeSet::new();
    for release in Release::ALL {
        all.extend(
            kernel::calls(release)
                .into_iter()
                .map(|(_, name)| name.to_string()),
        );
        tried.extend(called(release));
    }
    let known: BTreeSet<String> = NOT_CALLED
        .iter()
        .map(|(name, _)| (*name).to_string())
        .collect();
    let missing: Vec<&String> = all
        .difference(&tried)
        .filter(|name| !known.contains(*name))
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
    let superfluous: Vec<&String> = known.intersection(&tried).collect();
    assert!(superfluous.is_empty(), "{superfluous:?} are called");
}
