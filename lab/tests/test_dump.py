# SPDX-License-Identifier: GPL-2.0-or-later
"""Debug dumps as facts: every dump of snapshots/dumps, which guests printed, whole and in the ways in which people have
such text. tests/vm_policies/test_dumps.py makes them again.
"""

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from schedlab.sched_ext import dump, dumps_in_text, explanation, stall
from schedlab.sched_ext.dump import Dump
from schedlab.sched_ext.stall import Stall

DUMPS = Path(__file__).with_name("snapshots") / "dumps"
NAMES = sorted(path.stem for path in DUMPS.glob("*.txt"))
STALLS = ["cut", "endless", "forgotten", "odd", "realtime", "unread"]


def text(name: str) -> str:
    return (DUMPS / f"{name}.txt").read_text(encoding="utf-8")


def only(written: str) -> Dump:
    found = dumps_in_text.find(written).dumps
    assert len(found) == 1, [each.why for each in found]
    return found[0]


def told(name: str) -> Stall:
    return stall.of(only(text(name)))


def changed(written: str, old: str, new: str) -> str:
    assert old in written
    return written.replace(old, new)


@pytest.mark.parametrize(
    ("name", "verdict", "place"),
    [
        ("cut", stall.FREE_CPU, "policy"),
        ("endless", stall.PREFERRED_OTHERS, "global"),
        ("forgotten", stall.FREE_CPU, "policy"),
        ("odd", stall.FREE_CPU, "policy"),
        ("realtime", stall.EXPLAINED_BY_REALTIME, "user"),
        ("unread", stall.HIDDEN_BY_WATCHDOG, "user"),
    ],
)
def test_a_stall_of_each_kind(name: str, verdict: str, place: str) -> None:
    what = told(name)
    assert what.dump.reason == "runnable task stall"
    assert what.task
    assert (what.verdict, what.task.place) == (verdict, place)
    assert what.dump.stalled
    assert (what.task.name, what.task.pid) == what.dump.stalled[:2]
    assert what.task.runnable_s == pytest.approx(what.dump.stalled[2], abs=0.01)
    assert what.task.migration_disabled is False
    assert what.dump.ops.endswith("_x86_64")


def test_ends_that_are_no_tasks_stall() -> None:
    refused = told("refused")
    assert (refused.verdict, refused.dump.kind) == (stall.NOT_A_STALL, 1025)
    watchdog = told("watchdog")
    assert watchdog.dump.watchdog_s == pytest.approx(2.004)
    assert (watchdog.verdict, watchdog.dump.stalled) == (stall.PREFERRED_OTHERS, None)


def test_a_name_is_nothing_but_a_name() -> None:
    assert told("odd").name.startswith("[red]x[1] b[")


def test_what_a_dump_leaves_out_was_idle_unless_the_dump_was_cut() -> None:
    assert told("odd").numbers(stall.ABSENT) == [1]
    cut = told("cut")
    assert cut.dump.truncated
    assert cut.numbers(stall.UNKNOWN) == [0]


def test_where_the_real_time_task_was_and_what_waited_beside() -> None:
    what = told("realtime")
    assert [(each.number, each.cpu and each.cpu.sched_class) for each in what.doing] == [(1, "rt")]
    assert {task.name for task in what.waiting_beside} == {"kworker/1:2", "ksoftirqd/1"}


PREFIXES = {
    "dmesg": "[   12.345678] ",
    "dmesg of a task": "[   12.345678][  T123] ",
    "dmesg -T": "[Tue Nov 24 12:00:00 2026] ",
    "journal": "Nov 24 12:00:00 host scx_mine[77]: ",
    "journal of the kernel": "Nov 24 12:00:00 host kernel: [   12.345678] ",
    "journal, iso": "2026-11-24T12:00:00+0300 host bash[9148]: ",
    "trace": "     kworker/u8:0-12      [001] d..1.   12.345678: sched_ext_dump: ",
    "quotation": "> ",
    "colours": "\x1b[31m",
    "pasted further right": "    ",
}


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES.keys())
@pytest.mark.parametrize("name", [*STALLS, "refused", "watchdog"])
def test_prefixes_change_nothing(name: str, prefix: str) -> None:
    with_prefix = "".join(f"{prefix}{line}" for line in text(name).splitlines(keepends=True))
    assert explanation.facts(stall.of(only(with_prefix))) == explanation.facts(told(name))


def test_carriage_returns_change_nothing() -> None:
    with_returns = text("forgotten").replace("\n", "\r\n")
    assert explanation.facts(stall.of(only(with_returns))) == explanation.facts(told("forgotten"))


