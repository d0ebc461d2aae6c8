# SPDX-License-Identifier: GPL-2.0-or-later
"""Which kernel the guest boots: found once, kept in the cache, the same until a refresh is asked for.

It is a stock cloud kernel out of Debian's archive wherever apt and Debian's keys are, elsewhere the host's own, or one
that the user names by its path.
"""

import re
import struct
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from schedlab import cache
from schedlab.errors import InputError, PlaceError
from schedlab.vm import apt, bzimage, candidates, own_kernels
from schedlab.vm.bzimage import NotAKernel
from schedlab.vm.candidates import Candidate, Unfit

# The series that the project's numbers were made with; --kernel chooses another.
SERIES = "7.2"
HOST = "host"
_NAME = re.compile(rf"{HOST}|\d+\.\d+([.+~-][\w.+~-]*)?")
_PARAMETERS = re.compile(r"[\w.=,/-]+(?: +[\w.=,/-]+)*")
EXPECTED = f"a series such as {SERIES}, a release, a package, {HOST}, or the path of a bzImage, a built tree or a .deb"


@dataclass(frozen=True)
class Kernel:
    """A kernel to boot: its `uname -r`, the image for QEMU, its config, the image's SHA-256 and where it came from.

    `without_policies` says why it runs under its own scheduler alone, and is empty where policies can be loaded.
    `parameters` are those of its boot that were asked for.
    """

    release: str
    image: Path
    config: Path
    sha256: str
    origin: str
    without_policies: str = ""
    parameters: str = ""


def resolve(spec: str = SERIES, *, refresh: bool = False) -> Kernel:
    """The kernel that `spec` means: a series (`7.2`), a release or package, `host`, or a path, and behind a space the
    parameters of its boot (`7.2 preempt=full`).

    Of a series the newest that loads policies, or, where none does, the newest. The network is used the first time
    only, or with `refresh`. Raises PlaceError where no kernel will do.
    """
    wanted, parameters = _split(spec)
    return replace(_found(wanted, refresh), parameters=parameters)


def _found(spec: str, refresh: bool) -> Kernel:
    with cache.lock("kernel"):
        if own_kernels.is_path(spec):
            return _own(Path(spec))
        name = _name(spec)
        known = None if refresh else _known(name)
        if known is None:
            known = _first_fit(name)
            cache.write_json(_note(name), {"release": known.release})
    return known


def check(spec: str, option: str = "--kernel") -> None:
    """Raises InputError for what can be no kernel, without a look at any archive."""
    wanted, _ = _split(spec, option)
    if not own_kernels.is_path(wanted):
        _name(wanted, option)
    elif not Path(wanted).exists():
        raise InputError(f"{option} {wanted}: no such kernel; expected {EXPECTED}")


def is_kept(spec: str = SERIES) -> bool:
    """Whether the cache has this kernel, so that no network is needed."""
    wanted, _ = _split(spec)
    return own_kernels.is_path(wanted) or _known(_name(wanted)) is not None


def _split(spec: str, option: str = "--kernel") -> tuple[str, str]:
    """The kernel and its parameters. A space in the path of a file belongs to the path."""
    name, space, parameters = spec.partition(" ")
    if not space or (own_kernels.is_path(spec) and Path(spec).exists()):
        return spec, ""
    if not _PARAMETERS.fullmatch(parameters):
        raise InputError(f"{option} {spec}: expected parameters such as preempt=full behind the kernel")
    return name, parameters


def _name(spec: str, option: str = "--kernel") -> str:
    """A package is its release."""
    name = next((spec.removeprefix(prefix) for prefix in candidates.PACKAGES if spec.startswith(prefix)), spec)
    if not _NAME.fullmatch(name):
        raise InputError(f"{option} {spec}: expected {EXPECTED}")
    return name


def _note(name: str) -> Path:
    return cache.root() / "kernels" / f"{name}.json"


