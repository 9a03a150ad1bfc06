"""Thumbnails in packs: whoever installs a release has the small pictures of its catalogue, and
nothing else.
"""

import hashlib
import io
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.errors import StorageError
from stackroom.library import THUMBNAILS_FOLDER
from stackroom.packs.build import check_pack, files_folder
from stackroom.packs.entries import MOST_PICTURE_BYTES, iter_thumbnails
from stackroom.packs.manifest import THUMBNAILS_FILE, Manifest
from stackroom.packs.update import install_release, roll_back, update_catalogue
from support.publisher import NAME, Publisher, make_stars

pytestmark = pytest.mark.row("A11", "Z16")

STARS = list(make_stars(5, "2.0").values())
HEAD = b"RIFF\x00\x00\x00\x00WEBP"


def name_of(picture: str) -> str:
    return f"{hashlib.sha256(picture.encode()).hexdigest()[:32]}.webp"


def made(folder: Path, **pictures: bytes) -> tuple[Path, ...]:
    """Write thumbnails as a build does, and return their files in another order than that of their
    names.
    """
    folder.mkdir()
    for name, content in pictures.items():
        (folder / name_of(name)).write_bytes(HEAD + content)
    return tuple(sorted(folder.iterdir(), reverse=True))


def shown(app: App) -> dict[str, bytes]:
    folder = app.library.get_installed(NAME).folder / THUMBNAILS_FOLDER
    return {path.name: path.read_bytes().removeprefix(HEAD) for path in folder.iterdir()}


def test_thumbnails_come_with_a_release_change_with_an_update_and_return_with_a_rollback(
    app: App, publisher: Publisher, tmp_path: Path
) -> None:
    first = made(tmp_path / "first", rose=b"red", oak=b"green")
    manifest = publisher.publish("2.0", STARS, thumbnails=first)
    assert list(check_pack(publisher.packs / "2.0")) == []

    install_release(app, NAME, str(publisher.folder))
    assert shown(app) == {name_of("rose"): b"red", name_of("oak"): b"green"}

    publisher.publish(
        "3.0", STARS, thumbnails=made(tmp_path / "next", rose=b"white", fern=b"brown")
    )
    assert update_catalogue(app, NAME).version == "3.0", "new pictures alone are a new release"
    assert shown(app) == {name_of("rose"): b"white", name_of("fern"): b"brown"}

    roll_back(app, NAME)
    assert shown(app) == {name_of("rose"): b"red", name_of("oak"): b"green"}
    assert publisher.build("2.0", STARS, thumbnails=first[::-1]).content == manifest.content


def archive(folder: Path, name: str, content: bytes, kind: bytes = tarfile.REGTYPE) -> Path:
    member = tarfile.TarInfo(name)
    member.size, member.type, member.linkname = len(content), kind, "/etc/passwd"
    with tarfile.open(folder / THUMBNAILS_FILE, "w") as tar:
        tar.addfile(member, io.BytesIO(content))
    return folder / THUMBNAILS_FILE


@pytest.mark.parametrize(
    "member",
    [
        ("../../" + name_of("x"), HEAD),
        ("script.js", HEAD),
        (name_of("x"), b"<svg onload=alert(1)>"),
        (name_of("x"), HEAD + bytes(MOST_PICTURE_BYTES)),
        (name_of("x"), b"", tarfile.SYMTYPE),
    ],
    ids=["outside the folder", "another name", "no WebP", "too large", "a link"],
)
def test_an_archive_with_anything_but_small_pictures_is_refused(
    tmp_path: Path, member: tuple[Any, ...]
) -> None:
    with pytest.raises(StorageError, match="which is no small picture"):
        list(iter_thumbnails(archive(tmp_path, *member)))


def test_an_archive_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / THUMBNAILS_FILE).write_bytes(b"no archive" * 100)
    with pytest.raises(StorageError, match="is damaged"):
        list(iter_thumbnails(tmp_path / THUMBNAILS_FILE))


def test_a_flipped_bit_in_the_thumbnails_of_a_pack_is_found(
    stories: Any, build: Callable[..., tuple[Path, Manifest]], tmp_path: Path
) -> None:
    pack, manifest = build(stories, thumbnails=made(tmp_path / "made", rose=b"red"))
    path = files_folder(pack, manifest) / THUMBNAILS_FILE
    path.write_bytes(path.read_bytes().replace(b"red", b"ree"))
    assert THUMBNAILS_FILE in " ".join(check_pack(pack))
