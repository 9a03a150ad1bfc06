"""A strict run fails where a test is skipped for an unforeseen reason."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent.parent


def run(folder: Path, reason: str, *, strict: bool) -> subprocess.CompletedProcess[str]:
    (folder / "test_one.py").write_text(
        f"import pytest\n\ndef test_one():\n    pytest.skip({reason!r})\n"
    )
    environment = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(TESTS),
        "STACKROOM_STRICT_SKIPS": "1" if strict else "",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "support.strict_skips",
        "-p",
        "no:cacheprovider",
        str(folder),
    ]
    return subprocess.run(
        command,
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_an_unforeseen_skip_fails_a_strict_run(tmp_path: Path) -> None:
    done = run(tmp_path, "PostgreSQL's programs are not installed", strict=True)
    assert done.returncode == 1
    assert (
        "1 tests did not run, which counts as a failure: Skipped: PostgreSQL's programs"
        in done.stdout
    )


@pytest.mark.parametrize(
    ("reason", "strict"),
    [("the real data sets are not here (/data)", True), ("PostgreSQL is missing", False)],
)
def test_a_foreseen_skip_or_a_run_that_is_not_strict_passes(
    tmp_path: Path, reason: str, strict: bool
) -> None:
    assert run(tmp_path, reason, strict=strict).returncode == 0
