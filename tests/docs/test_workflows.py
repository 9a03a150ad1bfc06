"""The workflow, the pre-commit hook and CONTRIBUTING call targets that the Makefile has."""

import re

from support.pages import ROOT

MAKE = re.compile(r"(?:run: |entry: |`)make ([a-z][a-z-]*)")


def targets() -> set[str]:
    """The targets of the Makefile that a person may call."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z][a-z-]*):.*?##", text, re.MULTILINE))


def called(name: str) -> set[str]:
    """The targets that a file calls."""
    return set(MAKE.findall((ROOT / name).read_text(encoding="utf-8")))


def test_every_target_that_is_called_or_described_exists() -> None:
    for name in (".github/workflows/ci.yml", ".pre-commit-config.yaml", "CONTRIBUTING.md"):
        assert called(name), name
        assert called(name) - targets() == set(), name


def test_the_workflow_runs_all_that_ci_runs() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    wanted = set(re.findall(r"make ([a-z][a-z-]*)", script))

    assert wanted - called(".github/workflows/ci.yml") == set()
    assert wanted


def test_the_readme_begins_with_the_two_commands_of_a_clone() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")

    assert text.startswith("# Stackroom\n")
    assert re.findall(r"^```.*?\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)[0] == "make serve\nmake test\n"
