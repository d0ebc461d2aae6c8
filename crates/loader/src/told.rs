// SPDX-License-Identifier: GPL-2.0-or-later
//! What a scheduler's own program said of its end. It prints the kernel's reason among a long dump, before it or after
//! it, so that its last line is rarely the one that tells why.

/// Reasons with which the kernel throws a scheduler out.
const REASONS: [&str; 3] = ["runnable task stall", "scx_bpf_error", "runtime error"];

/// Why the kernel threw the scheduler out, if the program says that it did.
pub fn ejection(said: &str) -> Option<String> {
    // The rest may still be being written.
    let said = &said[..said.rfind('\n').map_or(0, |end| end + 1)];
    let exits = said
        .lines()
        .filter_map(|line| line.split_once("EXIT: "))
        .map(|(_, reason)| reason);
    // The head of a dump, and the reason below it.
    let heads = said
        .lines()
        .zip(said.lines().skip(1))
        .filter(|(head, _)| head.contains("] triggered exit kind "))
        .map(|(_, reason)| reason);
    exits
        .chain(heads)
        .map(str::trim)
        .find(|reason| REASONS.iter().any(|known| reason.starts_with(known)))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHY: &str = "runnable task stall (sh[9] failed to run for 30.1s)";

    #[test]
    fn the_reason_is_told_and_not_the_last_line() {
        let dump = format!(
            "kworker/u8:0[12] triggered exit kind 1026:\n  {WHY}\n\nCPU states\n----------\n\n~~~~ TRUNCATED ~~~~\n"
        );
        assert_eq!(ejection(&dump).unwrap(), WHY);
        assert_eq!(ejection(&format!("{dump}\nEXIT: {WHY}\n")).unwrap(), WHY);
        assert_eq!(
            ejection(&format!("scx_mine: EXIT: {WHY}\n{dump}")).unwrap(),
            WHY
        );
    }

    #[test]
    fn other_ends_are_none() {
        assert_eq!(ejection(""), None);
        assert_eq!(ejection("EXIT: unregistered from user space\n"), None);
        assert_eq!(ejection("b[7] triggered exit kind 64:\n"), None);
        assert_eq!(ejection("EXIT: runnable task stall"), None);
    }
}
