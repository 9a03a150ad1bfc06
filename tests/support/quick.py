"""A pytest plugin: with PINAKES_QUICK=1, only the tests that are worth their wait after every change are collected.

`make quick` takes about a minute on two cores. It leaves out whole servers, kills, property tests, the PostgreSQL
half, the real model, and the files below, which each take seconds; `make test` runs everything.
"""

import os
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent.parent
QUICK = ("unit", "golden")
"""The folders that a quick run collects."""
SLOW = (
    "unit/assembly",
    "unit/cli/test_add.py",
    "unit/cli/test_add_files.py",
    "unit/cli/test_audit.py",
    "unit/cli/test_column_changes.py",
    "unit/cli/test_commands.py",
    "unit/cli/test_damage.py",
    "unit/cli/test_eval.py",
    "unit/cli/test_explain.py",
    "unit/cli/test_hostile_records.py",
    "unit/cli/test_job.py",
    "unit/cli/test_scheduled_refresh.py",
    "unit/cli/test_token.py",
    "unit/cli/test_user.py",
    "unit/documents/test_rows.py",
    "unit/grading/test_drift.py",
    "unit/grading/test_samples.py",
    "unit/grading/test_tuning.py",
    "unit/grading/test_update_guard.py",
    "unit/jobs/test_backup.py",
    "unit/music/downloads",
    "unit/music/test_folder.py",
    "unit/music/test_rows.py",
    "unit/music/test_sample.py",
    "unit/music/test_server.py",
    "unit/music/test_texts.py",
    "unit/music/test_tools.py",
    "unit/net/test_package_index.py",
    "unit/search/test_evidence.py",
    "unit/serve/http",
    "unit/sources/database/test_servers.py",
    "unit/sources/test_lance_tables.py",
    "unit/tools/sql",
    "unit/tools/edits/test_tool.py",
    "unit/tools/test_explain_call.py",
    "unit/tools/test_explanation.py",
    "unit/tools/test_layouts.py",
    "unit/tools/test_why.py",
    "golden/test_golden.py",
    "golden/test_reference_pages.py",
    "golden/test_strict_skips.py",
)
"""Files and folders among them that a quick run leaves out."""
LEFT_OUT = ("alone", "model", "data")
"""Marks of the tests that a quick run leaves out."""


def is_quick() -> bool:
    """Tell whether this is a quick run."""
    return os.environ.get("PINAKES_QUICK") == "1"


@cache
def is_slow(place: Path) -> bool:
    """Tell whether a quick run leaves out a file or folder of the tests."""
    return place.parts[0] not in QUICK or any(place.is_relative_to(slow) for slow in SLOW)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out what is slow."""
    if not is_quick() or not collection_path.is_relative_to(TESTS) or collection_path == TESTS:
        return None
    return True if is_slow(collection_path.relative_to(TESTS)) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out marked tests."""
    if not is_quick():
        return
    kept = [item for item in items if not any(item.get_closest_marker(mark) for mark in LEFT_OUT)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept
