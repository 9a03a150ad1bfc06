"""The script that publishes from a schedule, in a folder that stays or on a fresh machine."""

import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from publish_release import parse_options, publish_release

pytestmark = pytest.mark.row("A11")

Publish = Callable[..., dict[str, Any]]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "films.csv"
    write_films(path, [f"Film {number}" for number in range(30)])
    return path


def write_films(path: Path, titles: Sequence[str]) -> None:
    rows = [f"{number},{title},About {title.lower()}." for number, title in enumerate(titles)]
    path.write_text("\n".join(["id,title,overview", *rows]))


@pytest.fixture
def commands() -> list[list[str]]:
    return []


@pytest.fixture
def failures() -> list[Exception]:
    """The errors of the next uploads."""
    return []


@pytest.fixture
def publish(
    tmp_path: Path,
    source: Path,
    commands: list[list[str]],
    failures: list[Exception],
    run: Callable[..., Any],
) -> Publish:
    uploaded = tmp_path / "uploaded"

    def run_command(command: Sequence[str]) -> str:
        commands.append(list(command))
        if command[:3] == ["gh", "release", "list"]:
            return json.dumps([{"tagName": path.name} for path in uploaded.glob("*")])
        if command[:3] == ["gh", "release", "download"]:
            shutil.copytree(uploaded / command[3], command[5])
        if command[0] != "stackroom":
            if command[2] == "create" and failures:
                raise failures.pop()
            return ""
        done = run(list(command[1:]))
        assert done.code == 0, done.err
        return str(done.out)

    def make(version: str, *more: str, folder: str = "site") -> dict[str, Any]:
        given = (
            f"films {source} --add=--no-embed --questions 0 --pack {tmp_path / 'pack'}"
            f" --folder {tmp_path / folder} --version {version} --licence CC0-1.0"
        )
        return publish_release(parse_options([*given.split(), *more]), run_command)

    return make


def tags_at(folder: Path) -> list[str]:
    """Return the releases of a place, the newest first."""
    return [entry["tag_name"] for entry in json.loads((folder / "releases.json").read_bytes())]


def test_a_schedule_publishes_what_changed_and_nothing_otherwise(
    publish: Publish, source: Path, tmp_path: Path
) -> None:
    first, again = publish("2026.46"), publish("2026.47")
    write_films(source, ["Another film", *(f"Film {number}" for number in range(1, 30))])
    second = publish("2026.48")

    assert [one["published"] for one in (first, again, second)] == [True, False, True]
    assert tags_at(tmp_path / "site") == ["2026.48", "2026.46"]
    manifest = json.loads(
        (tmp_path / "site" / "releases" / "2026.48" / "manifest.json").read_bytes()
    )
    assert manifest["licence"] == "CC0-1.0"
    assert manifest["records"] == 30


def test_a_fresh_machine_goes_on_from_the_newest_release_and_uploads_the_new_one(
    publish: Publish, source: Path, tmp_path: Path, commands: list[list[str]]
) -> None:
    publish("1")
    shutil.copytree(tmp_path / "site" / "releases", tmp_path / "uploaded")
    write_films(source, [f"Film {number}" for number in range(31)])

    second = publish("2", "--upload", folder="fresh")

    upload = commands[-1]
    assert upload[:4] == ["gh", "release", "create", "2"]
    assert set(second["files"]) <= set(upload)
    assert all(Path(path).is_file() for path in second["files"])
    suffixes = [Path(path).suffix for path in second["files"]]
    assert suffixes.count(".patch") == 1


def test_a_pack_is_signed_by_the_program_before_it_is_published(
    publish: Publish, commands: list[list[str]]
) -> None:
    publish("1", "--key", "films.key")

    programs = [command[:3] for command in commands]
    assert programs.index(["minisign", "-S", "-s"]) < programs.index(
        ["stackroom", "pack", "publish"]
    )


def test_a_release_that_could_not_be_uploaded_is_uploaded_by_the_next_run(
    publish: Publish,
    source: Path,
    tmp_path: Path,
    commands: list[list[str]],
    failures: list[Exception],
) -> None:
    publish("1", "--upload")
    write_films(source, [f"Film {number}" for number in range(31)])
    failures.append(subprocess.CalledProcessError(1, "gh"))
    with pytest.raises(subprocess.CalledProcessError):
        publish("2", "--upload")
    failed = commands[-1]

    again = publish("2", "--upload")

    assert again["published"]
    assert commands[-1] == failed
    assert tags_at(tmp_path / "site") == ["2", "1"]
