# SPDX-License-Identifier: GPL-2.0-or-later
"""Which kernel is booted: fetched once, the same afterwards, and only one that a policy can be loaded into."""

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from schedlab.errors import InputError, PlaceError
from schedlab.vm import apt, candidates, machine
from schedlab.vm import kernel as kernels
from schedlab.vm.candidates import Candidate
from schedlab.vm.kernel import Kernel

CONFIG = "".join(f"CONFIG_{option}=y\n" for option in (*candidates.OPTIONS, candidates.POLICY_OPTION))


def snapshot(*folders: str) -> dict[str, tuple[int, int]]:
    files = [path for folder in folders for path in Path(folder).rglob("*") if path.is_file()]
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in files}


def offer(tmp_path: Path, release: str, config: str = CONFIG) -> Candidate:
    """A kernel whose image is none that can be unpacked: it is booted as it is."""
    image, options = tmp_path / f"image-{release}", tmp_path / f"config-{release}"
    image.write_text(release)
    options.write_text(config)
    return Candidate(release, "test", lambda scratch: (image, options))


@pytest.fixture
def offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Candidate]:
    """An archive in a cache of its own, that holds what the test puts into the list."""
    offers: list[Candidate] = []

    def debian_kernels(spec: str) -> Iterator[Candidate]:
        yield from offers

    monkeypatch.setenv("SCHEDLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(candidates, "debian_is_reachable", lambda: True)
    monkeypatch.setattr(candidates, "debian_kernels", debian_kernels)
    return offers


def test_resolving_again_needs_no_network(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(apt.MIRROR_VARIABLE, "http://127.0.0.1:1/none")
    started_at = time.monotonic()
    assert kernels.resolve() == kernel
    assert time.monotonic() - started_at < 0.5


def test_fetched_into_an_empty_cache_without_touching_the_machines_apt(
    kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not candidates.debian_is_reachable():
        pytest.skip("no way to a Debian archive here")
    before = snapshot("/etc/apt", "/var/lib/apt", "/var/lib/dpkg", "/var/cache/apt")
    monkeypatch.setenv("SCHEDLAB_CACHE", str(tmp_path))
    try:
        fetched = kernels.resolve(kernel.release)
    except apt.AptFailed as error:
        pytest.skip(f"the archive cannot be reached: {error}")
    except PlaceError as error:
        pytest.skip(f"the archive has moved on: {error}")
    assert (fetched.release, fetched.sha256) == (kernel.release, kernel.sha256)
    assert snapshot("/etc/apt", "/var/lib/apt", "/var/lib/dpkg", "/var/cache/apt") == before


def test_a_mirror_that_does_not_answer_is_a_place_not_available(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(apt.MIRROR_VARIABLE, "http://127.0.0.1:1/none")
    if not candidates.debian_is_reachable():
        pytest.skip("no apt here")
    monkeypatch.setenv("SCHEDLAB_CACHE", str(tmp_path))
    with pytest.raises(PlaceError, match="Could not connect"):
        kernels.resolve()


def test_the_first_that_fits_is_kept(offered: list[Candidate], tmp_path: Path) -> None:
    offered += [offer(tmp_path, "7.2.2", "CONFIG_SCHED_CLASS_EXT=n\n"), offer(tmp_path, "7.2.1")]
    assert kernels.resolve().release == "7.2.1"
    offered[:] = [offer(tmp_path, "7.2.3")]
    assert kernels.resolve().release == "7.2.1"
    assert kernels.resolve(refresh=True).release == "7.2.3"
    assert kernels.resolve().release == "7.2.3"


def test_none_that_fits_says_why(offered: list[Candidate], tmp_path: Path) -> None:
    offered.append(offer(tmp_path, "7.2.2", CONFIG.replace("CONFIG_SCHED_CLASS_EXT=y\n", "")))
    with pytest.raises(PlaceError, match=r"kernel 7\.2\.2 lacks CONFIG_SCHED_CLASS_EXT=y"):
        kernels.resolve()


def test_what_loads_no_policy_says_why() -> None:
    names = [f"{name}_impl" for name in candidates.KFUNC_TWINS]
    whole = ("\0" + "\0".join(names) + "\0").encode()
    assert candidates.without_policies("7.2.9", CONFIG, whole) == ""
    assert names[-1].removesuffix("_impl") in candidates.without_policies(
        "7.2.9", CONFIG, whole.replace(names[-1].encode(), b"")
    )
    assert candidates.without_policies("6.12.1", CONFIG, b"\x7fELF") == ""
    assert "lacks CONFIG_SCHED_CLASS_EXT=y" in candidates.without_policies("6.12.1", "", b"")


def test_an_older_series_without_sched_ext_is_there_for_its_own_scheduler(
    offered: list[Candidate], tmp_path: Path
) -> None:
    plain = CONFIG.replace("CONFIG_SCHED_CLASS_EXT=y\n", "")
    offered += [offer(tmp_path, "6.12.2", plain), offer(tmp_path, "6.12.1", plain)]
    for _ in range(2):
        found = kernels.resolve("6.12")
        assert (found.release, found.without_policies) == ("6.12.2", "kernel 6.12.2 lacks CONFIG_SCHED_CLASS_EXT=y")


def test_a_package_is_its_release(offered: list[Candidate], tmp_path: Path) -> None:
    offered.append(offer(tmp_path, "7.1.3"))
    assert kernels.resolve("linux-image-7.1.3") == kernels.resolve("7.1.3")


def test_hosts_kernels_running_one_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for release in ("6.9.1", "6.12.1"):
        (tmp_path / release).mkdir()
    monkeypatch.setattr(candidates, "MODULES", tmp_path)
    monkeypatch.setattr(candidates, "BOOT", tmp_path)
    names = [each.release for each in candidates.installed_kernels()]
    assert names[1:] == ["6.12.1", "6.9.1"]
    with pytest.raises(candidates.Unfit, match=r"kernel 6\.12\.1 has no .*/vmlinuz"):
        list(candidates.installed_kernels())[1].fetch(tmp_path)


@pytest.mark.parametrize("spec", ["latest", "7", "linux-image-", ""])
def test_bad_specs_are_bad_input(spec: str) -> None:
    with pytest.raises(InputError, match="expected a series such as"):
        kernels.resolve(spec)


def test_parameters_of_the_boot_stand_behind_the_kernel(offered: list[Candidate], tmp_path: Path) -> None:
    offered.append(offer(tmp_path, "7.2.1"))
    plain, full = kernels.resolve("7.2"), kernels.resolve("7.2 preempt=full nosmt")
    assert (plain.parameters, full.parameters) == ("", "preempt=full nosmt")
    assert replace(full, parameters="") == plain
    assert kernels.is_kept("7.2 preempt=none")
    kernels.check("7.2 isolcpus=1,2")
    for spec in ("7.2 ", "7.2 init=$(x)", "7.2 a='b'", '7.2 a="b"'):
        with pytest.raises(InputError, match=r"--kernel 7\.2 .*: expected parameters such as preempt=full"):
            kernels.resolve(spec)


def test_a_parameter_that_the_kernel_does_not_know_is_refused(tmp_path: Path, kernel: Kernel) -> None:
    console = tmp_path / "console"
    console.write_text('[ 0.1] Unknown kernel command line parameters "premept=full COLUMNS=80", will be passed on.\n')
    machine._refuse_unknown_parameters(replace(kernel, parameters="preempt=full"), console)
    machine._refuse_unknown_parameters(kernel, console)
    with pytest.raises(InputError, match=f"kernel {re.escape(kernel.release)} knows no parameter premept=full"):
        machine._refuse_unknown_parameters(replace(kernel, parameters="nosmt premept=full"), console)
