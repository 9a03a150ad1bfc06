"""Links in the documentation lead to files and headings that exist."""

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCED = re.compile(r"^( *)```.*?^\1```$", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def list_pages() -> list[Path]:
    """Every Markdown page of the repository that people read."""
    pages = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "benchmarks").rglob("*.md"),
    ]
    return sorted(pages)


def without_code(page: Path) -> str:
    """The text of a page without its fenced blocks, in which brackets mean something else."""
    return FENCED.sub("", page.read_text(encoding="utf-8"))


def anchor_of(heading: str) -> str:
    """The anchor that a heading gets: lower case, without punctuation, blanks as dashes."""
    words = LINK.sub("]", heading).lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


@cache
def anchors_of(page: Path) -> frozenset[str]:
    """The anchors of a page."""
    return frozenset(anchor_of(heading) for heading in HEADING.findall(without_code(page)))


def broken_links(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    broken = []
    for link in LINK.findall(without_code(page)):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (
            anchor and target.suffix == ".md" and anchor not in anchors_of(target)
        ):
            broken.append(link)
    return broken


def test_every_link_leads_to_a_file_and_a_heading() -> None:
    broken = {str(page.relative_to(ROOT)): broken_links(page) for page in list_pages()}

    assert {page: links for page, links in broken.items() if links} == {}


def test_a_link_to_a_missing_file_or_heading_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One heading\n[a](page.md#one-heading) [b](page.md#two) [c](gone.md)\n", encoding="utf-8"
    )

    assert broken_links(page) == ["page.md#two", "gone.md"]
