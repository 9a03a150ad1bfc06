"""The documentation as static pages: what is copied for the generator, and what the check of its
result finds.
"""

import json
from pathlib import Path

import build_docs
import pytest

from stackroom.serve.http.docs import list_pages
from support.pages import ROOT


def write(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".html").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("staged")
    build_docs.stage(ROOT, folder)
    return folder


def test_every_file_and_folder_that_a_page_links_to_is_staged(staged: Path) -> None:
    missing = [
        f"{page.relative_to(staged)}: {link}"
        for page in staged.rglob("*.md")
        for path, link in build_docs.iter_links(page)
        if not path.is_file()
    ]
    assert missing == []


def test_a_folder_becomes_a_page_that_lists_its_files(staged: Path) -> None:
    page = (staged / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")
    assert page.startswith("# docs/decisions\n")
    assert "(../../docs/decisions/0087-documentation-is-served.md)" in page
    assert "(../docs/decisions/README.md)" in (staged / "docs" / "README.md").read_text(
        encoding="utf-8"
    )


def test_every_guide_and_reference_is_in_the_order_of_the_site() -> None:
    listed = {page for pages in build_docs.build_nav(ROOT).values() for page in pages}
    assert {f"docs/{name}" for name in list_pages()} - listed == set()


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        ('<a href="../other/#here">', ""),
        ('<a href="../other/#gone">', "leads to no heading"),
        ('<a href="../gone/">', "leads to nothing"),
        ('<img src="gone.webp">', "leads to nothing"),
        ('<a href="https://example.org/">', ""),
        ('<script src="https://example.org/x.js">', "loads https://example.org/x.js"),
        (
            '<link rel="stylesheet" href="//fonts.example.org/x.css">',
            "loads //fonts.example.org/x.css",
        ),
    ],
)
def test_a_link_to_nothing_and_a_file_of_another_server_are_found(
    tmp_path: Path, page: str, problem: str
) -> None:
    site = write(tmp_path, one__index=page, other__index='<h2 id="here">')
    found = list(build_docs.check_site(site))
    assert (found == []) if not problem else (len(found) == 1 and problem in found[0])


def test_versions_are_listed_from_the_newest(tmp_path: Path) -> None:
    for name in ("0.2.0", "0.10.0", "0.9.1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "llms.txt").write_text("- [Start](docs/start.md): …\n", encoding="utf-8")
    build_docs.list_versions(tmp_path)
    versions = json.loads((tmp_path / "versions.json").read_text(encoding="utf-8"))
    assert [one["version"] for one in versions] == ["0.10.0", "0.9.1", "0.2.0"]
    assert versions[0]["aliases"] == ["latest"]
    assert 'url=0.10.0/"' in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "(0.10.0/docs/start.md)" in (tmp_path / "llms.txt").read_text(encoding="utf-8")
