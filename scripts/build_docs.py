"""Builds the documentation as static pages with search: `make docs` writes `build/docs/VERSION`
beside other versions.

The pages keep their places in the repository, and every file that they link to is copied, so that
links lead where they lead there. Nothing is fetched: not while building, and not by the readers'
browsers. A link that is broken in the result, or a script, style or picture from another server,
fails the build.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from stackroom import __version__
from stackroom.serve.http.docs import list_pages, llms_text

ROOT = Path(__file__).parent.parent
INDEX = "docs/README.md"
PROJECT = (
    "README.md",
    "CHANGELOG.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
)
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
FENCED = re.compile(r"^( *)```.*?^\1```$", re.DOTALL | re.MULTILINE)
LOADED = {"script": "src", "link": "href", "img": "src", "source": "srcset", "iframe": "src"}
"""Elements that a browser loads by itself, each with the attribute that says what."""
SETTINGS = """\
[project]
site_name = "Stackroom"
docs_dir = "pages"
site_dir = "site"
nav = [{nav}
]

[project.theme]
font = false
features = ["navigation.sections", "content.code.copy", "search.highlight"]
palette = [
    {{ media = "(prefers-color-scheme: light)", scheme = "default" }},
    {{ media = "(prefers-color-scheme: dark)", scheme = "slate" }},
]

[project.extra]
generator = false

[project.extra.version]
provider = "mike"

[project.markdown_extensions.toc]
permalink = true
slugify = {{ object = "pymdownx.slugs.slugify", kwds = {{ case = "lower" }} }}

[project.markdown_extensions.tables]

[project.markdown_extensions.pymdownx.superfences]

[project.markdown_extensions.pymdownx.highlight]
"""
MOVED = (
    '<!doctype html><meta charset="utf-8"><title>Stackroom</title><meta http-equiv="refresh"'
    ' content="0; url={0}/"><a href="{0}/">Stackroom {0}</a>\n'
)


def main() -> int:
    """Build the site of this version, and list all versions that are beside it."""
    parser = argparse.ArgumentParser(description="Build the documentation as static pages.")
    parser.add_argument("--generator", default="zensical", help="the command of Zensical")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "build" / "docs", help="the folder of all versions"
    )
    options = parser.parse_args()
    work = ROOT / "build" / "docs-pages"
    shutil.rmtree(work, ignore_errors=True)
    stage(ROOT, work / "pages")
    nav = ",".join(
        f"\n    {{ {name} = {json.dumps(pages)} }}" for name, pages in build_nav(ROOT).items()
    )
    (work / "zensical.toml").write_text(SETTINGS.format(nav=nav), encoding="utf-8")
    subprocess.run([options.generator, "build", "--clean", "--strict"], cwd=work, check=True)
    site = options.out / __version__
    shutil.rmtree(site, ignore_errors=True)
    shutil.copytree(work / "site", site)
    write_for_models(work / "pages", site)
    list_versions(options.out)
    problems = list(check_site(site))
    print(
        "\n".join(problems)
        or f"{site}: {sum(1 for _ in site.rglob('*.html'))} pages, every link leads somewhere"
    )
    return 1 if problems else 0


def stage(root: Path, target: Path) -> None:
    """Copy the pages, and whatever they link to, to the places that they have in the repository."""
    waiting = [root / name for name in PROJECT] + sorted((root / "docs").rglob("*.md"))
    copied = set[Path]()
    while waiting:
        path = waiting.pop()
        if path in copied:
            continue
        copied.add(path)
        place = target / staged_name(root, path)
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            place.write_text(folder_page(root, path), encoding="utf-8")
            waiting += iter_shown(path)
        elif path.suffix == ".md":
            place.write_text(staged_text(root, path), encoding="utf-8")
            waiting += [linked for linked, _ in iter_links(path)]
        else:
            shutil.copy(path, place)


def staged_name(root: Path, path: Path) -> Path:
    """Return the place of a file among the pages; a folder is a page that lists its files, and
    nothing is hidden.
    """
    shown = Path(*(part.lstrip(".") for part in path.relative_to(root).parts))
    return shown / "README.md" if path.is_dir() else shown


def folder_page(root: Path, folder: Path) -> str:
    """Return the page of a folder: the files and folders in it."""
    lines = [
        f"- [{title_of(path)}]({relative(root, path, folder / 'README.md')})"
        for path in iter_shown(folder)
    ]
    return f"# {folder.relative_to(root).as_posix()}\n\n" + "\n".join(lines) + "\n"


def iter_shown(folder: Path) -> list[Path]:
    """Return what the page of a folder lists."""
    return sorted(path for path in folder.iterdir() if path.name != "__pycache__")


def title_of(path: Path) -> str:
    """Return the title of a page, or the name of a file."""
    return (
        path.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ")
        if path.suffix == ".md"
        else path.name
    )


def relative(root: Path, path: Path, page: Path) -> str:
    """Return the link from a page to a file, as they are staged."""
    up = len(staged_name(root, page).parent.parts)
    return "../" * up + staged_name(root, path).as_posix()


def iter_links(page: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files and folders that a page links to, each with the link."""
    for _, link, _, _ in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        if not urlsplit(link).scheme:
            yield (page.parent / unquote(link)).resolve(), link


