# SPDX-License-Identifier: GPL-2.0-or-later
"""What a check came to, for continuous integration: as SARIF and as JUnit's test cases, however the check ended.

A case is the real kernel's verdict, or a policy under random work, once for each value of a choice. One more fails
where the check did not run to its end. So all of them pass just where the status is 0.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from schedlab import checkout
from schedlab.catalogue import described
from schedlab.errors import CHECK_FAILED, INTERRUPTED, LabError
from schedlab.export import junit, sarif
from schedlab.export.junit import ERROR, FAILURE, SKIPPED, Case, Suite
from schedlab.export.sarif import Ending, Found, Rule
from schedlab.places.trial import Outcome

_PAGE = "docs/checking.md"
_REFUSED = Rule(
    "real-kernel-refused",
    "a real kernel did not load the policy",
    "The kernel's verifier or the sched_ext core refused the policy, for the reason that stands in the message.",
    f"{_PAGE}#what-it-does",
)
_LOST = Rule(
    "real-kernel-lost",
    "a real kernel did not keep the policy under stress",
    "The policy was loaded, and the kernel threw it out while stress-ng ran, or did not schedule any more afterwards.",
    f"{_PAGE}#what-it-does",
)
# A line of the source, as the simulator (`f (mine.bpf.c:4): …`) and the verifier's log (`at mine.bpf.c:4: …`) give it.
_PLACE = re.compile(r"(?:\(|\bat )(?P<file>[^\s()]+\.[ch]):(?P<line>\d+)\b")


@dataclass
class Results:
    policy: str  # as it was given
    again: str  # the command that tries the policy on the kernel once more
    kernel: Outcome | None = None
    no_kernel: str = ""  # why it was tried on none
    swarms: list[dict[str, Any]] = field(default_factory=list)
    ending: Ending = field(default_factory=lambda: Ending(0, ""))

    @contextmanager
    def kept(self, as_sarif: str | None, as_junit: str | None) -> Iterator[None]:
        """Writes both, also where the check is broken off."""
        try:
            yield
        except LabError as error:
            self.ending = Ending(error.status, str(error))
            raise
        except KeyboardInterrupt:
            self.ending = Ending(INTERRUPTED, _trouble(INTERRUPTED))
            raise
        except SystemExit as error:
            status = error.code if isinstance(error.code, int) else CHECK_FAILED
            self.ending = Ending(status, "the policy could not be built: the log has the reason")
            raise
        finally:
            if as_sarif:
                sarif.write(Path(as_sarif), self._rules(), list(self._found()), self.ending)
            if as_junit:
                junit.write(Path(as_junit), "schedlab check", [Suite(self.policy, list(self._cases()))])

    def take(self, lines: str, status: int) -> None:
        """What the simulator found, and how it ended."""
        self.swarms = [json.loads(line) for line in lines.splitlines()]
        found = any(swarm["finding"] for swarm in self.swarms)
        complete = status == (CHECK_FAILED if found else 0)
        self.ending = Ending(status, "" if complete else _trouble(status))

    def _rules(self) -> list[Rule]:
        checkers = described.entries(checkers=True)["checkers"]
        bounds = f"{_PAGE}#what-is-a-finding"
        return [Rule(_id(c["name"]), c["name"], c["meaning"], bounds) for c in checkers] + [_REFUSED, _LOST]

    def _found(self) -> Iterator[Found]:
        source = _source(self.policy)
        if self.kernel and not self.kernel.good:
            rule = _LOST if self.kernel.loaded else _REFUSED
            message = f"Linux {self.kernel.kernel}: {self.kernel.summary}"
            yield Found(rule.id, message, *_place(self.kernel.summary, source), self.again)
        for swarm in self.swarms:
            if finding := swarm["finding"]:
                message = f"{swarm['policy']}: {finding['what']}"
                yield Found(_id(finding["by"]), message, *_place(finding["what"], source), finding["reproduce"])

    def _cases(self) -> Iterator[Case]:
        kernel = "a real kernel takes and keeps it"
        if self.kernel:
            log = "\n".join([self.kernel.summary, *self.kernel.log])
            if self.kernel.good:
                yield Case(kernel, output=log)
            else:
                yield Case(kernel, FAILURE, self.kernel.summary.splitlines()[0], log)
        elif self.no_kernel:
            yield Case(kernel, SKIPPED, self.no_kernel)
        for swarm in self.swarms:
            yield _case(swarm)
        whole = "the check ran to its end"
        yield Case(whole, ERROR, self.ending.trouble) if self.ending.trouble else Case(whole)


def _case(swarm: dict[str, Any]) -> Case:
    output = ", ".join(f"{name}: {swarm[name]}" for name in ("seed", "runs", "events", "cut") if name in swarm)
    finding = swarm["finding"]
    if not finding:
        return Case(swarm["policy"], output=output)
    details = f"{finding['what']}\nreproduce: {finding['reproduce']}"
    return Case(swarm["policy"], FAILURE, f"{finding['by']}: {finding['what']}", details, output)


def _trouble(status: int) -> str:
    if status == INTERRUPTED:
        return "interrupted: what was found until then is kept"
    return f"the simulator ended with status {status}: the log has the reason"


def _id(name: str) -> str:
    return name.replace(" ", "-")


def _source(policy: str) -> Path:
    """The file of a policy that was named or given by its path."""
    (entry,) = described.entries(schedulers=[policy])["schedulers"]
    return Path(entry.get("file", policy))


def _place(text: str, source: Path) -> tuple[Path, int | None]:
    """Where a message points. The verifier gives a file's name alone, which may be a header that policies share."""
    if match := _PLACE.search(text):
        named = Path(match["file"])
        folders = (source.parent, checkout.root() / "schedulers" / "lib", checkout.root() / "include")
        for file in (folder / named for folder in folders):
            if file.is_file():
                return file, int(match["line"])
    return source, None
