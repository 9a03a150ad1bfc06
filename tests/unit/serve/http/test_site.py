"""The files of the page: within their budget, with every import they name, and libraries as they
were published.
"""

import hashlib
import json
import posixpath
import re

import brotli
import pytest

from stackroom.serve.http.page_paths import (
    DOCS,
    DOCUMENT,
    FOLDER,
    NOT_FOUND,
    PATHS,
    QUALITY,
    SiteFiles,
    without_comments,
)

pytestmark = pytest.mark.row("Z16")

SENT = (".css", ".html", ".js", ".json")
FIRST_VIEW_BYTES = 32_000
"""The most that the first view may have, with Brotli."""
ALL_BYTES = 150_000
"""The most that all files may have, with Brotli."""
ENTRIES = ("start.js", "app.js", "views/home.js", "views/explore/explore.js")
MOST_LINES = 300
LANGUAGES = FOLDER / "languages"
ASSISTANT = "assistant/"
"""The view inside an assistant, which no browser loads from the page."""

STATIC_IMPORT = re.compile(
    r"""^(?:import|export)\s(?:[\w\s{},*$]*?\bfrom\s*)?["']([^"']+)["']""", re.MULTILINE
)
LAZY_IMPORT = re.compile(r"""\bimport\(\s*["'`]([^"'`]+)["'`]\s*\)""")
STYLE = re.compile(r"""\buseStyle\(["']([^"']+)["']\)""")
LINKED = re.compile(r"\{\{site\}\}/([\w./-]+)")


def text_of(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def site_names() -> list[str]:
    """Return the files of the page, without those of further languages, which no browser loads
    unless one is chosen.
    """
    paths = (path for path in FOLDER.rglob("*") if path.suffix in SENT and path.parent != LANGUAGES)
    return sorted(path.relative_to(FOLDER).as_posix() for path in paths)


def imported_by(name: str, pattern: re.Pattern[str] = STATIC_IMPORT) -> set[str]:
    """Return the files that a module imports, as paths in the folder."""
    found = pattern.findall(text_of(name))
    return {
        "vendor/preact.js"
        if one == "preact"
        else posixpath.normpath(posixpath.join(posixpath.dirname(name), one))
        for one in found
    }


def modules() -> list[str]:
    return [name for name in site_names() if name.endswith(".js")]


def sizes(names: set[str]) -> dict[str, int]:
    return {
        name: len(brotli.compress(sent_of(name).encode(), brotli.MODE_TEXT, QUALITY))
        for name in names
    }


def sent_of(name: str) -> str:
    return without_comments(text_of(name)) if name.endswith(".js") else text_of(name)


def told(measured: dict[str, int]) -> str:
    return "\n".join(
        f"{size:7} {name}" for name, size in sorted(measured.items(), key=lambda one: -one[1])
    )


def test_the_first_view_is_small() -> None:
    measured = sizes({*SiteFiles().list_graph(ENTRIES), DOCUMENT, "style.css", "vendor/preact.js"})
    assert sum(measured.values()) <= FIRST_VIEW_BYTES, told(measured)


def test_the_whole_page_is_small() -> None:
    names = {name for name in site_names() if not name.startswith(ASSISTANT)}
    measured = sizes(names)
    assert sum(measured.values()) <= ALL_BYTES, told(measured)


def test_every_module_that_is_imported_exists_and_every_file_is_used() -> None:
    names = {name for name in site_names() if not name.startswith(ASSISTANT)}
    used = {
        DOCUMENT,
        NOT_FOUND,
        DOCS,
        PATHS,
        "style.css",
        "start.js",
        *LINKED.findall(text_of(DOCS)),
    }
    for name in (one for one in modules() if one in names):
        for other in (
            imported_by(name) | imported_by(name, LAZY_IMPORT) | set(STYLE.findall(text_of(name)))
        ):
            assert other in names, f"{name} imports {other}, which does not exist"
            used.add(other)
    assert names - used == set()


def test_no_module_of_ours_is_long() -> None:
    lengths = {
        name: len(text_of(name).splitlines())
        for name in modules()
        if not name.startswith("vendor/")
    }
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def test_the_paths_of_the_page_are_those_that_it_has_views_for() -> None:
    patterns = [
        re.compile(one.replace("(?<", "(?P<"))
        for one in re.findall(r"\[/(\^.+?)/u, \(\) =>", text_of("app.js"))
    ]
    paths = [path for path in json.loads(text_of(PATHS)) if path.startswith("/")]
    tried = [path.replace("*", "x") for path in paths if path != "/c/*/*"]
    assert [path for path in tried if not any(one.search(path) for one in patterns)] == []
    assert [one.pattern for one in patterns if not any(one.search(path) for path in tried)] == []


def test_the_modules_that_the_document_names_for_a_path_are_those_of_the_page() -> None:
    named = {name for names in json.loads(text_of(PATHS)).values() for name in names}
    assert named - set(modules()) == set()


def test_the_libraries_are_the_published_files_that_their_list_names() -> None:
    listed = re.findall(
        r"^\| `(.+?)` \| (\S+) \S+ \| .+? \| .+? \| `([0-9a-f]{64})` \|$",
        text_of_vendor(),
        re.MULTILINE,
    )
    folder = FOLDER / "vendor"
    assert {name for name, _package, _digest in listed} == {
        entry.name for entry in folder.iterdir() if entry.is_file() and entry.name != "README.md"
    }
    for name, package, digest in listed:
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest, name
        assert (folder / "licences" / f"{package}.txt").read_text(encoding="utf-8").strip(), package


def text_of_vendor() -> str:
    return (FOLDER / "vendor" / "README.md").read_text(encoding="utf-8")
