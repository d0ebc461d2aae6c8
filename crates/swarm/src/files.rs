// SPDX-License-Identifier: GPL-2.0-or-later
//! A case as files: the same texts are what is run and what a finding leaves behind.

use std::fmt::Write;

use crate::case::{Action, Case, Group, Kind, Shape, Warden};
use crate::cgroup_text;

const LICENCE: &str = "# SPDX-License-Identifier: GPL-2.0-or-later\n";

/// Every cost of a machine file, for machines where nothing costs anything.
const COSTS: [&str; 22] = [
    "switch_ns",
    "wakeup_ns",
    "ext_switch_ns",
    "ext_wakeup_ns",
    "kick_ns",
    "ipi_send_ns",
    "idle_exit_ns",
    "tick_ns",
    "syscall_ns",
    "socket_ns",
    "tcp_ns",
    "copy_kib_ns",
    "timer_slack_ns",
    "fork_ns",
    "exec_ns",
    "exit_ns",
    "thread_ns",
    "policy_instruction_ps",
    "lock_hold_ns",
    "lock_hold_log_ns",
    "lock_waiter_ns",
    "private_cache_kib",
];
const COSTS_BY_DISTANCE: [&str; 3] = ["ipi_ns", "lock_transfer_ns", "refill_kib_ns"];

pub fn machine(shape: &Shape) -> String {
    let numbering = if shape.split { "split" } else { "adjacent" };
    let mut text = format!(
        "{LICENCE}name = \"machine\"\ntitle = \"{} CPUs\"\nsource = \"schedlab check\"\nhz = {}\nrt_guard = \"{}\"\n\n[topology]\n\
         sockets = {}\nllcs_per_socket = {}\ncores_per_llc = {}\nthreads_per_core = {}\nnumbering = \"{numbering}\"\n",
        shape.cpus(),
        shape.hz,
        shape.rt_guard,
        shape.sockets,
        shape.llcs,
        shape.cores,
        shape.threads,
    );
    if shape.free {
        text.push_str("\n[costs]\nsmt_speed_pct = 100\n");
        for cost in COSTS {
            let least = u32::from(cost == "private_cache_kib");
            let _ = writeln!(text, "{cost} = {least}");
        }
        for cost in COSTS_BY_DISTANCE {
            let _ = writeln!(text, "{cost} = [0, 0, 0, 0, 0]");
        }
    }
    text
}

pub fn workload(case: &Case) -> String {
    let mut text = format!(
        "{LICENCE}name = \"workload\"\ntitle = \"{} tasks\"\nsource = \"schedlab check\"\nload = \"one\"\nloads = [1]\n\n\
         [params]\none = {{ default = 1, min = 1, max = 1, about = \"\" }}\n\n[end]\nafter_ms = {}\n",
        case.tasks(),
        case.duration_ms
    );
    let critical = |group: &Group| {
        group
            .actions
            .iter()
            .any(|action| matches!(action, Action::Critical(_)))
    };
    if case.groups.iter().any(critical) {
        text.push_str("\n[[lock]]\nname = \"mutex\"\ncount = 1\n");
    }
    for (index, group) in case.groups.iter().enumerate() {
        let name = name(index);
        let count = group.count;
        match group.kind {
            Kind::Pair => {
                for queue in ["ask", "answer"] {
                    let _ = write!(
                        text,
                        "\n[[queue]]\nname = \"{name}_{queue}\"\nkind = \"pipe\"\ncount = {count}\n"
                    );
                }
            }
            Kind::Herd => {
                let _ = write!(
                    text,
                    "\n[[semaphore]]\nname = \"{name}_go\"\ncount = {count}\n"
                );
            }
            Kind::Plain | Kind::Family | Kind::Storm | Kind::Threads => {}
        }
    }
    cgroup_text::tables(&mut text, &case.cgroups);
    for (index, group) in case.groups.iter().enumerate() {
        let pause_us = if group.pauses { case.pause_us } else { 0 };
        tasks(&mut text, &name(index), group, pause_us);
    }
    for (index, group) in case.groups.iter().enumerate() {
        if let Some(warden) = &group.warden {
            watch(&mut text, &name(index), group, warden);
        }
    }
    for (index, group) in case.groups.iter().enumerate() {
        if let (Some(mover), Some(own)) = (group.mover, group.cgroup) {
            let (of, count) = of_others(&name(index), group);
            let steps = cgroup_text::moved(mover, own, &of, count);
            helper(&mut text, &format!("{}_mover", name(index)), &steps);
        }
    }
    for (place, cgroup) in case.cgroups.iter().enumerate() {
        if let Some(keeper) = &cgroup.keeper {
            let steps = cgroup_text::kept(cgroup, keeper, place, case.machine.cpus());
            helper(
                &mut text,
                &format!("{}_keeper", cgroup_text::name(place)),
                &steps,
            );
        }
    }
    text.push_str("\n[metrics]\npromises = []\n");
    text
}

