// SPDX-License-Identifier: GPL-2.0-or-later
//! What libbpf and the kernel's verifier say, kept until something fails, then told in plain words.

use std::sync::Mutex;

use libbpf_rs::{PrintLevel, set_print};

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Most of the verifier's own lines shown without `--verbose`.
const CONTEXT: usize = 4;

/// Collect from now on; `verbose` prints everything as it comes.
pub fn start(verbose: bool) {
    LINES.lock().expect("no panic while held").clear();
    set_print(Some(if verbose {
        (PrintLevel::Debug, print)
    } else {
        (PrintLevel::Warn, keep)
    }));
}

fn print(level: PrintLevel, text: String) {
    eprint!("{text}");
    if level == PrintLevel::Warn {
        keep(level, text);
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "libbpf-rs gives the signature"
)]
fn keep(_level: PrintLevel, text: String) {
    let mut lines = LINES.lock().expect("no panic while held");
    lines.extend(text.lines().map(|line| line.trim_end().to_owned()));
}

/// Why a load failed.
#[derive(Debug, PartialEq, Eq)]
pub enum Why {
    /// The policy is at fault, or nobody knows.
    Policy(String),
    /// The kernel cannot load any such policy.
    Kernel(String),
}

/// From the lines collected; `None` if they do not tell.
pub fn explain() -> Option<Why> {
    explain_lines(&LINES.lock().expect("no panic while held"))
}

fn explain_lines(lines: &[String]) -> Option<Why> {
    if let Some(kfunc) = lines.iter().find_map(|line| broken_kfunc(line)) {
        return Some(Why::Kernel(format!(
            "this kernel's type information is broken: {kfunc} shows an argument that should be hidden (built with too \
             old a pahole); `schedlab doctor` names kernels that do"
        )));
    }
    if let Some(missing) = lines.iter().find_map(|line| missing_kfunc(line)) {
        return Some(Why::Kernel(format!(
            "this kernel lacks {missing}, which the scheduler calls"
        )));
    }
    if lines
        .iter()
        .any(|line| line.contains("cannot use helper bpf_probe_read"))
    {
        return Some(Why::Kernel(
            "this kernel is locked down (confidentiality), so that no scheduler may read its memory; one can be loaded \
             with lockdown=integrity, see kernel_lockdown(7)"
                .into(),
        ));
    }
    if let Some(refusal) = verifier(lines) {
        return Some(Why::Policy(refusal));
    }
    let plain = |line: &String| {
        let line = line.strip_prefix("libbpf: ").unwrap_or(line).trim();
        (!line.is_empty()).then(|| line.to_owned())
    };
    lines.iter().find_map(plain).map(Why::Policy)
}

/// libbpf: `extern (func ksym) 'NAME': func_proto [58] incompatible with vmlinux [48700]`; the verifier, where a policy
/// declares it as the kernel shows it: `cannot find function NAME_impl in BTF`.
fn broken_kfunc(line: &str) -> Option<&str> {
    if line.contains("incompatible with vmlinux") {
        return line.split('\'').nth(1);
    }
    line.split_once("cannot find function ")?
        .1
        .strip_suffix("_impl in BTF")
}

/// libbpf: `extern (func ksym) 'NAME': not found in kernel or module BTFs`.
fn missing_kfunc(line: &str) -> Option<&str> {
    let (head, _) = line.split_once("': not found in kernel")?;
    Some(head.rsplit_once('\'')?.1)
}

/// The verifier's complaint is what stands last in its log, before the statistics.
fn verifier(lines: &[String]) -> Option<String> {
    let begin = lines
        .iter()
        .position(|line| line.contains("BEGIN PROG LOAD LOG"))?;
    let program = lines[begin].split('\'').nth(1).unwrap_or("a program");
    let log: Vec<&str> = lines[begin + 1..]
        .iter()
        .take_while(|line| !line.contains("END PROG LOAD LOG"))
        .map(|line| line.trim())
        .filter(|line| !line.is_empty() && !is_statistics(line))
        .collect();
    let (complaint, before) = log.split_last()?;
    let mut text = format!("the kernel's verifier refused {program}: {complaint}");
    if let Some(place) = place(before) {
        text.push_str("\n    ");
        text.push_str(&place);
    }
    if let Some(meaning) = meaning(complaint) {
        text.push_str("\n    that is: ");
        text.push_str(meaning);
    }
    for line in &before[before.len().saturating_sub(CONTEXT)..] {
        text.push_str("\n    ");
        text.push_str(line);
    }
    Some(text)
}

