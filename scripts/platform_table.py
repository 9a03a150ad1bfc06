"""Ask the package index which platforms and Pythons have wheels of everything that Stackroom needs;
write the table.

`make platform-table` runs it; it needs uv. The table is put between its two marks in
docs/install.md.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/install.md"
BEGIN, END = "<!-- platforms: begin -->", "<!-- platforms: end -->"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = {
    "Linux x86_64 (glibc)": "x86_64-unknown-linux-gnu",
    "Linux aarch64 (glibc)": "aarch64-unknown-linux-gnu",
    "Linux x86_64 (musl: Alpine)": "x86_64-unknown-linux-musl",
    "Linux aarch64 (musl: Alpine)": "aarch64-unknown-linux-musl",
    "macOS 14 or newer, Apple silicon": "aarch64-apple-darwin",
    "macOS, Intel": "x86_64-apple-darwin",
    "Windows x86_64": "x86_64-pc-windows-msvc",
    "Windows arm64": "aarch64-pc-windows-msvc",
}
MACOS = {"aarch64-apple-darwin": "14.0", "x86_64-apple-darwin": "13.0"}
"""The oldest system that wheels are looked up for; uv takes it from MACOSX_DEPLOYMENT_TARGET."""
LACKS_WHEEL = re.compile(
    r"Wheels are (?:required|available) for `([\w.-]+)`|only found wheels for `([\w.-]+)`"
)
MOST_LACKING = 8


def main() -> int:
    """Write the table, and print it."""
    table = build_table()
    print(table)
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        print(f"{PAGE} has no marks {BEGIN} … {END}", file=sys.stderr)
        return 1
    PAGE.write_text(f"{before}{BEGIN}\n{table}{END}{after}", encoding="utf-8")
    return 0


def build_table() -> str:
    """Return the table in Markdown."""
    rows = [
        f"| | {' | '.join(f'Python {one}' for one in PYTHONS)} |",
        "|---" * (len(PYTHONS) + 1) + "|",
    ]
    for name, platform in PLATFORMS.items():
        cells = [describe(find_lacking(platform, version)) for version in PYTHONS]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def describe(lacking: Sequence[str]) -> str:
    """Return a cell of the table."""
    return f"no wheel of {', '.join(lacking)}" if lacking else "yes"


def find_lacking(platform: str, version: str) -> list[str]:
    """Return the packages without a wheel: each that is found is left out of the next attempt."""
    lacking: list[str] = []
    while len(lacking) < MOST_LACKING:
        problem = resolve(platform, version, lacking)
        found = {one for pair in LACKS_WHEEL.findall(problem) for one in pair if one} - set(lacking)
        if not problem:
            return lacking
        if not found:
            raise RuntimeError(f"{platform}, Python {version}: {problem}")
        lacking += sorted(found)
    return lacking


def resolve(platform: str, version: str, left_out: Sequence[str]) -> str:
    """Resolve the dependencies by wheels alone; return why that is impossible, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        overrides = Path(folder) / "overrides.txt"
        overrides.write_text(
            "".join(f"{name} ; sys_platform == 'never'\n" for name in left_out), encoding="utf-8"
        )
        command = [
            "uv",
            "pip",
            "compile",
            "-q",
            "--no-header",
            "--only-binary",
            ":all:",
            "--override",
            str(overrides),
        ]
        command += [
            "--python-platform",
            platform,
            "--python-version",
            version,
            str(ROOT / "pyproject.toml"),
        ]
        environment = os.environ | (
            {"MACOSX_DEPLOYMENT_TARGET": MACOS[platform]} if platform in MACOS else {}
        )
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
    return "" if done.returncode == 0 else done.stderr or "uv failed without a reason"


if __name__ == "__main__":
    sys.exit(main())