fn name(index: usize) -> String {
    char::from(b'a' + (index % 26) as u8).to_string()
}

fn tasks(text: &mut String, name: &str, group: &Group, pause_us: u64) {
    let count = group.count;
    let own = body(&group.actions, pause_us);
    match group.kind {
        Kind::Plain => task(text, name, group, count, "signal", &over(group, &own)),
        Kind::Pair => {
            let mut client = vec![
                format!("{{ send = \"{name}_ask[me]\", bytes = 16 }}"),
                format!("{{ recv = \"{name}_answer[me]\" }}"),
            ];
            client.extend(group.actions.iter().map(|each| action(each, pause_us)));
            task(text, name, group, count, "signal", &over(group, &client));
            let server = [
                format!("{{ recv = \"{name}_ask[me]\" }}"),
                "{ run_us = 50 }".to_string(),
                format!("{{ send = \"{name}_answer[me]\", bytes = 16 }}"),
            ];
            task(
                text,
                &format!("{name}_peer"),
                group,
                count,
                "signal",
                &forever(&server),
            );
        }
        Kind::Herd => {
            let mut leader = own.clone();
            leader.push("{ sleep_us = 1000 }".to_string());
            leader.push(format!(
                "{{ for = \"i\", to = {count}, do = [{{ post = \"{name}_go[i]\" }}] }}"
            ));
            task(text, name, group, 1, "signal", &over(group, &leader));
            let mut member = vec![format!("{{ wait = \"{name}_go[me]\" }}")];
            member.extend(own);
            task(
                text,
                &format!("{name}_herd"),
                group,
                count,
                "signal",
                &forever(&member),
            );
        }
        Kind::Storm => {
            let parent = [
                format!("{{ for = \"i\", to = {count}, do = [{{ fork = \"{name}_child[i]\" }}] }}"),
                format!("{{ repeat = {count}, do = [{{ reap = true }}] }}"),
                "{ sleep_us = 500 }".to_owned(),
            ];
            task(text, name, group, 1, "signal", &forever(&parent));
            let mut child = vec!["{ exec = true }".to_owned()];
            child.extend(own);
            let child = child.join(",\n    ");
            let name = format!("{name}_child");
            task(text, &name, group, count, "fork", &child);
        }
        Kind::Threads => {
            for cpu in 0..count {
                let own_cpu = Group {
                    cpus: vec![cpu],
                    ..group.clone()
                };
                let name = format!("{name}_{cpu}");
                task(text, &name, &own_cpu, 1, "signal", &forever(&own));
            }
        }
        Kind::Family => {
            let parent = [
                format!(
                    "{{ for = \"i\", to = {count}, do = [{{ fork = \"{name}_child[i]\" }}, {{ run_us = 200 }}] }}"
                ),
                format!("{{ repeat = {count}, do = [{{ reap = true }}] }}"),
                forever(&own),
            ];
            task(text, name, group, 1, "signal", &parent.join(",\n    "));
            task(
                text,
                &format!("{name}_child"),
                group,
                count,
                "fork",
                &own.join(",\n    "),
            );
        }
    }
}

fn task(text: &mut String, name: &str, group: &Group, count: u32, start: &str, program: &str) {
    let _ = write!(text, "\n[[task]]\nname = \"{name}\"\n");
    if count != 1 {
        let _ = writeln!(text, "count = {count}");
    }
    if start != "signal" {
        let _ = writeln!(text, "start = \"{start}\"");
    }
    if group.kind == Kind::Threads {
        text.push_str("kernel = true\n");
    }
    if group.nice != 0 {
        let _ = writeln!(text, "nice = {}", group.nice);
    }
    if group.policy != "other" {
        let _ = writeln!(text, "policy = \"{}\"", group.policy);
    }
    if !group.cpus.is_empty() {
        let _ = writeln!(text, "cpus = {:?}", group.cpus);
    }
    if let Some(place) = group.cgroup {
        let _ = writeln!(text, "cgroup = \"{}\"", cgroup_text::name(place));
    }
    if group.footprint_kib != 0 {
        let _ = writeln!(text, "footprint_kib = {}", group.footprint_kib);
    }
    let _ = write!(text, "program = [\n    {program},\n]\n");
}

