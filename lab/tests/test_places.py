# SPDX-License-Identifier: GPL-2.0-or-later
"""Every place keeps the protocol of places, and the options that name a guest say what they mean by default."""

import importlib
import inspect

import pytest

from schedlab.campaign.where import PLACES
from schedlab.cli.program import build_parser
from schedlab.places.place import Place
from schedlab.vm.kernel import SERIES


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("function", ["engine", "run"])
def test_a_place_has_the_functions_of_the_protocol(name: str, function: str) -> None:
    module = importlib.import_module(f"schedlab.places.{name}")
    wanted = inspect.signature(getattr(Place, function))
    parameters = [parameter for parameter in wanted.parameters.values() if parameter.name != "self"]
    assert inspect.signature(getattr(module, function)) == wanted.replace(parameters=parameters)


@pytest.mark.parametrize("action", ["setup", "exec", "shell"])
def test_the_default_kernel_is_the_one_that_help_names(action: str, capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(["vm", action, "--help"])
    assert f"a series such as {SERIES} (the default)" in " ".join(capsys.readouterr().out.split())
