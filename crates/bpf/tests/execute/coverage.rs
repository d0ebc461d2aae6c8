// SPDX-License-Identifier: GPL-2.0-or-later
//! What code that counts says it executed, as functions, lines and branches.

use std::path::Path;

use bpf::image::{Image, Line};
use bpf::op::{Condition, Op};
use bpf::{Executor, Native, Options};

use crate::world::World;
use crate::write::{self, add, branch, call, function, jump, mov, set};

fn lined() -> Image {
    let mut image = write::image(vec![
        // Adds 2 as often as r1 says, and calls the other once where that is 3.
        function(
            "counted",
            vec![
                mov(6, 1),                      // line 10
                mov(7, 1),                      // 10
                set(0, 0),                      // 11
                add(0, 2),                      // 12
                add(6, -1),                     // 13
                branch(Condition::Ne, 6, 0, 3), // 13
                branch(Condition::Ne, 7, 3, 8), // 14
                call(1),                        // 15
                Op::Exit,                       // 16
            ],
        ),
        // Nothing leads to line 22, so nobody can be blamed for it.
        function("other", vec![set(0, 1), jump(3), set(0, 7), Op::Exit]),
        function("never", vec![set(0, 1), Op::Exit]),
    ]);
    let line = |op, line| Line { op, file: 0, line };
    let lines = [
        (0, 10),
        (2, 11),
        (3, 12),
        (4, 13),
        (6, 14),
        (7, 15),
        (8, 16),
    ];
    image.functions[0].lines = lines.map(|(op, number)| line(op, number)).to_vec();
    image.functions[1].lines = vec![line(0, 20), line(2, 22), line(3, 23)];
    image.functions[2].lines = vec![line(0, 30)];
    image.files = vec!["a.bpf.c".into()];
    image
}

#[test]
fn blocks_and_branches_are_counted() {
    let image = lined();
    let options = Options {
        counted: true,
        ..Options::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let native = Native::load(&image, &options, folder.path()).unwrap();
    let executor = Executor::Native(native);
    let counts = || match &executor {
        Executor::Native(native) => native.take_counts(),
        Executor::Interpreter(_) => unreachable!(),
    };
    let mut world = World::new();
    let mut run = |times| {
        world
            .call(&executor, false, u64::MAX, 0, [times, 0, 0, 0, 0])
            .result
    };
    assert_eq!(run(5), 10);
    let without_call = image.coverage(&counts());
    assert_eq!(run(3), 1);
    assert_eq!(run(2), 4);
    let with_call = image.coverage(&counts());
    let taken = image.coverage(&counts());

    let first = &without_call.files["a.bpf.c"];
    let counted = |pairs: &[(u32, u64)]| pairs.iter().copied().collect();
    assert_eq!(
        first.lines,
        counted(&[
            (10, 1),
            (11, 1),
            (12, 5),
            (13, 5),
            (14, 1),
            (15, 0),
            (16, 1),
            (20, 0),
            (23, 0),
            (30, 0)
        ])
    );
    assert_eq!(first.branches[&13], [[1, 4]]);
    assert_eq!(first.branches[&14], [[0, 1]]);
    assert_eq!(first.ways(), (4, 3));
    let second = &with_call.files["a.bpf.c"];
    assert_eq!((second.lines[&15], second.lines[&23]), (1, 1));
    assert_eq!(second.functions[&(10, "counted".into())], 2);
    assert_eq!(second.functions[&(30, "never".into())], 0);
    assert_eq!(second.ways(), (4, 4));
    // What was taken is not told twice.
    assert!(
        taken.files["a.bpf.c"]
            .lines
            .values()
            .all(|count| *count == 0)
    );

    let lcov = without_call.lcov(|file| Some(format!("dir/{file}")));
    let head = "TN:\nSF:dir/a.bpf.c\nFN:10,counted\nFN:20,other\nFN:30,never\nFNDA:1,counted\nFNDA:0,other\n";
    assert!(lcov.starts_with(head), "{lcov}");
    for line in [
        "BRDA:13,0,0,1",
        "BRDA:13,0,1,4",
        "BRF:4",
        "BRH:3",
        "DA:15,0",
        "LF:10",
        "LH:6",
        "FNF:3",
        "FNH:1",
    ] {
        assert!(lcov.lines().any(|found| found == line), "{line}: {lcov}");
    }
    assert_eq!(without_call.lcov(|_| None), "");
}

#[test]
fn code_that_does_not_count_is_as_it_was() {
    let image = write::image(vec![function("a", vec![set(0, 1), Op::Exit])]);
    let plain = bpf::translate(&image, &Options::default());
    assert!(!plain.contains("bpf_counts"));
    let folder = tempfile::tempdir().unwrap();
    let load = |folder: &Path| Native::load(&image, &Options::default(), folder).unwrap();
    assert_eq!(load(folder.path()).take_counts(), []);
}
