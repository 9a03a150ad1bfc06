"""Every passage says which catalogue, record, file and place it is from."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stackroom.settings import Settings
from stackroom_catalogues import anime
from support.libraries import Library, opened

pytestmark = pytest.mark.row("N10")


@pytest.fixture(scope="module")
def library(whole_home: Path) -> Iterator[Library]:
    """Every sample catalogue, without vectors."""
    with opened(
        Settings(home=whole_home), "anime", "handbook", "dnd", "judoka", "papers"
    ) as library:
        yield library


def call(library: Library, tool: str, **arguments: Any) -> Any:
    answer = library.call(tool, **arguments)
    assert answer.structured is not None, answer.text
    return answer


def test_a_row_of_a_table_is_found_with_its_file_and_line(library: Library) -> None:
    (found,) = call(library, "search", query="Cowboy Bebop", catalogue="anime", limit=1).structured[
        "results"
    ]
    assert found["catalogue"] == "anime"
    assert found["id"].startswith("anime/")
    file, _, line = found["origin"].partition(", line ")
    sample = Path(anime.__file__).with_name(file).read_text("utf-8").splitlines()
    assert f'"{found["title"]}"' in sample[int(line) - 1]
    fetched = call(library, "fetch", id=found["id"])
    assert fetched.structured["origin"] == found["origin"]
    assert found["origin"] in fetched.text


def test_a_passage_is_found_with_its_file_and_lines(library: Library) -> None:
    (found,) = call(
        library, "search", query="code review", catalogue="handbook", limit=1
    ).structured["results"]
    assert found["origin"] == "engineering/code-review.md, lines 1-3"


@pytest.mark.parametrize("tool", ["search_documents", "search_handbook"])
def test_document_tools_say_file_and_lines_in_both_forms(library: Library, tool: str) -> None:
    answer = call(library, tool, query="code review", n_results=1)
    place = answer.structured["results"][0]["metadata"]
    assert (place["source"], place["file_path"]) == ("handbook", "engineering/code-review.md")
    assert (place["first_line"], place["last_line"]) == (1, 3)
    assert "handbook/engineering/code-review.md:1-3" in answer.text


def test_passages_of_several_files_say_which(library: Library) -> None:
    answer = call(library, "query_rag", query="what is a throw")
    first = answer.structured["results"][0]
    assert first["source"]
    assert f"{first['source']} [{first['id']}]" in answer.text


def test_no_answer_says_in_which_folder_of_the_server_a_file_is(library: Library) -> None:
    answer = call(library, "search", query="code review")
    assert str(Path(__file__).resolve().parents[3]) not in answer.text
