// SPDX-License-Identifier: GPL-2.0-or-later
//! Manual pages, made from the same definitions as `--help`.

use std::io::Write;

use anyhow::Result;
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use policy::Manifest;

use crate::scx_stats::SOCKET;

/// A program's page.
pub fn print(command: Command) -> Result<()> {
    write(&mut std::io::stdout(), command, &Roff::new())
}

/// A scheduler's page, which also tells what its help leaves to the manual.
pub fn print_scheduler(command: Command, manifest: &Manifest) -> Result<()> {
    let name = command.get_name().to_owned();
    write(&mut std::io::stdout(), command, &sections(&name, manifest))
}

fn write(out: &mut dyn Write, command: Command, more: &Roff) -> Result<()> {
    Man::new(command)
        .section("8")
        .manual("schedlab")
        .render(out)?;
    out.write_all(more.to_roff().as_bytes())?;
    Ok(())
}

fn sections(name: &str, manifest: &Manifest) -> Roff {
    let mut page = Roff::new();
    if !manifest.stats.is_empty() {
        page.control("SH", ["STATISTICS"]);
        page.text([roman(
            "What --stats and --monitor print, and what any program is told that asks at the socket below in the words of \
             scx_stats, is what was counted since it was printed or asked for last:",
        )]);
        for stat in &manifest.stats {
            item(&mut page, &stat.name, &stat.about);
        }
    }
    page.control("SH", ["EXIT STATUS"]);
    for (status, when) in [
        (
            "0",
            "the scheduler ran until a signal ended it, or until whoever may do so took it out of the kernel",
        ),
        (
            "1",
            "the kernel threw the scheduler out; standard error has the reason",
        ),
        ("2", "an option, or a file that it names, is wrong"),
        (
            "3",
            "nothing can be loaded here: no sched_ext, no root, or another scheduler runs, whose name is told",
        ),
    ] {
        item(&mut page, status, when);
    }
    page.control("SH", ["FILES"]);
    for (path, what) in [
        (
            "/sys/kernel/sched_ext/root/ops",
            "the name of the scheduler that runs, and its version",
        ),
        (
            SOCKET,
            "where the running scheduler tells its statistics, to root",
        ),
        (
            "/etc/default/scx",
            "where the services scx.service and NAME.service find options: SCX_FLAGS, if SCX_SCHEDULER is the scheduler",
        ),
    ] {
        item(&mut page, path, &what.replace("NAME", name));
    }
    page
}

fn item(page: &mut Roff, term: &str, text: &str) {
    page.control("TP", []);
    page.text([bold(term)]);
    page.text([roman(text)]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::manifest::Stat;

    #[test]
    fn a_page_has_options_counters_status_and_files() {
        let manifest = Manifest {
            stats: vec![Stat {
                name: "far_picks".into(),
                about: "picks from afar".into(),
            }],
            ..Manifest::default()
        };
        let command = Command::new("scx_bare").about("A test.");
        let mut page = Vec::new();
        write(&mut page, command, &sections("scx_bare", &manifest)).unwrap();
        let page = String::from_utf8(page).unwrap();
        for part in [
            ".TH scx_bare 8",
            ".SH STATISTICS",
            "\\fBfar_picks\\fR\npicks from afar",
            ".SH \"EXIT STATUS\"",
            "/var/run/scx/root/stats",
            "scx_bare.service",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
    }
}