/// Ours, where no policy's author has to look.
const HEADERS: [&str; 3] = ["scx.h:", "policy.h:", "types.h:"];

/// The policy's source line (`; TEXT @ FILE:LINE`) and the instruction (`7: (61) …`) that the verifier was at.
fn place(log: &[&str]) -> Option<String> {
    let source = log.iter().rev().find_map(|line| {
        let (text, place) = line.strip_prefix("; ")?.rsplit_once(" @ ")?;
        if HEADERS.iter().any(|header| place.starts_with(header)) {
            return None;
        }
        Some(format!("at {place}: {}", text.trim_end_matches(';')))
    });
    let instruction = log.iter().rev().find_map(|line| {
        let (number, rest) = line.split_once(": (")?;
        let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| {
            format!(
                "instruction {number}: ({}",
                rest.split(';').next().unwrap_or(rest).trim()
            )
        })
    });
    match (source, instruction) {
        (Some(source), Some(instruction)) => Some(format!("{source}; {instruction}")),
        (source, instruction) => source.or(instruction),
    }
}

/// The verifier's commonest complaints, in the words of a policy's author.
fn meaning(complaint: &str) -> Option<&'static str> {
    const KNOWN: [(&str, &str); 9] = [
        (
            "infinite loop",
            "a loop has no bound that the verifier can see; for_range has one",
        ),
        (
            "back-edge",
            "a loop has no bound that the verifier can see; for_range has one",
        ),
        (
            "too complex",
            "a loop has no bound, or too many branches follow each other; for_range has one",
        ),
        (
            "program is too large",
            "a loop has no bound, or one that is too high to follow it to its end",
        ),
        (
            "or_null'",
            "a pointer may be NULL here; test it before it is used",
        ),
        (
            "invalid mem access 'scalar'",
            "a number is used as a pointer; a pointer was lost on the way, or never tested",
        ),
        (
            "unbounded memory access",
            "an index has no bound that the verifier can see; cpu_index() gives one",
        ),
        (
            "invalid access to map value",
            "an index may lie outside its array; cpu_index() bounds it",
        ),
        (
            "Unreleased reference",
            "something was acquired and not given back on some way out",
        ),
    ];
    let known = KNOWN.iter().find(|(mark, _)| complaint.contains(mark));
    known.map(|(_, words)| *words)
}

