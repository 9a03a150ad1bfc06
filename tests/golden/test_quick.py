"""A quick run has the tests of what has changed: those near it by imports, and no others."""

import subprocess
from pathlib import Path

import pytest

from support.quick import choose_tests, list_changed

FILES = {
    "src/stackroom/text/words.py": "",
    "src/stackroom/text/far.py": "from stackroom.text import user\n",
    "src/stackroom/text/user.py": "from stackroom.text.words import split\n",
    "src/stackroom/cli/add.py": "",
    "src/stackroom/cli/main.py": 'COMMANDS = {"add": "stackroom.cli.add:add"}\n',
    "tests/unit/text/test_words.py": "",
    "tests/unit/text/test_user.py": "import stackroom.text.user\n",
    "tests/unit/text/test_far.py": "import stackroom.text.far\n",
    "tests/unit/cli/conftest.py": "",
    "tests/unit/cli/test_main.py": "from stackroom.cli import main\n",
    "tests/unit/cli/test_other.py": "",
}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with these files, all committed."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], [*identity, "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("src/stackroom/text/words.py", {"unit/text/test_words.py", "unit/text/test_user.py"}),
        ("src/stackroom/text/user.py", {"unit/text/test_user.py", "unit/text/test_far.py"}),
        ("src/stackroom/cli/add.py", {"unit/cli/test_main.py"}),
        ("tests/unit/cli/conftest.py", {"unit/cli/test_main.py", "unit/cli/test_other.py"}),
        ("tests/unit/text/test_far.py", {"unit/text/test_far.py"}),
    ],
)
def test_tests_are_chosen_by_what_they_import(repo: Path, changed: str, tests: set[str]) -> None:
    chosen = choose_tests(repo, {repo / changed})
    assert {str(path.relative_to(repo / "tests")) for path in chosen} == tests


def test_changed_is_what_is_not_as_it_was_at_the_base(repo: Path) -> None:
    (repo / "src/stackroom/text/words.py").write_text("# other\n", encoding="utf-8")
    (repo / "new.py").touch()
    assert list_changed(repo, "HEAD") == {repo / "src/stackroom/text/words.py", repo / "new.py"}
