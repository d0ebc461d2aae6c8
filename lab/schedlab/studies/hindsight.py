# SPDX-License-Identifier: GPL-2.0-or-later
"""A study without what was chosen after its results were known: the same cells with each choice's other value.

They are plain parameters of machines, workloads and schedulers; machines with other values are files of their own.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from schedlab import atomic
from schedlab.catalogue import machines, toml
from schedlab.errors import InputError
from schedlab.studies.study_file import Choice, Experiment, Study


def without(study: Study, folder: Path) -> Study:
    """Machine files go into the folder. Raises InputError where a choice is not as the study or its machine has it."""
    files = _machines(study, folder)
    experiments = []
    for experiment in study.experiments:
        for choice in study.hindsight:
            if choice.experiment == experiment.name:
                experiment = _changed(study, experiment, choice)
        own = {name: files[name] for name in experiment.machines if name in files}
        experiments.append(replace(experiment, machine_files=own))
    return replace(study, experiments=experiments)


def _machines(study: Study, folder: Path) -> dict[str, Path]:
    """The machines that a choice is about, with its other value."""
    files = {}
    for name in dict.fromkeys(choice.machine for choice in study.hindsight if not choice.experiment):
        data = toml.read(machines.path(name))
        for choice in study.hindsight:
            if choice.machine == name and not choice.experiment:
                table, _, key = choice.key.rpartition(".")
                _change(study, choice, data.get(table, {}) if table else data, key)
        folder.mkdir(parents=True, exist_ok=True)
        files[name] = (folder / f"{name}.toml").resolve()
        atomic.write(files[name], _text(data))
    return files


def _changed(study: Study, experiment: Experiment, choice: Choice) -> Experiment:
    if choice.scheduler:
        name, _, tunables = experiment.schedulers[choice.scheduler].partition(":")
        values = dict(pair.split("=", 1) for pair in tunables.split("+") if pair)
        _change(study, choice, values, choice.key)
        ours = ":".join(filter(None, [name, "+".join(f"{key}={value}" for key, value in values.items())]))
        return replace(experiment, schedulers=experiment.schedulers | {choice.scheduler: ours})
    if choice.machine:
        params = dict(experiment.machine_params.get(choice.machine, {}))
        _change(study, choice, params, choice.key)
        return replace(experiment, machine_params=experiment.machine_params | {choice.machine: params})
    params = dict(experiment.params)
    _change(study, choice, params, choice.key)
    return replace(experiment, params=params)


def _change(study: Study, choice: Choice, values: dict[str, Any], key: str) -> None:
    if key not in values or values[key] != choice.chosen:
        there = f"there it is {values[key]!r}" if key in values else f"there are {', '.join(values) or 'none'}"
        raise InputError(
            f"{study.path}: hindsight: key '{choice.key}' of {choice.owner}: expected the value it has, and {there}, "
            f"got {choice.chosen!r}"
        )
    if choice.otherwise is None:
        del values[key]
    else:
        values[key] = choice.otherwise


def _text(data: Mapping[str, Any]) -> str:
    """TOML of a table of values and tables of values; numbers, strings and lists are written as in JSON."""
    tables = {key: value for key, value in data.items() if isinstance(value, dict)}
    lines = list(_lines((key, value) for key, value in data.items() if key not in tables))
    for name, table in tables.items():
        lines += ["", f"[{name}]", *_lines(table.items())]
    return "\n".join(lines) + "\n"


def _lines(pairs: Iterable[tuple[str, Any]]) -> Iterable[str]:
    return (f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in pairs)
