"""The wheel and the sdist: complete, nothing superfluous, and fit for a package index."""

import email
import email.message
import os
import re
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hatch_build import require_repository, with_absolute_links
from hatchling.build import build_sdist, build_wheel

from stackroom.serve.http.docs import list_pages

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.row("N17")

PACKAGES = ("stackroom", "stackroom_catalogues")
SUPPORTED = ("3.11", "3.12", "3.13", "3.14")
ADDRESS = "https://github.com/owner/repo"


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def build_all(folder: Path) -> Path:
    """Build the wheel, the sdist, and the wheel that the sdist builds, in a folder of its own."""
    with working_in(ROOT):
        build_wheel(str(folder))
        sdist = folder / build_sdist(str(folder))
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    with working_in(next((folder / "unpacked").iterdir())):
        (folder / "again").mkdir()
        build_wheel(str(folder / "again"))
    return folder


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is built without an address."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("REPOSITORY", raising=False)
        return build_all(tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    return next(built.glob("*.whl"))


def read_metadata(wheel: Path) -> email.message.Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> email.message.Message:
    return read_metadata(wheel)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> email.message.Message:
    """The metadata of a wheel that is built as `make dist` builds it."""
    folder = tmp_path_factory.mktemp("published")
    with pytest.MonkeyPatch.context() as patch, working_in(ROOT):
        patch.setenv("REPOSITORY", f"{ADDRESS}/")
        return read_metadata(folder / build_wheel(str(folder)))


def files_of_tree() -> dict[str, bytes]:
    """Return the files that belong into the wheel, by their name in it."""
    paths = (
        path
        for package in PACKAGES
        for path in (ROOT / "src" / package).rglob("*")
        if path.is_file()
    )
    shipped = (path for path in paths if "__pycache__" not in path.parts)
    docs = {
        f"stackroom/docs/{name}": (ROOT / "docs" / name).read_bytes()
        for name in list_pages()
        if name != "rows.md"
    }
    return docs | {path.relative_to(ROOT / "src").as_posix(): path.read_bytes() for path in shipped}


def test_the_wheel_has_the_files_of_both_packages_and_the_documentation_and_no_others(
    wheel: Path,
) -> None:
    with zipfile.ZipFile(wheel) as archive:
        shipped = {
            name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name
        }
    assert shipped == files_of_tree()


def test_the_sdist_builds_the_same_wheel(built: Path, wheel: Path) -> None:
    assert (built / "again" / wheel.name).read_bytes() == wheel.read_bytes()


def test_the_sdist_has_what_a_build_and_its_tests_need(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        shipped = {name.split("/")[1] for name in archive.getnames()}
    needed = {"LICENSE", "PKG-INFO", "README.md", "hatch_build.py", "pyproject.toml", "src"}
    tried = {
        "tests",
        "docs",
        "scripts",
        "deploy",
        "Makefile",
        "requirements.lock",
        "requirements-server.lock",
    }
    assert needed | tried <= shipped
    assert not {".git", ".venv", ".cache", "benchmarks"} & shipped


def test_no_link_of_the_readme_is_relative_on_the_package_index(
    published: email.message.Message,
) -> None:
    text = published.get_payload()
    assert isinstance(text, str)
    targets = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|href)="([^"]+)"', text)
    assert [one for one in targets if not re.match(r"https?:|#", one)] == []
    assert published["Description-Content-Type"] == "text/markdown"


def test_addresses_follow_from_the_one_that_make_dist_is_given(
    published: email.message.Message,
) -> None:
    urls = dict(one.split(", ") for one in published.get_all("Project-URL", []))
    assert set(urls) == {"Homepage", "Documentation", "Repository", "Issues", "Changelog"}
    assert all(url.startswith(ADDRESS) for url in urls.values())
    assert "mcp-name: io.github.owner/stackroom" in published.get_payload()


def test_a_wheel_that_is_built_without_an_address_states_none(
    metadata: email.message.Message,
) -> None:
    text = metadata.get_payload()
    assert metadata.get_all("Project-URL", []) == []
    assert metadata["Home-page"] is None
    assert "mcp-name" not in text
    assert "](docs/install.md)" in text


@pytest.mark.parametrize(
    "address", ["github.com/owner/repo", "https://github.com/owner", "https://example.org/a/b"]
)
def test_an_address_that_is_not_of_a_repository_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match=f"'{address}'; it must be https://github.com/OWNER/NAME"):
        require_repository(address)


def test_the_metadata_name_the_pythons_and_systems_that_are_supported(
    metadata: email.message.Message,
) -> None:
    classifiers = set(metadata.get_all("Classifier", []))
    assert {f"Programming Language :: Python :: {version}" for version in SUPPORTED} <= classifiers
    assert {"Operating System :: MacOS", "Operating System :: Microsoft :: Windows"} <= classifiers
    assert metadata["Requires-Python"] == f">={SUPPORTED[0]}"


def test_links_to_pages_and_images_get_the_address_of_the_repository() -> None:
    text = '[![x](docs/a.png)](docs/a.md) [b](#b) [c](https://example.org) <img src="docs/c.svg">'
    assert with_absolute_links(text, "https://host/r") == (
        "[![x](https://host/r/raw/main/docs/a.png)](https://host/r/blob/main/docs/a.md) [b](#b) "
        '[c](https://example.org) <img src="https://host/r/raw/main/docs/c.svg">'
    )


def test_the_container_is_given_every_file_that_the_build_reads() -> None:
    copied = re.findall(
        r"^COPY ((?!--from)[^\n]+) \S+$", (ROOT / "Containerfile").read_text(), re.MULTILINE
    )
    allowed = {
        line[1:]
        for line in (ROOT / ".containerignore").read_text().splitlines()
        if line.startswith("!")
    }
    assert {name for line in copied for name in line.split()} == allowed
    assert {"hatch_build.py", "pyproject.toml", "README.md", "LICENSE", "src"} <= allowed


def test_models_can_be_fetched_where_an_environment_comes_without_pip(
    metadata: email.message.Message,
) -> None:
    assert any(one.startswith("pip>=") for one in metadata.get_all("Requires-Dist", []))