/// Those of a group's tasks that others change: those that began with the workload, or the children. Their name, and how
/// many they are.
fn of_others(name: &str, group: &Group) -> (String, u32) {
    match group.kind {
        Kind::Plain | Kind::Pair => (name.to_owned(), group.count),
        Kind::Herd => (format!("{name}_herd"), group.count),
        Kind::Family | Kind::Storm => (format!("{name}_child"), group.count),
        // Only the first: nobody takes such a thread to another CPU for long.
        Kind::Threads => (format!("{name}_0"), 1),
    }
}

/// Who changes the CPUs of a group's tasks.
fn watch(text: &mut String, name: &str, group: &Group, warden: &Warden) {
    let (of, count) = of_others(name, group);
    let confine = |cpus: &[u32]| {
        let action = format!("{{ confine = \"{of}[i]\", cpus = {cpus:?} }}");
        format!("{{ for = \"i\", to = {count}, do = [{action}, {{ run_us = 1 }}] }}")
    };
    let pause = format!("{{ sleep_us = {} }}", warden.every_us);
    let steps = [
        pause.clone(),
        confine(&warden.cpus),
        pause,
        confine(&group.cpus),
    ];
    helper(text, &format!("{name}_warden"), &steps);
}

fn helper(text: &mut String, name: &str, steps: &[String]) {
    let program = forever(steps);
    let _ = write!(
        text,
        "\n[[task]]\nname = \"{name}\"\nprogram = [\n    {program},\n]\n"
    );
}

fn over(group: &Group, actions: &[String]) -> String {
    match group.times {
        None => forever(actions),
        Some(times) => format!("{{ repeat = {times}, do = [{}] }}", actions.join(", ")),
    }
}

fn forever(actions: &[String]) -> String {
    format!("{{ loop = [{}] }}", actions.join(", "))
}

/// A loop has to take time.
fn body(actions: &[Action], pause_us: u64) -> Vec<String> {
    let mut texts: Vec<String> = actions.iter().map(|each| action(each, pause_us)).collect();
    if !actions.iter().any(Action::takes_time) {
        texts.push("{ run_us = 100 }".to_string());
    }
    texts
}

fn action(action: &Action, pause_us: u64) -> String {
    let mut text = plain(action);
    if action.pauses() && pause_us > 0 {
        let _ = write!(text, ", {{ sleep_us = {pause_us} }}");
    }
    text
}

fn plain(action: &Action) -> String {
    let span = |key: &str, low: u64, high: u64| {
        if low == high {
            format!("{{ {key} = {low} }}")
        } else {
            format!("{{ {key} = {{ uniform = [{low}, {high}] }} }}")
        }
    };
    match action {
        Action::Run(low, high) => span("run_us", *low, *high),
        Action::Sleep(low, high) => span("sleep_us", *low, *high),
        Action::Timer(us) => format!("{{ timer_us = {us} }}"),
        Action::Yield => "{ yield = true }".to_string(),
        Action::Nice(nice) => format!("{{ nice = {nice} }}"),
        Action::Enter(place) => format!("{{ cgroup = \"{}\" }}", cgroup_text::name(*place)),
        Action::Affinity(cpus) => format!("{{ affinity = {cpus:?} }}"),
        Action::Policy(policy) => format!("{{ policy = \"{policy}\" }}"),
        Action::RealTime(policy, us) => {
            format!("{{ policy = \"{policy}\" }}, {{ run_us = {us} }}, {{ policy = \"other\" }}")
        }
        Action::Critical(us) => {
            format!("{{ lock = \"mutex\" }}, {{ run_us = {us} }}, {{ unlock = \"mutex\" }}")
        }
        Action::Kept(us) => {
            format!(
                "{{ migrate_disable = [{{ run_us = {us} }}, {{ sleep_us = {us} }}, {{ run_us = {us} }}] }}"
            )
        }
        Action::Disk => "{ write = 4096, sync = true }".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_random_case_is_a_good_pair_of_files() {
        for run in 0..500 {
            let case = crate::generate::case(
                3,
                run,
                crate::generate::Draws::default(),
                &policy::Manifest::default(),
                &BTreeMap::new(),
            );
            let machine =
                machine::Machine::from_toml(&machine(&case.machine), "machine.toml").unwrap();
            assert_eq!(machine.cpus() as u32, case.machine.cpus());
            let text = workload(&case);
            let plan = workload::Workload::from_toml(&text, "workload.toml")
                .and_then(|workload| workload.plan(1, &BTreeMap::new(), case.machine.cpus(), 1))
                .unwrap_or_else(|error| panic!("{error:#}\n{text}"));
            let tasks: u32 = plan.groups.iter().map(|group| group.count).sum();
            assert_eq!(tasks, case.tasks(), "{text}");
        }
    }
}