@pytest.mark.parametrize("name", [*STALLS, "refused", "watchdog"])
def test_a_journal_with_the_newest_line_first(name: str) -> None:
    turned = "\n".join(reversed(text(name).splitlines()))
    assert explanation.facts(stall.of(only(turned))) == explanation.facts(told(name))


def test_the_log_the_loader_and_the_dump_tell_of_one_end() -> None:
    log = [line for line in text("kernel-log").splitlines() if "forgets" in line]
    log = ["Nov 24 12:00:00 host kernel: " + re.sub(r"^\[[^]]*\] ", "", line) for line in log]
    both = "\n".join(log) + "\n" + text("forgotten")
    assert explanation.facts(stall.of(only(both))) == explanation.facts(told("forgotten"))
    after = text("forgotten") + "\n".join(log)
    assert explanation.facts(stall.of(only(after))) == explanation.facts(told("forgotten"))
    # The loaders of sched_ext's tools print the reason after the dump.
    lines = [line for line in text("forgotten").splitlines() if "EXIT" not in line]
    after = "\n".join(["DEBUG DUMP", "=" * 80, *lines, "=" * 80, "", f"EXIT: {told('forgotten').dump.why}"])
    assert explanation.facts(stall.of(only(after))) == explanation.facts(told("forgotten"))


def test_several_dumps_in_their_order() -> None:
    found = dumps_in_text.find(text("forgotten") + text("realtime") + text("refused")).dumps
    assert [each.reason for each in found] == ["runnable task stall"] * 2 + ["scx_bpf_error"]
    assert [each.ops.partition("_")[0] for each in found] == ["forgets", "sound", "refuses"]
    twice = dumps_in_text.find(text("forgotten") * 2).dumps
    assert len(twice) == 2


def test_a_kernels_log_alone_names_the_task_and_no_more() -> None:
    found = dumps_in_text.find(text("kernel-log")).dumps
    assert [each.ops.partition("_0")[0] for each in found] == ["forgets", "pinned_unread"]
    what = stall.of(found[0])
    assert (what.verdict, what.task) == (stall.NOT_KNOWN, None)
    assert what.waited_s == pytest.approx(2.680)


def test_an_exit_line_alone() -> None:
    what = stall.of(only("Error: EXIT: runnable task stall (a[b](c)[7] failed to run for 30.1s)\n"))
    assert (what.name, what.waited_s) == ("a[b](c)[7]", 30.1)


@pytest.mark.parametrize("nothing", ["", "\n\n", "hello\n", "scx_mine: EXIT: unregistered from user space\n"])
def test_no_end_in_the_text(nothing: str) -> None:
    assert dumps_in_text.find(nothing).dumps == []


def older(written: str) -> str:
    """As releases before 6.19 print it: no scheduler, no CPU of the head, a sequence number of each CPU's."""
    written = re.sub(r"(?m)^\S+: root\n", "", written)
    written = re.sub(r" \*root ([+-])", r" \1", written)
    written = re.sub(r"(triggered exit kind \d+) on CPU \d+:", r"\1:", written)
    return re.sub(r"cpu_rel=0 ksync=", "cpu_rel=0 ops_qseq=7 pnt_seq=", written)


def linux_6_12(written: str) -> str:
    """Nor did that say whether migration is disabled, nor count events."""
    written = re.sub(r" no_mig=\d", "", older(written))
    return written.partition("\nEvent counters")[0]


@pytest.mark.parametrize("name", ["endless", "forgotten", "realtime", "unread"])
@pytest.mark.parametrize("release", [older, linux_6_12])
def test_older_releases(name: str, release: Callable[[str], str]) -> None:
    what = stall.of(only(release(text(name))))
    assert what.verdict == told(name).verdict
    assert what.task
    assert what.task.fields["cpus"]
    assert what.task.migration_disabled is (None if release is linux_6_12 else False)


def test_the_end_of_a_dump_of_6_12_may_be_missing() -> None:
    """It has no event counters, so that nobody knows whether the CPU that is not listed was idle."""
    assert stall.of(only(linux_6_12(text("odd")))).verdict == stall.NOT_KNOWN


def test_a_migration_that_is_disabled() -> None:
    what = stall.of(only(changed(text("unread"), "cpus=2 no_mig=0", "cpus=2 no_mig=1")))
    assert what.task
    assert what.task.migration_disabled
    assert "its migration was disabled" in explanation.sentences(what)[0]


def test_a_class_without_a_symbol_is_unknown_unless_the_task_is_marked() -> None:
    hidden = changed(text("realtime"), "rt_sched_class", "0xffffffff980d2f20")
    assert stall.of(only(hidden)).verdict == stall.NOT_KNOWN
    marked = changed(text("endless"), "ext_sched_class", "0xffffffff980d2f20")
    assert stall.of(only(marked)).verdict == stall.PREFERRED_OTHERS


