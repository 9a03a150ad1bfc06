"""A strict run fails where a test is skipped for an unforeseen reason."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent.parent
MISSING = "PostgreSQL is missing"


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


@pytest.mark.parametrize(
    ("reason", "strict", "told"),
    [
        (MISSING, True, f"1 tests did not run, which counts as a failure: Skipped: {MISSING}"),
        ("the real data sets are not here (/data)", True, ""),
        (MISSING, False, ""),
    ],
)
def test_an_unforeseen_skip_fails_a_strict_run_and_no_other(
    tmp_path: Path, reason: str, strict: bool, told: str
) -> None:
    done = run(tmp_path, reason, strict=strict)
    assert done.returncode == bool(told)
    assert told in done.stdout
