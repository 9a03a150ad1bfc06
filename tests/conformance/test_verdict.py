"""What the conformance runner makes of the suite's results. The suite itself needs Node: `make conformance`."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest


def load_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("conformance_verdict", Path(__file__).with_name("verdict.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


VERDICT = load_module()


def write_results(folder: Path, scenario: str, *statuses: str) -> None:
    target = folder / f"server-{scenario}-2026-11-15T09-56-01-639Z"
    target.mkdir()
    checks = [{"id": f"check-{number}", "status": status} for number, status in enumerate(statuses)]
    (target / "checks.json").write_text(json.dumps(checks), encoding="utf-8")


def judge(folder: Path, *, scenarios=("ping", "server-sse-polling"), foreseen=()):
    return VERDICT.judge(VERDICT.load_checks(folder), scenarios=scenarios, foreseen=foreseen)


def test_a_run_without_failures_is_good_and_counts_what_passed_by_scenario(tmp_path):
    write_results(tmp_path, "ping", "SUCCESS", "SUCCESS", "INFO")
    write_results(tmp_path, "server-sse-polling", "SKIPPED")

    verdict = judge(tmp_path)

    assert verdict.is_good
    assert verdict.passed == {"ping": 2, "server-sse-polling": 0}


@pytest.mark.parametrize("status", ["FAILURE", "WARNING"])
def test_a_failure_or_warning_that_nobody_foresaw_makes_the_run_bad(tmp_path, status):
    write_results(tmp_path, "ping", "SUCCESS", status)
    write_results(tmp_path, "server-sse-polling", "SUCCESS")

    verdict = judge(tmp_path, foreseen=[("ping", "check-1")])
    assert verdict.is_good
    assert [check.key for check in verdict.foreseen] == [("ping", "check-1")]

    verdict = judge(tmp_path)
    assert not verdict.is_good
    assert [check.key for check in verdict.unforeseen] == [("ping", "check-1")]


def test_a_foreseen_failure_that_does_not_happen_makes_the_run_bad(tmp_path):
    write_results(tmp_path, "ping", "SUCCESS")
    write_results(tmp_path, "server-sse-polling", "SUCCESS")

    verdict = judge(tmp_path, foreseen=[("ping", "check-0")])

    assert not verdict.is_good
    assert verdict.stale == (("ping", "check-0"),)


def test_a_scenario_without_results_makes_the_run_bad(tmp_path):
    write_results(tmp_path, "ping", "SUCCESS")

    verdict = judge(tmp_path)

    assert not verdict.is_good
    assert verdict.missing == ("server-sse-polling",)
