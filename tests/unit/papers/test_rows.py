"""A row of paper metadata → a record, and when two papers are the same."""

import json
from pathlib import Path
from typing import Any

import pytest

from stackroom.errors import InputError
from stackroom.ingest.ledger import Ledger
from stackroom.ingest.mapping import require_valid
from stackroom.ingest.pipeline import IngestReport, Target, ingest
from stackroom.model.record import Tag
from stackroom.packages import PACKAGES
from stackroom.sources.json_rows import JsonRows
from stackroom_catalogues.papers.rows import MAPPING, normalised_title, record_of
from support.memory_shelf import MemoryShelf

SPEC = PACKAGES.get("papers").spec


def test_a_row_of_a_provider_becomes_a_record_as_the_catalogue_declares_it() -> None:
    record = record_of(
        {
            "id": "arxiv:1706.03762",
            "title": " Attention Is\n All You Need ",
            "abstract": "The dominant\n sequence models.",
            "authors": [
                {"name": "Ashish Vaswani", "affiliations": ["Google", "Google"]},
                {"name": " "},
            ],
            "year": 2017,
            "keywords": ["cs.CL", "cs.LG", "cs.CL"],
            "doi": "https://doi.org/10.1/x",
            "url": "https://arxiv.org/abs/1706.03762",
            "venue": "NeurIPS",
        }
    )
    require_valid(record, SPEC)
    assert record.id == "arxiv:1706.03762"
    assert record.fields == {
        "title": "Attention Is All You Need",
        "abstract": "The dominant sequence models.",
        "authors": [{"name": "Ashish Vaswani", "affiliations": ["Google", "Google"]}],
        "author_names": ("Ashish Vaswani",),
        "affiliations": ("Google",),
        "publish_year": 2017,
        "venue": "NeurIPS",
        "keywords": (Tag("", "cs.CL"), Tag("", "cs.LG")),
        "doi": "10.1/x",
        "url": "https://arxiv.org/abs/1706.03762",
    }


@pytest.mark.parametrize(
    ("authors", "names"),
    [
        ("Ada Lovelace; Charles Babbage", ["Ada Lovelace", "Charles Babbage"]),
        ("Ada Lovelace and Charles Babbage", ["Ada Lovelace", "Charles Babbage"]),
        ([{"first": "Ada", "last": "Lovelace"}], ["Ada Lovelace"]),
        (None, []),
    ],
)
def test_authors_come_in_several_forms(authors: Any, names: list[str]) -> None:
    record = record_of({"title": "T", "authors": authors})
    assert [author["name"] for author in record.get("authors") or ()] == names
    assert list(record.get("author_names") or ()) == names


@pytest.mark.parametrize(
    "affiliations", ["MIT", ["MIT"], [{"name": "MIT"}], [{"institution": "MIT"}]]
)
def test_affiliations_come_in_several_forms(affiliations: Any) -> None:
    record = record_of({"title": "T", "authors": [{"name": "A", "affiliations": affiliations}]})
    assert record.get("authors") == [{"name": "A", "affiliations": ["MIT"]}]
    require_valid(record, SPEC)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({}, "'title' is missing"),
        ({"title": ["T"]}, "'title' is missing"),
        ({"title": "T", "year": "soon"}, "'publish_year' is 'soon', not a year"),
        ({"title": "T", "publish_year": 20}, "not a year"),
        ({"title": "T", "authors": {"name": "A"}}, "'authors' is not a list"),
        ({"title": "T", "authors": [7]}, "a name or an object"),
    ],
)
def test_what_is_no_paper_is_refused_with_the_reason(row: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        record_of(row)


@pytest.mark.row("P5")
@pytest.mark.parametrize(
    "title",
    [
        "  ATTENTION   is all\tyou need ",
        "Attention\u00a0Is All\nYou\u2003Need",
    ],
)
def test_titles_are_the_same_whatever_their_case_and_spaces(title: str) -> None:
    assert normalised_title(title) == "attention is all you need"


@pytest.mark.row("P5")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Attention Is All You Need", "Attention Is All You Need."),
        ("Part I", "Part II"),
        ("Über Sätze", "Uber Satze"),
        ("On A B", "On AB"),
    ],
)
def test_titles_that_differ_in_more_are_of_different_papers(one: str, other: str) -> None:
    assert normalised_title(one) != normalised_title(other)


def ingested(rows: list[dict[str, Any]], tmp_path: Path) -> IngestReport:
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    target = Target(spec=SPEC, mapping=MAPPING, writer=MemoryShelf(SPEC), ledger=Ledger())
    return ingest(JsonRows(tmp_path / "rows.json"), target, progress=lambda _report: None)


@pytest.mark.row("P5")
def test_the_second_of_two_papers_of_one_title_is_left_out_and_listed(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "title": "On  Computable Numbers", "year": 1936},
        {"id": "b", "title": "on computable numbers ", "year": 1937},
        {"title": "ON COMPUTABLE NUMBERS"},
        {"id": "d", "title": "On Computable Numbers, a Correction"},
    ]
    report = ingested(rows, tmp_path)
    assert (report.written, report.duplicates, report.rejected) == (2, 2, 0)
    assert report.rejects == [("row 2", "the same as row 1"), ("row 3", "the same as row 1")]


@pytest.mark.row("P3")
@pytest.mark.parametrize(
    ("text", "title", "abstract"),
    [
        (
            "On Bread\nA. Baker\nAbstract\nFlour and water.\n\nMore.",
            "On Bread",
            "Flour and water. More.",
        ),
        ("# On Bread\n\nAbstract: flour and\nwater.", "On Bread", "flour and water."),
        ("On Bread\nFlour and water.", "On Bread", "Flour and water."),
    ],
)
def test_a_paper_s_own_text_has_its_title_and_its_abstract(
    text: str, title: str, abstract: str
) -> None:
    record = record_of({"path": "bread.pdf", "text": text})
    assert (record.id, record.get("title"), record.get("abstract")) == (
        "bread.pdf",
        title,
        abstract,
    )