fn is_statistics(line: &str) -> bool {
    [
        "processed ",
        "verification time ",
        "stack depth ",
        "insns_processed",
        "max_states",
        "cur state: ",
        "old state: ",
    ]
    .iter()
    .any(|start| line.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_verifiers_last_word_comes_first() {
        let log = lines(
            "libbpf: prog 'bfs_enqueue': BPF program load failed: -EACCES\n\
             libbpf: prog 'bfs_enqueue': -- BEGIN PROG LOAD LOG --\n\
             0: R1=ctx() R10=fp0\n\
             ; int x = a[i]; @ bfs.h:12\n\
             7: (61) r0 = *(u32 *)(r1 +0)\n\
             R1 unbounded memory access, make sure to bounds check any such access\n\
             verification time 89 usec\n\
             processed 8 insns (limit 1000000) max_states_per_insn 0\n\
             -- END PROG LOAD LOG --\n\
             libbpf: prog 'bfs_enqueue': failed to load: -EACCES\n",
        );
        let Some(Why::Policy(text)) = explain_lines(&log) else {
            panic!("the verifier was not heard")
        };
        let mut said = text.lines();
        assert_eq!(
            said.next().unwrap(),
            "the kernel's verifier refused bfs_enqueue: R1 unbounded memory access, make sure to bounds check any \
             such access"
        );
        assert_eq!(
            said.next().unwrap(),
            "    at bfs.h:12: int x = a[i]; instruction 7: (61) r0 = *(u32 *)(r1 +0)"
        );
        assert_eq!(
            said.next().unwrap(),
            "    that is: an index has no bound that the verifier can see; cpu_index() gives one"
        );
        assert_eq!(said.last().unwrap(), "    7: (61) r0 = *(u32 *)(r1 +0)");
    }

    #[test]
    fn an_endless_loop_is_said_to_be_one_and_shown_in_the_policy() {
        let log = lines(
            "libbpf: prog 'mine_dispatch': -- BEGIN PROG LOAD LOG --\n\
             ; while (scx_bpf_dsq_nr_queued(SHARED)) { @ mine.bpf.c:43\n\
             14: (56) if w0 != 0x0 goto pc+1       ; R0=scalar()\n\
             ; if (ksym_exists(scx_bpf_dsq_move_to_local___v1)) @ scx.h:292\n\
             infinite loop detected at insn 23\n\
             cur state: R7=rdonly_mem(sz=0) R10=fp0\n\
             old state: R7=rdonly_mem(sz=0) R10=fp0\n\
             processed 19 insns (limit 1000000)\n\
             -- END PROG LOAD LOG --\n",
        );
        let Some(Why::Policy(text)) = explain_lines(&log) else {
            panic!("the verifier was not heard")
        };
        let said: Vec<&str> = text.lines().take(3).collect();
        assert_eq!(
            said,
            [
                "the kernel's verifier refused mine_dispatch: infinite loop detected at insn 23",
                "    at mine.bpf.c:43: while (scx_bpf_dsq_nr_queued(SHARED)) {; instruction 14: (56) if w0 != 0x0 goto pc+1",
                "    that is: a loop has no bound that the verifier can see; for_range has one",
            ]
        );
    }

    #[test]
    fn a_missing_kfunc_is_named() {
        let log = lines(
            "libbpf: extern (func ksym) 'scx_bpf_create_dsq': not found in kernel or module BTFs\n",
        );
        assert_eq!(
            explain_lines(&log).unwrap(),
            Why::Kernel("this kernel lacks scx_bpf_create_dsq, which the scheduler calls".into())
        );
    }

    #[test]
    fn broken_type_information_is_the_kernels_fault() {
        for line in [
            "libbpf: extern (func ksym) 'scx_bpf_create_dsq': func_proto [58] incompatible with vmlinux [48700]",
            "cannot find function scx_bpf_create_dsq_impl in BTF",
        ] {
            let Some(Why::Kernel(text)) = explain_lines(&lines(line)) else {
                panic!("{line}")
            };
            assert!(text.contains("broken: scx_bpf_create_dsq shows"), "{text}");
        }
    }

    #[test]
    fn a_lockdown_is_the_kernels_word_not_the_policys_fault() {
        let log = lines(
            "libbpf: prog 'bfs_exit': -- BEGIN PROG LOAD LOG --\n\
             8: (85) call bpf_probe_read_str#45\n\
             program of this type cannot use helper bpf_probe_read_str#45\n\
             -- END PROG LOAD LOG --\n",
        );
        let Some(Why::Kernel(text)) = explain_lines(&log) else {
            panic!("the lockdown was not seen")
        };
        assert!(text.contains("lockdown=integrity"), "{text}");
        assert!(!text.contains('\n'), "{text}");
    }

    #[test]
    fn anything_else_is_libbpfs_first_line() {
        let log = lines(
            "libbpf: failed to find valid kernel BTF\nlibbpf: Error loading vmlinux BTF: -ESRCH\n",
        );
        assert_eq!(
            explain_lines(&log).unwrap(),
            Why::Policy("failed to find valid kernel BTF".into())
        );
        assert_eq!(explain_lines(&[]), None);
    }
}
