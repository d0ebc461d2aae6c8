// SPDX-License-Identifier: GPL-2.0-or-later
//! `abi.rs` is `include/native/host.h` written again: the compiler of each side says where every field lies.

use std::collections::BTreeMap;
use std::mem::offset_of;
use std::path::{Path, PathBuf};

use bpf::Clang;
use policy::abi::{
    Abi, CpuMask, DsqIter, ExitInfo, ExitTaskArgs, InitTaskArgs, SchedEntity, SchedExtEntity,
    SchedExtOps, ScxHost, TaskStruct, Timer,
};

/// Size, and name and offset of every field.
#[derive(Debug, PartialEq)]
struct Layout {
    size: usize,
    fields: Vec<(String, usize)>,
}

type Layouts = BTreeMap<String, Layout>;

/// Names a C struct, its Rust twin and every field of that: one left out would not compile.
macro_rules! twin {
    ($c:literal, $rust:ident { $($field:ident),* $(,)? }) => {{
        let _ = |all: $rust| {
            let $rust { $($field: _),* } = all;
        };
        // C's `yield` and `__opaque` are no names that Rust takes or likes.
        let fields = vec![$((stringify!($field).trim_matches('_').to_owned(), offset_of!($rust, $field))),*];
        ($c.to_owned(), Layout { size: size_of::<$rust>(), fields })
    }};
}

#[expect(clippy::too_many_lines, reason = "a list, a line a field")]
fn in_rust() -> Layouts {
    Layouts::from([
        twin!("cpumask", CpuMask { bits }),
        twin!(
            "sched_ext_entity",
            SchedExtEntity {
                slice,
                dsq_vtime,
                weight,
                flags
            }
        ),
        twin!(
            "sched_entity",
            SchedEntity {
                slice,
                sum_exec_runtime,
                custom_slice
            }
        ),
        twin!(
            "task_struct",
            TaskStruct {
                scx,
                se,
                flags,
                prio,
                static_prio,
                rt_priority,
                policy,
                nr_cpus_allowed,
                cpus_ptr,
                migration_disabled,
                exit_state,
                pid,
                tgid,
                mm,
                real_parent,
                storage_map,
                storage,
                comm
            }
        ),
        twin!("scx_init_task_args", InitTaskArgs { fork }),
        twin!("scx_exit_task_args", ExitTaskArgs { cancelled }),
        twin!(
            "scx_exit_info",
            ExitInfo {
                kind,
                exit_code,
                reason,
                msg
            }
        ),
        twin!(
            "sched_ext_ops",
            SchedExtOps {
                select_cpu,
                enqueue,
                dequeue,
                dispatch,
                tick,
                runnable,
                running,
                stopping,
                quiescent,
                yield_,
                set_weight,
                set_cpumask,
                update_idle,
                init_task,
                exit_task,
                enable,
                disable,
                cpu_online,
                cpu_offline,
                init,
                exit,
                dispatch_max_batch,
                flags,
                timeout_ms,
                exit_dump_len,
                hotplug_seq,
                name
            }
        ),
        twin!("bpf_timer", Timer { opaque }),
        twin!("bpf_iter_scx_dsq", DsqIter { opaque }),
        twin!(
            "scx_host",
            ScxHost {
                now_ns,
                cpu,
                in_task,
                nr_cpu_ids,
                current,
                idle,
                idle_smt,
                online,
                possible,
                kfuncs,
                steps,
                sim,
                create_dsq,
                destroy_dsq,
                dsq_insert,
                dsq_insert_vtime,
                dsq_move_to_local,
                dsq_nr_queued,
                dsq_iter_new,
                dsq_iter_next,
                dsq_iter_destroy,
                dsq_move_set_slice,
                dsq_move_set_vtime,
                dsq_move,
                dsq_move_vtime,
                kick_cpu,
                select_cpu_dfl,
                pick_idle_cpu,
                pick_any_cpu,
                test_and_clear_cpu_idle,
                task_cpu,
                task_running,
                task_from_pid,
                error,
                exit,
                task_storage_get,
                task_storage_delete,
                map_lookup,
                timer_init,
                timer_set_callback,
                timer_start,
                timer_cancel
            }
        ),
        twin!(
            "scx_abi",
            Abi {
                version,
                host_size,
                task_size,
                ops_size
            }
        ),
    ])
}

/// What clang says of every struct that the header of this include folder defines.
fn in_c(include: &Path) -> Layouts {
    let header = include.join("native/host.h");
    let dir = tempfile::tempdir().unwrap();
    let probe = dir.path().join("probe.c");
    // Only what is used has a layout.
    let uses: Vec<String> = in_rust()
        .keys()
        .map(|name| format!("char uses_{name}[sizeof(struct {name})];"))
        .collect();
    std::fs::write(
        &probe,
        format!(
            "#include {:?}\n{}\n",
            header.display().to_string(),
            uses.join("\n")
        ),
    )
    .unwrap();
    let output = Clang::find()
        .unwrap()
        .command()
        .args(["-fsyntax-only", "-Xclang", "-fdump-record-layouts"])
        .arg(&probe)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let mut layouts = Layouts::new();
    let dump = String::from_utf8(output.stdout).unwrap();
    for record in dump.split("*** Dumping AST Record Layout").skip(1) {
        let (name, layout) = record_layout(record);
        layouts.insert(name, layout);
    }
    layouts
}

/// `8 |   u64 dsq_vtime` is a field, `8 |     u64 slice` one of a struct within, `| [sizeof=24, …` comes last.
fn record_layout(dump: &str) -> (String, Layout) {
    let mut name = String::new();
    let mut layout = Layout {
        size: 0,
        fields: Vec::new(),
    };
    for (offset, text) in dump.lines().filter_map(|line| line.split_once('|')) {
        let last = || text.split(' ').next_back().unwrap();
        if let Some(size) = text.trim().strip_prefix("[sizeof=") {
            layout.size = size.split(',').next().unwrap().parse().unwrap();
            break;
        } else if let Some(struct_name) = text.strip_prefix(" struct ") {
            struct_name.clone_into(&mut name);
        } else if text.starts_with("   ") && !text.starts_with("    ") {
            let offset = offset.trim().parse().unwrap();
            layout
                .fields
                .push((last().trim_matches('_').to_owned(), offset));
        }
    }
    (name, layout)
}

fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include")
}

#[test]
fn every_field_lies_where_the_header_has_it() {
    let (here, there) = (in_rust(), in_c(&include()));
    assert_eq!(
        here.keys().collect::<Vec<_>>(),
        there.keys().collect::<Vec<_>>()
    );
    for (name, layout) in &here {
        assert_eq!(*layout, there[name], "struct {name}");
    }
}

/// Two fields of one type change places: every size and every offset stays.
#[test]
fn a_field_that_moved_is_found() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["types.h", "scx_ops.h", "native/host.h"] {
        let copy = dir.path().join(name);
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        std::fs::copy(include().join(name), copy).unwrap();
    }
    let header = dir.path().join("native/host.h");
    let text = std::fs::read_to_string(&header).unwrap();
    let moved = text.replace("\ts32 pid;\n\ts32 tgid;\n", "\ts32 tgid;\n\ts32 pid;\n");
    assert_ne!(moved, text);
    std::fs::write(&header, moved).unwrap();
    let (here, there) = (in_rust(), in_c(dir.path()));
    assert_eq!(here["task_struct"].size, there["task_struct"].size);
    assert_ne!(here["task_struct"], there["task_struct"]);
    assert_eq!(here["scx_host"], there["scx_host"]);
}
