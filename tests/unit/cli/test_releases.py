"""`init NAME --from`, `update` and `rollback`, as they are typed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.publisher import NAME, Publisher, make_stars, new_publisher
from support.signer import Signer

pytestmark = pytest.mark.row("A11")

COUNT = 12


@pytest.fixture
def publisher(tmp_path: Path) -> Publisher:
    found = new_publisher(tmp_path)
    found.publish("1.0", make_stars(COUNT, "1.0").values())
    return found


def test_a_catalogue_is_installed_searched_updated_and_taken_back(
    publisher: Publisher, run: Callable[..., Any]
) -> None:
    place = str(publisher.folder)

    installed = run(f"init '{NAME}' --from '{place}'")
    found = run(f"search '{NAME}' 'golden star'")
    publisher.publish("1.1", make_stars(COUNT, "1.1").values())
    updated = run("update")
    back = run(f"rollback '{NAME}'")

    assert [one.code for one in (installed, found, updated, back)] == [0] * 4
    assert f"stars 1.0 from {place}: 12 records" in installed.out
    assert "kB to fetch, not checked by a key" in installed.out
    assert "its vectors are by word-hash, and search uses words alone" in installed.err
    assert "as of 1.0" in found.out
    assert "stars: 1.0 → 1.1" in updated.out
    assert "stars: 1.1 → 1.0: 12 records written, 0 removed" in back.out


def test_a_key_is_given_as_a_file_or_as_itself(
    publisher: Publisher, run: Callable[..., Any], tmp_path: Path
) -> None:
    publisher.key = Signer.new()
    publisher.publish("1.1", make_stars(COUNT, "1.1").values())
    file = tmp_path / "key.pub"
    file.write_bytes(publisher.key.public_file)

    by_file = run(f"init '{NAME}' --from {publisher.folder} --key {file}")
    again = run(f"init '{NAME}' --from {publisher.folder} --key {publisher.key.public}")
    wrong = run(f"init '{NAME}' --from {publisher.folder} --key RWnonsense")

    assert "signed by the given key" in by_file.out
    assert "1.1 is installed already" in again.out
    assert wrong.code != 0
    assert "neither a file nor a public key of minisign" in wrong.err


def test_a_failed_update_of_one_catalogue_leaves_the_others_alone(
    publisher: Publisher, run: Callable[..., Any], tmp_path: Path
) -> None:
    other = Publisher(folder=tmp_path / "planets", packs=tmp_path / "planet packs", name="planets")
    other.publish("1.0", make_stars(COUNT, "1.0").values())
    for name, one in ((NAME, publisher), ("planets", other)):
        assert run(f"init {name} --from {one.folder}").code == 0
    other.publish("0.9", make_stars(COUNT, "0.9").values())
    publisher.publish("1.1", make_stars(COUNT, "1.1").values())

    ran = run("update")

    assert ran.code != 0
    assert "stars: 1.0 → 1.1" in ran.out
    assert "planets: not updated" in ran.err
    assert "0.9, older than the installed 1.0" in ran.err


def test_without_a_release_there_is_nothing_to_update(
    publisher: Publisher, run: Callable[..., Any]
) -> None:
    ran = run("update")

    assert (ran.code, ran.out) == (0, "")
    assert "no catalogue was installed from a place" in ran.err
