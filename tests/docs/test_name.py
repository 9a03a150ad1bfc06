"""The project has one name, and claims no address that is not its own."""

import re
import subprocess

import pytest

from support.pages import ROOT

pytestmark = pytest.mark.row("N17")


def list_files(*arguments: str) -> set[str]:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    return set(done.stdout.splitlines())


def test_no_address_of_an_organisation_of_our_name_is_claimed() -> None:
    assert (
        list_files(
            "grep", "-ilE", r"github\.com/stackroom|io\.github\.stackroom|stackroom\.(dev|io|org)\b"
        )
        == set()
    )


def test_nothing_tells_to_install_from_an_index_before_the_first_release() -> None:
    asked = (
        r"(pip|pipx|uv tool) (install|upgrade)( -U| --upgrade| --force)* ['\"]?stackroom(\[|['\"`"
        r" =]|$)|uvx stackroom"
    )
    allowed = {"README.md", "docs/install.md", "tests/docs/test_name.py"}
    assert list_files("grep", "-lE", asked) <= allowed
    for page in ("README.md", "docs/install.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert len(re.findall(r"(?:pip|pipx|uv tool) install stackroom\b(?!-)", text)) == 1, page
        assert "after the first release" in text.lower(), page
