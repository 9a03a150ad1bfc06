"""What the conformance runner makes of the suite's results. The suite itself needs Node: `make
conformance`.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from conformance.verdict import Verdict, judge, load_checks

SCENARIOS = ("ping", "server-sse-polling")


def write_results(folder: Path, scenario: str, *statuses: str) -> None:
    target = folder / f"server-{scenario}-2026-11-15T09-56-01-639Z"
    target.mkdir()
    checks = [{"id": f"check-{number}", "status": status} for number, status in enumerate(statuses)]
    (target / "checks.json").write_text(json.dumps(checks), encoding="utf-8")


def verdict_of(folder: Path, foreseen: Sequence[tuple[str, str]] = ()) -> Verdict:
    return judge(load_checks(folder), scenarios=SCENARIOS, foreseen=foreseen)


def test_a_run_without_failures_is_good_and_counts_what_passed_by_scenario(tmp_path):
    write_results(tmp_path, "ping", "SUCCESS", "SUCCESS", "INFO")
    write_results(tmp_path, "server-sse-polling", "SKIPPED")

    verdict = verdict_of(tmp_path)

    assert verdict.is_good
    assert verdict.passed == {"ping": 2, "server-sse-polling": 0}


@pytest.mark.parametrize("status", ["FAILURE", "WARNING"])
def test_a_failure_or_warning_that_nobody_foresaw_makes_the_run_bad(tmp_path, status):
    write_results(tmp_path, "ping", "SUCCESS", status)
    write_results(tmp_path, "server-sse-polling", "SUCCESS")

    verdict = verdict_of(tmp_path, foreseen=[("ping", "check-1")])
    assert verdict.is_good
    assert [check.key for check in verdict.foreseen] == [("ping", "check-1")]

    verdict = verdict_of(tmp_path)
    assert not verdict.is_good
    assert [check.key for check in verdict.unforeseen] == [("ping", "check-1")]


def test_a_foreseen_failure_that_does_not_happen_makes_the_run_bad(tmp_path):
    write_results(tmp_path, "ping", "SUCCESS")
    write_results(tmp_path, "server-sse-polling", "SUCCESS")

    verdict = verdict_of(tmp_path, foreseen=[("ping", "check-0")])

    assert not verdict.is_good
    assert verdict.stale == (("ping", "check-0"),)


def test_a_scenario_without_results_makes_the_run_bad(tmp_path):
    write_results(tmp_path, "ping", "SUCCESS")

    verdict = verdict_of(tmp_path)

    assert not verdict.is_good
    assert verdict.missing == ("server-sse-polling",)
