# SPDX-License-Identifier: GPL-2.0-or-later
"""The file of hosts, what is told of them, and what voids a block. What runs on hosts: tests/fleet."""

from collections.abc import Callable
from pathlib import Path

import pytest

from schedlab import foreign
from schedlab.campaign import fleet_file
from schedlab.collect import hosts
from schedlab.collect.store import Store
from schedlab.errors import InputError
from schedlab.places import ssh_session

_GOOD = """\
[defaults]
user = "root"
identity = "keys/fleet"
cpus = 8
options = ["ProxyJump=gate"]
[hosts.left]
address = "10.0.0.1"
[hosts.right]
address = "right"
port = 2222
user = "lab"
cpus = 16
options = []
[limits]
busy_pct = 2.5
retries = 0
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "fleet").write_text("a key")
    path = tmp_path / "hosts.toml"
    path.write_text(_GOOD)
    return path


def test_a_hosts_own_table_goes_before_the_defaults(file: Path) -> None:
    fleet = fleet_file.read(file)
    left, right = fleet.hosts
    assert (left.user, left.port, left.cpus, left.options) == ("root", 0, 8, ("ProxyJump=gate",))
    assert (right.user, right.port, right.cpus, right.options) == ("lab", 2222, 16, ())
    assert left.identity == right.identity == str(file.parent / "keys" / "fleet")
    assert right.destination == "lab@right port 2222"
    assert fleet.limits == fleet_file.Limits(busy_pct=2.5, retries=0)


def test_hosts_with_as_many_cpus_are_one_machine(file: Path) -> None:
    fleet = fleet_file.read(file)
    assert fleet.machines == "8-cpus,16-cpus"
    assert fleet.machine("16") == fleet.machine("16-cpus")
    assert fleet.machine("8-cpus").cpus == 8
    for name in ("4", "8-cpu", "host"):
        with pytest.raises(InputError, match=f"-m '{name}': expected a number of CPUs that a host of .* has: 8, 16"):
            fleet.machine(name)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[limits]", "[limit]", "unknown key 'limit'; did you mean limits?"),
        ("port =", "prot =", "hosts.right: unknown key 'prot'; did you mean port?"),
        ('user = "root"', 'adress = "x"', "defaults: unknown key 'adress'; known: cpus, identity, options, port, user"),
        ("retries", "retrys", "limits: unknown key 'retrys'; did you mean retries?"),
        ("retries = 0", "retries = 1.5", "key 'limits.retries': expected an integer from 0 to 100, got 1.5"),
        ("busy_pct = 2.5", "busy_pct = true", "key 'limits.busy_pct': expected a number from 0 to 100, got True"),
        ("port = 2222", "port = 0", "key 'hosts.right.port': expected an integer from 1 to 65535, got 0"),
        ("cpus = 16", 'cpus = "16"', "key 'hosts.right.cpus': expected an integer from 1 to 4096, got '16'"),
        ('"10.0.0.1"', '"-oProxyCommand=x"', "key 'hosts.left.address': expected a word, got '-oProxyCommand=x'"),
        ('"10.0.0.1"', '"a b"', "key 'hosts.left.address': expected a word, got 'a b'"),
        ('user = "lab"', 'user = "a@b"', "key 'hosts.right.user': expected a word, got 'a@b'"),
        (
            '["ProxyJump=gate"]',
            '["-F x"]',
            "key 'defaults.options': expected a list of strings such as 'ProxyJump=gate'",
        ),
        ("keys/fleet", "keys/other", "key 'defaults.identity': no such file: "),
        ('address = "right"\n', "", "key 'hosts.right.address': expected a name or number"),
        ("cpus = 8\n", "", "key 'hosts.left.cpus': expected how many CPUs are online on it"),
        ("[hosts.left]", '[hosts."../x"]', "key 'hosts.../x': expected a name of letters, digits, '-', '_' and '.'"),
        ("[hosts.left]", "[defaults.left]", "defaults: unknown key 'left'"),
    ],
)
def test_a_broken_file_is_one_line(file: Path, old: str, new: str, message: str) -> None:
    assert old in _GOOD
    file.write_text(_GOOD.replace(old, new, 1))
    with pytest.raises(InputError) as found:
        fleet_file.read(file)
    assert str(found.value).startswith(f"{file}: {message}")
    assert "\n" not in str(found.value)


def test_a_fleet_has_hosts(file: Path) -> None:
    file.write_text("[defaults]\n")
    with pytest.raises(InputError, match="key 'hosts': expected a table for each host"):
        fleet_file.read(file)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["compare", "bfs", "--on", "ssh:none.toml"], "none.toml: cannot be read: No such file or directory"),
        (["compare", "bfs", "--on", "ssh"], "unknown place 'ssh'"),
        (["study", "x", "--on", "ssh:hosts.toml"], "unknown place 'ssh:hosts.toml'"),
        (["compare", "bfs", "--on", "ssh:hosts.toml", "-m", "3"], "-m '3': expected a number of CPUs that a host of"),
        (["compare", "bfs", "--on", "ssh:hosts.toml", "--tier", "exact"], "--tier exact: only the virtual machine"),
        (["choose", "--on", "ssh:hosts.toml", "--", "true"], "--on ssh:hosts.toml and a command after --"),
        (["doctor", "--on", "vm"], "--on vm: expected ssh:FILE"),
    ],
)
def test_what_a_fleet_cannot_do_is_one_line(
    lab: Callable, checkout: Path, file: Path, words: list[str], message: str
) -> None:
    (checkout / "keys").mkdir()
    (checkout / "keys" / "fleet").write_text("a key")
    (checkout / "hosts.toml").write_text(_GOOD)
    done = lab(*words)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_ssh_is_asked_nothing_and_leaves_no_socket(file: Path) -> None:
    left, right = fleet_file.read(file).hosts
    words = ssh_session.command(left, "true")
    assert words[-2:] == ["10.0.0.1", "exec sh -c true"]
    assert words[words.index("--") - 4 : words.index("--")] == ["-i", left.identity, "-o", "IdentitiesOnly=yes"]
    given = [words[at + 1] for at, word in enumerate(words) if word == "-o"]
    # ssh takes an option's first value.
    assert given.index("BatchMode=yes") < given.index("ProxyJump=gate")
    assert {"ControlMaster=no", "ControlPath=none", "ForwardAgent=no"} <= set(given)
    assert "-p" in ssh_session.command(right, "true")


def _told(**changes: object) -> dict:
    found = dict.fromkeys((*hosts._TEXTS,), "x") | dict.fromkeys(hosts._NUMBERS, 1)
    found |= {"temperature_c": None, "mitigations": {"spectre_v2": "Mitigation: Retpolines"}}
    return hosts.environment(found | changes)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("kernel", "6.13", "kernel: x, now 6.13"),
        ("governors", "", "governor: x, now none"),
        ("online", "0-2", "online CPUs: x, now 0-2"),
        ("clocksource", "hpet", "clock source: x, now hpet"),
        ("turbo", "off", "turbo: x, now off"),
        ("virtualised", "QEMU", "virtualised: x, now QEMU"),
        ("mitigations", {}, "mitigation of spectre_v2: Mitigation: Retpolines, now none"),
    ],
)
def test_what_must_not_change_is_named(key: str, value: object, words: str) -> None:
    assert hosts.changes(_told(), _told(**{key: value})) == [words]


def test_what_changes_by_itself_does_not_count_but_what_disturbs_does() -> None:
    calm = _told(busy_pct=3, load_1_min=0.5, temperature_c=50)
    assert hosts.changes(_told(), calm) == []
    assert hosts.disturbance(calm, _told(busy_pct=10, temperature_c=80), 10) == ""
    assert "others took 11 % of its CPUs' time after the block" in hosts.disturbance(calm, _told(busy_pct=11), 10)
    assert "before the block" in hosts.disturbance(_told(busy_pct=99), None, 10)
    assert hosts.disturbance(calm, _told(throttled=2), 10) == "it was slowed down because it was hot"
    assert hosts.disturbance(calm, _told(boot="y"), 10) == "it was booted meanwhile"


@pytest.mark.parametrize(
    "changes", [{"cpus": True}, {"kernel": 7}, {"hz": 1e300}, {"mitigations": {"x": 3}}, {"temperature_c": "hot"}]
)
def test_an_environment_is_of_the_right_kind(changes: dict) -> None:
    with pytest.raises(ValueError, match="expected"):
        _told(**changes)


def test_what_a_host_says_is_short_and_moves_no_cursor() -> None:
    assert foreign.printable("\x1b[2J<b>\r\nnext\u202e") == "[2J<b>  next"
    assert len(_told(kernel="k" * 1000)["kernel"]) == 300


def test_what_a_newer_schedlab_knows_of_hosts_stays_as_it_is(tmp_path: Path) -> None:
    store = Store(tmp_path)
    path = tmp_path / "hosts.json"
    path.write_text('{"format": 2, "fleet": {}}')
    with pytest.raises(foreign.NewerFormat, match=r"hosts\.json: its format is 2, and this schedlab knows 1: update"):
        hosts.Hosts(store)
    assert path.read_text() == '{"format": 2, "fleet": {}}'
