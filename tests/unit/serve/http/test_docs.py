"""The documentation at `/docs`: pages for browsers, Markdown for programs, and an index for
language models.
"""

import posixpath
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from stackroom.serve.http import docs
from stackroom.settings import WebSettings

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


class Parts(HTMLParser):
    """The links and anchors of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: list[str] = []
        self.feed(page)

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.links += [given["href"]] if given.get("href") else []
        self.anchors += [given["id"]] if given.get("id") else []


def test_a_page_is_html_for_browsers_and_markdown_for_programs(site: Any) -> None:
    shown, told = (
        site.client.get("/docs/start.md", headers=BROWSER),
        site.client.get("/docs/start.md"),
    )
    assert shown.headers["content-type"] == "text/html; charset=utf-8"
    assert '<h1 id="start">Start</h1>' in shown.text
    assert told.headers["content-type"] == "text/markdown; charset=utf-8"
    assert told.text.startswith("# Start\n")
    assert "Accept" in shown.headers["vary"]


def test_the_index_is_shown_at_the_folder(site: Any) -> None:
    moved = site.client.get("/docs", headers=BROWSER, follow_redirects=False)
    assert (moved.status_code, moved.headers["location"]) == (307, "docs/")
    assert '<h1 id="documentation">' in site.client.get("/docs/", headers=BROWSER).text


def test_every_link_of_every_page_leads_to_a_page_and_a_heading() -> None:
    pages = {name: Parts(docs.render_page(name)[1]) for name in docs.list_pages()}
    broken = []
    for name, parts in pages.items():
        for link in (
            one for one in parts.links if "://" not in one and not one.startswith("mailto:")
        ):
            path, _, anchor = link.partition("#")
            target = (
                posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            )
            if target not in pages or (anchor and anchor not in pages[target].anchors):
                broken.append(f"{name}: {link}")
    assert broken == []


def test_headings_of_the_same_words_have_different_anchors() -> None:
    for name in docs.list_pages():
        anchors = Parts(docs.render_page(name)[1]).anchors
        assert len(anchors) == len(set(anchors)), name


def test_nothing_runs_on_a_page_of_the_documentation(site: Any) -> None:
    reply = site.client.get("/docs/reference/tools.md", headers=BROWSER)
    assert reply.headers["content-security-policy"].startswith(
        "default-src 'none'; style-src 'self'"
    )
    assert "<script" not in reply.text
    assert "<!--" not in reply.text
    assert not re.search(r"""\s(on\w+|style)=["']""", reply.text)


@pytest.mark.parametrize(
    "path",
    ["/docs/nope.md", "/docs/%2e%2e/README.md"],
)
def test_what_is_no_page_is_not_found(site: Any, path: str) -> None:
    assert site.client.get(path).status_code == 404
    assert "There is nothing here" in site.client.get(path, headers=BROWSER).text


def test_language_models_find_every_page_in_one_file(site: Any) -> None:
    index = site.client.get("/llms.txt")
    assert index.headers["content-type"] == "text/plain; charset=utf-8"
    assert index.text.startswith("# Stackroom\n\n> ")
    linked = re.findall(r"^- \[.+\]\((docs/.+\.md)\): .+$", index.text, re.MULTILINE)
    assert {one.removeprefix("docs/") for one in linked} == {*docs.list_pages()} - {"README.md"}
    assert all(site.client.get(f"/{one}").status_code == 200 for one in linked)


def test_without_the_page_there_is_no_documentation_either(make_site: Any) -> None:
    assert make_site(web=WebSettings(page=False)).client.get("/docs/start.md").status_code == 404