def _known(name: str) -> Kernel | None:
    answer = cache.read_json(_note(name))
    return _kept(answer["release"]) if answer else None


def _own(path: Path) -> Kernel:
    """Kept by its content: a build's name says little of it."""
    candidate = own_kernels.candidate(path)
    with tempfile.TemporaryDirectory(prefix="kernel-", dir=cache.directory()) as scratch:
        try:
            image, config = candidate.fetch(Path(scratch))
            home = f"own-{cache.sha256(image)[:16]}-{cache.sha256(config)[:16]}"
            return _kept(home) or _keep(_look(candidate.release, candidate.origin, image, config), home)
        except Unfit as error:
            raise PlaceError(f"--kernel {path}: {error}, which a guest needs") from error


def _first_fit(name: str) -> Kernel:
    if name != HOST and candidates.debian_is_reachable():
        return _choose(candidates.debian_kernels(name), "choose another with --kernel", with_policies=name == SERIES)
    return _choose(
        candidates.installed_kernels(),
        f"install apt and debian-archive-keyring and set {apt.MIRROR_VARIABLE} to the URI of a Debian archive, or "
        f"install a kernel with CONFIG_{candidates.POLICY_OPTION}=y",
        with_policies=True,
    )


def _choose(offered: Iterable[Candidate], advice: str, with_policies: bool) -> Kernel:
    reasons = []
    second: _Looked | None = None
    for candidate in offered:
        if kept := _kept(candidate.release):
            return kept
        try:
            with tempfile.TemporaryDirectory(prefix="kernel-", dir=cache.directory()) as scratch:
                looked = _look(candidate.release, candidate.origin, *candidate.fetch(Path(scratch)))
        except Unfit as error:
            reasons.append(str(error))
            continue
        if not looked.without_policies:
            return _keep(looked, looked.release)
        reasons.append(looked.without_policies)
        second = second or looked
    if second and not with_policies:
        return _keep(second, second.release)
    raise PlaceError(f"no kernel for the guest: {'; '.join(reasons)}: {advice}")


def _kept(name: str) -> Kernel | None:
    home = cache.root() / "kernels" / name
    facts = cache.read_json(home / "kernel.json")
    if facts is None or not (home / facts["image"]).exists():
        return None
    return Kernel(
        facts.get("release", name),
        home / facts["image"],
        home / "config",
        facts["sha256"],
        facts["origin"],
        facts.get("without_policies", ""),
    )


@dataclass(frozen=True)
class _Looked:
    """A kernel that a guest boots, in memory."""

    release: str
    origin: str
    name: str  # of the image
    image: bytes
    config: bytes
    without_policies: str


def _look(release: str, origin: str, image: Path, config: Path) -> _Looked:
    """Raises Unfit where a guest cannot boot it."""
    packed, options = image.read_bytes(), config.read_bytes()
    text = options.decode("utf-8", "replace")
    candidates.check_config(release, text)
    try:
        elf = bzimage.elf(packed)
    except (NotAKernel, struct.error):
        # QEMU boots a packed kernel too. Whether its types suffice shows when a policy is loaded.
        elf = b""
    name, content = ("vmlinux", elf) if bzimage.can_be_entered(elf) else ("vmlinuz", packed)
    return _Looked(release, origin, name, content, options, candidates.without_policies(release, text, elf))


def _keep(looked: _Looked, name: str) -> Kernel:
    """Put a kernel into the cache; kernel.json is written last."""
    home = cache.directory("kernels", name)
    cache.write(home / "config", looked.config)
    cache.write(home / looked.name, looked.image)
    facts = {
        "release": looked.release,
        "image": looked.name,
        "origin": looked.origin,
        "sha256": cache.sha256(home / looked.name),
        "without_policies": looked.without_policies,
    }
    cache.write_json(home / "kernel.json", facts)
    kept = _kept(name)
    assert kept
    return kept
