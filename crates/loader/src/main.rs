// SPDX-License-Identifier: GPL-2.0-or-later
fn main() -> std::process::ExitCode {
    // A task of a workload that replaced its program by this one does not come back from here.
    executor::tasks::reenter();
    // Nor does the process that keeps an application.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|arg| arg == executor::application::SUBCOMMAND)
    {
        return loader::error::report("schedlab-host", executor::application::keep());
    }
    loader::cli::main(std::env::args_os().collect())
}
