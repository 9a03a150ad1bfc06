"""The workflow, the pre-commit hook and CONTRIBUTING call targets that the Makefile has."""

import re

import pytest
from ruamel.yaml import YAML

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


WORKFLOWS = (
    ".github/workflows/ci.yml",
    ".github/workflows/release.yml",
    "deploy/publish-catalogue.yaml",
)


@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_action_is_pinned_by_its_hash_and_keeps_no_credentials(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    used = re.findall(r"uses: (\S+)", text)
    assert used
    assert [one for one in used if not re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", one)] == []
    assert text.count("persist-credentials: false") == sum(
        one.startswith("actions/checkout@") for one in used
    )


def test_the_signing_key_is_in_a_job_that_installs_no_package() -> None:
    jobs = YAML(typ="safe").load(
        (ROOT / "deploy/publish-catalogue.yaml").read_text(encoding="utf-8")
    )["jobs"]
    with_secrets = {name: str(job) for name, job in jobs.items() if "secrets." in str(job)}
    assert list(with_secrets) == ["sign"]
    assert "pip " not in with_secrets["sign"]
    assert jobs["sign"]["permissions"] == {}


def test_a_release_is_built_checked_attested_and_published_in_this_order() -> None:
    jobs = YAML(typ="safe").load(
        (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    )["jobs"]
    assert {name: job.get("needs") for name, job in jobs.items()} == {
        "build": None,
        "attest": "build",
        "index": "attest",
        "release": "index",
        "registry": "release",
    }
    assert called(".github/workflows/release.yml") == {"check", "dist"}


def test_the_readme_begins_with_the_two_commands_of_a_clone() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")

    assert text.startswith("# Stackroom\n")
    assert (
        re.findall(r"^```.*?\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)[0]
        == "make serve\nmake test\n"
    )
