"""From what the conformance suite wrote to what it means: which checks passed, and which failures
were not foreseen.

A warning (a SHOULD of the protocol) counts as a failure: either it is cured, or it is on the list
with its reason.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

_FOLDER = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")
_FAILED = ("FAILURE", "WARNING")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Check:
    """One check of a scenario. The same id can occur several times in one."""

    scenario: str
    id: str
    status: str
    message: str

    @property
    def key(self) -> tuple[str, str]:
        """What the list of foreseen failures knows the check by."""
        return self.scenario, self.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome of a run."""

    passed: Mapping[str, int]
    """How many checks passed, by scenario; a scenario where none counts has 0."""
    foreseen: tuple[Check, ...]
    unforeseen: tuple[Check, ...]
    stale: tuple[tuple[str, str], ...]
    """Failures that were foreseen and did not happen: the list must be shortened."""
    missing: tuple[str, ...]
    """Scenarios that the suite names and has no results of."""

    @property
    def is_good(self) -> bool:
        """Whether everything is as it should be."""
        return not (self.unforeseen or self.stale or self.missing)


def load_checks(folder: Path) -> list[Check]:
    """Return every check that the suite wrote into a folder."""
    checks: list[Check] = []
    for file in sorted(folder.glob("*/checks.json")):
        matched = _FOLDER.fullmatch(file.parent.name)
        if matched is None:
            raise ValueError(f"not a folder of results: {file.parent.name}")
        for entry in json.loads(file.read_text(encoding="utf-8")):
            message = entry.get("errorMessage") or ""
            checks.append(
                Check(
                    scenario=matched["scenario"],
                    id=entry["id"],
                    status=entry["status"],
                    message=message,
                )
            )
    return checks


def judge(
    checks: Iterable[Check], *, scenarios: Iterable[str], foreseen: Iterable[tuple[str, str]]
) -> Verdict:
    """Hold the checks against the scenarios that there are and the failures that were foreseen."""
    allowed = set(foreseen)
    passed: dict[str, int] = {}
    failed: list[Check] = []
    for check in checks:
        passed.setdefault(check.scenario, 0)
        if check.status == "SUCCESS":
            passed[check.scenario] += 1
        elif check.status in _FAILED:
            failed.append(check)
    return Verdict(
        passed=passed,
        foreseen=tuple(check for check in failed if check.key in allowed),
        unforeseen=tuple(check for check in failed if check.key not in allowed),
        stale=tuple(sorted(allowed - {check.key for check in failed})),
        missing=tuple(sorted(set(scenarios) - set(passed))),
    )