def staged_text(root: Path, page: Path) -> str:
    """Return a page whose links to folders and hidden files lead to where these are staged."""
    linked = {link: path for path, link in iter_links(page)}

    def changed(found: re.Match[str]) -> str:
        start, link, anchor, end = found.groups()
        path = linked.get(link)
        is_moved = path is not None and (
            path.is_dir() or staged_name(root, path) != path.relative_to(root)
        )
        return (
            f"{start}{relative(root, path, page) if path and is_moved else link}{anchor or ''}{end}"
        )

    return LINK.sub(changed, page.read_text(encoding="utf-8"))


def build_nav(root: Path) -> dict[str, list[str]]:
    """Return the order of the pages: that of the index, then decisions and the pages of the
    project.
    """
    guides, reference = (root / INDEX).read_text(encoding="utf-8").split("## Reference")
    linked = [
        [f"docs/{link}" for _, link, _, _ in LINK.findall(part) if link.endswith(".md")]
        for part in (guides, reference)
    ]
    decisions = [
        path.relative_to(root).as_posix()
        for path in sorted((root / "docs" / "decisions").glob("*.md"))
    ]
    sections = {
        "Guides": [INDEX, *linked[0]],
        "Reference": linked[1],
        "Project": [*PROJECT],
        "Decisions": ["docs/decisions/README.md", *decisions],
    }
    return {name: list(dict.fromkeys(pages)) for name, pages in sections.items()}


def write_for_models(pages: Path, site: Path) -> None:
    """Write the Markdown of the pages beside them, an index of it, and all guides and references in
    one file.
    """
    for page in pages.rglob("*.md"):
        shutil.copy(page, site / page.relative_to(pages))
    (site / "llms.txt").write_text(llms_text(), encoding="utf-8")
    texts = [(pages / "docs" / name).read_text(encoding="utf-8") for name in list_pages()]
    (site / "llms-full.txt").write_text("\n\n".join(texts), encoding="utf-8")


def list_versions(folder: Path) -> None:
    """Write the list of versions, newest first, an address that leads to the newest, and its index
    for models.
    """
    found = sorted(
        (path.name for path in folder.iterdir() if path.is_dir()), key=_version_key, reverse=True
    )
    versions = [
        {"version": name, "title": name, "aliases": ["latest"] if name == found[0] else []}
        for name in found
    ]
    (folder / "versions.json").write_text(json.dumps(versions, indent=1), encoding="utf-8")
    (folder / "index.html").write_text(MOVED.format(found[0]), encoding="utf-8")
    newest = (folder / found[0] / "llms.txt").read_text(encoding="utf-8")
    (folder / "llms.txt").write_text(
        newest.replace("](docs/", f"]({found[0]}/docs/"), encoding="utf-8"
    )


def _version_key(name: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", name)]


class Page(HTMLParser):
    """What the check needs of a page: anchors, links, and what a browser loads by itself."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors = set[str]()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        given = {name: value for name, value in attrs if value}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if LOADED.get(tag) in given and given.get("rel") != "canonical":
            self.loaded.append(given[LOADED[tag]])


def check_site(site: Path) -> Iterator[str]:
    """Yield what is wrong: links to nothing, and what a browser would load from elsewhere."""
    parsed = cache(Page)
    for path in sorted(site.rglob("*.html")):
        page, name = parsed(path), path.relative_to(site)
        yield from (f"{name}: loads {one}" for one in page.loaded if urlsplit(one).netloc)
        for link in _local([*page.links, *page.loaded]):
            parts = urlsplit(link)
            target = _file_at(site if parts.path.startswith("/") else path.parent, parts.path, path)
            if not target.is_file():
                yield f"{name}: {link} leads to nothing"
            elif (
                parts.fragment
                and target.suffix == ".html"
                and unquote(parts.fragment) not in parsed(target).anchors
            ):
                yield f"{name}: {link} leads to no heading"


def _local(links: Iterable[str]) -> Iterator[str]:
    return (link for link in links if not urlsplit(link).scheme and not urlsplit(link).netloc)


def _file_at(folder: Path, link: str, page: Path) -> Path:
    if not link:
        return page
    target = (folder / unquote(link).lstrip("/")).resolve()
    return target / "index.html" if target.is_dir() else target


if __name__ == "__main__":
    sys.exit(main())
