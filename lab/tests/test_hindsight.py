# SPDX-License-Identifier: GPL-2.0-or-later
"""Studies without what was chosen after results were known, and the scores of both beside one another."""

import csv
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.tests.test_studies import WHOLE, written
from schedlab.catalogue import machines
from schedlab.errors import InputError
from schedlab.studies import beside, experiments, hindsight, published, score, study_file
from schedlab.studies.experiments import Measured

_CHOICES = """
[[hindsight]]
machine = "t5600"
key = "costs.llc_kib"
with = 2048
without = 1024
why = "w"
[[hindsight]]
machine = "t5600"
key = "costs.lock_waiter_ns"
with = 35
why = "w"
[[hindsight]]
experiment = "counter"
key = "work_us"
with = 7
without = 9
why = "w"
[[hindsight]]
experiment = "counter"
scheduler = "BFS"
key = "rules"
with = "311"
without = "424"
why = "w"
"""
_STUDY = WHOLE + "params = { work_us = 7 }\n" + _CHOICES


def test_each_choice_takes_its_other_value_and_nothing_else_changes(tmp_path: Path):
    study = written(tmp_path, _STUDY)
    other = hindsight.without(study, tmp_path / "machines")
    (part,) = experiments.parts(other, tmp_path, "sim", None, None, 1)
    assert part.request.params == {"counter": {"work_us": "9"}}
    assert [arm.label for arm in part.request.arms] == ["bfs:rules=424", "cfs:rules=2.6.31"]
    (machine,) = part.request.machines
    assert (machine.name, machine.path) == ("t5600", tmp_path / "machines" / "t5600.toml")
    expected = tomllib.loads(machines.path("t5600").read_text())
    expected["costs"]["llc_kib"] = 1024
    del expected["costs"]["lock_waiter_ns"]
    assert tomllib.loads(machine.path.read_text()) == expected
    # What was asked for before is asked for still.
    (whole,) = experiments.parts(study, tmp_path, "sim", None, None, 1)
    assert whole.request.params == {"counter": {"work_us": "7"}}
    assert whole.request.machines[0].path == machines.path("t5600")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            ('key = "work_us"', 'key = "work"'),
            "key 'work' of counter: expected the value it has, and there are work_us",
        ),
        (("with = 7", "with = 8"), "key 'work_us' of counter: expected the value it has, and there it is 7, got 8"),
        (("with = 2048", "with = 1"), "key 'costs.llc_kib' of t5600: expected the value it has"),
        (
            ('"costs.llc_kib"', '"cost.llc_kib"'),
            "key 'cost.llc_kib' of t5600: expected the value it has, and there are none",
        ),
        (('key = "rules"', 'key = "rule"'), "key 'rule' of counter BFS: expected the value it has"),
    ],
)
def test_a_choice_that_is_not_so_is_an_error(tmp_path: Path, change: tuple[str, str], says: str):
    assert change[0] in _STUDY
    study = written(tmp_path, _STUDY.replace(*change))
    with pytest.raises(InputError) as error:
        hindsight.without(study, tmp_path / "machines")
    assert says in str(error.value)
    assert str(error.value).startswith(str(tmp_path / "some.toml"))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('machine = "t5600"', 'machine = "t5601"'), "hindsight 1: unknown machine 't5601'"),
        (('experiment = "counter"', 'experiment = "counted"'), "hindsight 3: unknown experiment 'counted'"),
        (('scheduler = "BFS"', 'scheduler = "BSF"'), "hindsight 4: unknown scheduler 'BSF'"),
        (('why = "w"', 'wy = "w"'), "hindsight 1: key 'why': expected a string"),
        (("without = 1024", "witout = 1024"), "hindsight 1: unknown key 'witout'"),
    ],
)
def test_a_choice_of_what_is_not_in_the_study_is_an_error(tmp_path: Path, change: tuple[str, str], says: str):
    with pytest.raises(InputError) as error:
        written(tmp_path, _STUDY.replace(change[0], change[1], 1))
    assert says in str(error.value)


@pytest.mark.parametrize("name", study_file.files())
def test_choices_of_committed_studies_are_so(name: str, tmp_path: Path):
    found = study_file.find(name)
    other = hindsight.without(found, tmp_path)
    assert (other != found) == bool(found.hindsight)
    for experiment in other.experiments:
        for machine in experiment.machines:
            machines.read(experiment.machine_file(machine))


def test_what_lies_beside_is_counted_like_ours(tmp_path: Path):
    study = written(tmp_path, WHOLE)
    claims = [claim for claim in published.claims("002") if claim.points > 0][:4]
    reproductions = score.reproduce(study, claims, Measured({}))
    there = tmp_path / "vm" / "some"
    there.mkdir(parents=True)
    words = ["agrees", "contradicted", "no call"]
    rows = [f"{claim.id},{word},emulated" for claim, word in zip(claims, words, strict=False)]
    (there / "claims.csv").write_text("\n".join(["id,outcome,tier", *rows]) + "\n")
    (found,) = beside.beside(tmp_path / "sim", ["some"])
    assert found.title == "the kernel"
    assert found.tiers[claims[0].id] == "emulated"
    assert [found.of(one) for one in reproductions] == [*words, "not measured"]
    calls = found.calls(reproductions)
    assert (calls.claims, calls.called, calls.right) == (4, 2, 1)
    # Not beside itself.
    assert beside.beside(tmp_path / "vm", ["some"]) == []
    (there / "claims.csv").write_text("id,outcome,tier\nx,perhaps,\n")
    with pytest.raises(InputError, match=r"claims\.csv: column 'outcome' of claim 'x'"):
        beside.beside(tmp_path / "sim", ["some"])


def test_the_score_without_hindsight_stands_beside_the_score(
    lab: Callable[..., subprocess.CompletedProcess], checkout: Path
):
    for name in ("published/claims.csv", "machines/t5600.toml", "workloads/counter.toml"):
        (checkout / name).parent.mkdir(exist_ok=True)
        shutil.copy(Path(__file__).resolve().parents[2] / name, checkout / name)
    text = _STUDY.replace("CFS =", '"CFS 2.6.31" =')
    (checkout / "studies" / "some.toml").write_text(text.replace("work_us = 7", "work_us = 7000"))
    refused = lab("study", "some", "--without-hindsight")
    assert refused.returncode == 2
    assert "key 'work_us' of counter: expected the value it has, and there it is 7000, got 7" in refused.stderr
    (checkout / "studies" / "some.toml").write_text(text)
    without = lab("study", "some", "--without-hindsight")
    assert without.returncode == 0, without.stderr
    kept = checkout / "results" / "studies" / "sim-without-hindsight" / "some"
    with (kept / "claims.csv").open(encoding="utf-8", newline="") as rows:
        assert any(row["outcome"] != "not measured" for row in csv.DictReader(rows))
    result = lab("study", "some")
    assert result.returncode == 0, result.stderr
    assert "without hindsight: called" in " ".join(result.stdout.split())
    page = (checkout / "results" / "studies" / "sim" / "some" / "report.html").read_text()
    assert "4 values were chosen after results were known" in page
    assert "without hindsight: called" in page
    tier = lab("study", "some", "--tier", "exact")
    assert (tier.returncode, tier.stderr) == (
        2,
        "schedlab: --tier exact: only the virtual machine has tiers (--on vm)\n",
    )
    elsewhere = lab("study", "some", "--without-hindsight", "--on", "vm")
    assert elsewhere.returncode == 2
    assert "--without-hindsight with --on vm: only the simulator takes a machine's parameters" in elsewhere.stderr
