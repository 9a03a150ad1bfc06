"""The documentation stays short: each guide, each decision, and all pages together."""

from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
GUIDE_WORDS = 1_500
DECISION_WORDS = 200
ALL_WORDS = 60_000
NO_GUIDE = {"rows.md"}


def count_words(page: Path) -> int:
    """Count what has a letter or a digit: lines and bars of tables are no words."""
    words = page.read_text(encoding="utf-8").split()
    return sum(any(letter.isalnum() for letter in word) for word in words)


def test_no_guide_is_longer_than_a_reader_has_time_for() -> None:
    guides = {
        page.name: count_words(page) for page in DOCS.glob("*.md") if page.name not in NO_GUIDE
    }
    assert {name: words for name, words in guides.items() if words > GUIDE_WORDS} == {}


def test_a_decision_is_one_short_page() -> None:
    decisions = {page.name: count_words(page) for page in (DOCS / "decisions").glob("*.md")}
    assert {name: words for name, words in decisions.items() if words > DECISION_WORDS} == {}


def test_all_pages_together_stay_within_their_bound() -> None:
    assert sum(count_words(page) for page in DOCS.rglob("*.md")) <= ALL_WORDS