def test_real_time_on_some_cpus_explains_a_part() -> None:
    free = changed(text("realtime"), "cpus=2 no_mig=0", "cpus=3 no_mig=0")
    assert stall.of(only(free)).verdict == stall.EXPLAINED_IN_PART


def test_the_helper_that_ends_the_scheduler_is_no_explanation() -> None:
    helper = changed(text("realtime"), "curr=sh[345]", "curr=sched_ext_helper[345]")
    assert stall.of(only(helper)).verdict == stall.NOT_KNOWN


def test_a_real_time_task_at_that_moment_is_no_proof() -> None:
    """Nothing else waited there."""
    alone = re.sub(r"(?m)^  R kworker/1:2.*\n(?:.+\n)*", "", text("realtime"))
    what = stall.of(only(alone))
    assert what.verdict == stall.EXPLAINED_BY_REALTIME
    assert "can explain it" in explanation.sentences(what)[2]
    assert "explains it" in explanation.sentences(told("realtime"))[2]


def test_a_stalled_task_that_the_dump_does_not_list() -> None:
    what = stall.of(only(text("cut")[: text("cut").index("  R sh[")] + "\n~~~~ TRUNCATED ~~~~\n"))
    assert (what.verdict, what.task) == (stall.NOT_KNOWN, None)
    assert "the dump ends before that task" in explanation.sentences(what)[0]


def test_a_lockup_in_the_same_text_is_named() -> None:
    log = "[ 9.1] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:\n"
    found = dumps_in_text.find(log + text("forgotten"))
    assert found.lockups == ["an RCU stall"]
    assert "an RCU stall" in explanation.sentences(stall.of(found.dumps[0]), found.lockups)[2]
    message = "runtime error (soft lockup - CPU 3 stuck for 22s)"
    assert stall.of(only(f"EXIT: {message}\n")).verdict == stall.LOCKED_UP


def test_a_dump_that_sysrq_asked_for() -> None:
    asked = re.sub(r"(?m)^\S+ triggered exit kind .*\n.*\n", "Debug dump triggered by sysrq-D\n", text("forgotten"))
    asked = "\n".join(line for line in asked.splitlines() if "EXIT" not in line)
    what = stall.of(only(asked))
    assert what.dump.sysrq
    assert what.verdict == stall.FREE_CPU
    assert what.task
    assert what.name == f"sh[{what.task.pid}]"


def test_masks() -> None:
    task = dump.Task("a", 1, 0, False, 0, {"cpus": "1,00000003"})
    assert task.cpus == {0, 1, 32}
    for damaged in ("", "xyz", "f" * 5000):
        task.fields["cpus"] = damaged
        assert task.cpus is None


def test_cpus_as_words() -> None:
    assert explanation.cpu_list([1]) == "CPU 1"
    assert explanation.cpu_list([3, 0, 1, 2, 8]) == "CPUs 0-3 and 8"


@pytest.mark.parametrize("name", NAMES)
def test_damage_never_breaks_it(name: str) -> None:
    """Cut lines, lost lines, other characters, lines twice: always sentences, or no dump."""
    dice = random.Random(name)
    for _ in range(150):
        damaged = damage(dice, text(name))
        found = dumps_in_text.find(damaged)
        for each in found.dumps:
            what = stall.of(each)
            told = explanation.sentences(what, found.lockups)
            assert len(told) == 3
            assert all(sentence and "\n" not in sentence and "\x1b" not in sentence for sentence in told)
            assert explanation.facts(what)["verdict"] == what.verdict
            assert explanation.next_step(what, "dump.txt")


def damage(dice: random.Random, written: str) -> str:
    for _ in range(dice.randrange(1, 12)):
        at = dice.randrange(len(written) + 1)
        length = dice.choice([1, 3, 20, 200])
        junk = "".join(dice.choice("[]()=:*-+ 0123456789abcdefRCPU\n\t\x00\x1b\u202e%{}") for _ in range(length))
        kind = dice.randrange(4)
        if kind == 0:
            written = written[:at] + written[at + length :]
        elif kind == 1:
            written = written[:at] + junk + written[at:]
        elif kind == 2:
            written = written[:at] + written[at : at + length] * 2 + written[at + length :]
        else:
            written = written[:at] if dice.random() < 0.2 else written[:at] + junk + written[at + length :]
    return written


def test_a_long_line_takes_no_long_time() -> None:
    for line in ("[1]" * 100_000, "EXIT: " + "(" * 100_000, " " * 100_000 + "x", "rcu " * 100_000):
        dumps_in_text.find(f"CPU states\nCPU 0 : nr_run=1\n{line}\n")
