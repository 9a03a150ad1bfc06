"""The document tools over three collections, through the gate; and the documents as resources."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.embed.adapters import WatchedEmbedder
from stackroom.errors import NotFoundError
from stackroom.gate.gate import Gate
from stackroom.model.principal import LOCAL_USER
from stackroom.model.record import Record, RecordId
from stackroom.settings import Settings
from stackroom.sources.extract import extract
from stackroom_catalogues.documents import tools as document_tools
from stackroom_catalogues.documents.tools import REPEATS, find_repeats
from support.found import part_of
from support.libraries import add_package

SAMPLES = Path(document_tools.__file__).parent / "sample"
COLLECTIONS = ("handbook", "dnd", "personal")


def add(app: App, folder: Path, name: str, *, embed: bool = True) -> None:
    add_package(app, "documents", folder, name=name, embed=embed)


@pytest.fixture(scope="session")
def samples_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with the three sample collections, without vectors."""
    home = tmp_path_factory.mktemp("collections")
    app = App(Settings(home=home))
    for name in COLLECTIONS:
        add(app, SAMPLES / name, name, embed=False)
    app.close()
    return home


@pytest.fixture
def gate(samples_home: Path) -> Iterator[Gate]:
    app = App(Settings(home=samples_home))
    yield app.build_gate()
    app.close()


@pytest.fixture
def own_app(tmp_path: Path, embedder: Any) -> Iterator[App]:
    """An empty library, with the word embedder."""
    app = App(Settings(home=tmp_path / "home"))
    app.embedder = WatchedEmbedder(embedder)
    yield app
    app.close()


def call(gate: Gate, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = gate.call(LOCAL_USER, tool, arguments)
    assert not answer.is_error, answer.text
    assert answer.structured is not None
    return answer.structured


def refusal(gate: Gate, tool: str, **arguments: Any) -> str:
    answer = gate.call(LOCAL_USER, tool, arguments)
    assert answer.error_code == "invalid_input"
    return answer.text


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.mark.row("T1")
def test_ping_answers_pong(gate: Gate) -> None:
    assert call(gate, "ping") == {"status": "ok", "message": "pong"}
    assert "unknown argument" in refusal(gate, "ping", loud=True)


@pytest.mark.row("T2")
def test_the_content_is_the_passage_at_the_lines_that_are_named(gate: Gate) -> None:
    for one in call(gate, "search_documents", query="first response within one working day")[
        "results"
    ]:
        where = one["metadata"]
        lines = (SAMPLES / one["source"] / where["file_path"]).read_text("utf-8").split("\n")
        assert "\n".join(lines[where["first_line"] - 1 : where["last_line"]]) == one["content"]
        assert where["heading_path"].endswith(where["title"])
        assert where["section"] == where["file_path"].split("/")[0]


@pytest.mark.row("T2")
@pytest.mark.row("T4")
def test_sources_are_those_asked_for_and_the_number_is_for_each(gate: Gate) -> None:
    found = call(
        gate,
        "search_documents",
        query="the first day",
        sources=["handbook", "personal"],
        n_results=3,
    )
    counts = [sum(one["source"] == name for one in found["results"]) for name in COLLECTIONS]
    assert counts == [3, 0, 3]
    assert len(call(gate, "search_documents", query="the first day", n_results=20)["results"]) > 20


@pytest.mark.row("T4")
def test_an_unknown_source_is_refused_with_those_there_are(gate: Gate) -> None:
    told = refusal(gate, "search_documents", query="x", sources=["cookbook", "dnd"])
    assert "'sources': no value 'cookbook'" in told
    assert "one of dnd, handbook, personal" in told


@pytest.mark.row("T4")
def test_sources_are_understood_in_any_spelling_and_can_be_left_out(gate: Gate) -> None:
    found = call(gate, "search_documents", query="review", sources=["Handbook"])
    assert {one["source"] for one in found["results"]} == {"handbook"}
    found = call(
        gate,
        "search_documents",
        query="review",
        sources=["handbok", "dnd"],
        exclude_sources=["DND"],
    )
    assert {one["source"] for one in found["results"]} == {"handbook"}
    assert "'handbok' taken as 'handbook'" in found["notes"]


@pytest.mark.row("T4")
def test_a_declared_source_that_is_missing_is_skipped_and_said_to_be(
    own_app: App, tmp_path: Path
) -> None:
    add(own_app, write(tmp_path / "notes", a="# Bread\n\nFlour, water, salt."), "notes")
    gate = own_app.build_gate()
    assert {tool.name for tool in gate.list_tools(LOCAL_USER)} >= {"ping", "search_documents"}
    assert "search_handbook" not in {tool.name for tool in gate.list_tools(LOCAL_USER)}
    found = call(gate, "search_documents", query="flour", sources=["notes", "handbook"])
    assert [one["source"] for one in found["results"]] == ["notes"]
    assert found["skipped"] == ["handbook"]
    answer = gate.call(LOCAL_USER, "search_documents", {"query": "flour", "sources": ["dnd"]})
    assert answer.structured == {"results": [], "evidence": "none", "skipped": ["dnd"]}
    assert "skipped: dnd" in answer.text


@pytest.mark.row("T2")
def test_the_same_text_in_two_collections_comes_once(own_app: App, tmp_path: Path) -> None:
    text = "# Sourdough\n\nFeed the starter twice a day."
    add(own_app, write(tmp_path / "one", a=text, b="# Other\n\nFeed the cat."), "one")
    add(own_app, write(tmp_path / "two", copy=text.upper().replace("# ", "#  ")), "two")
    found = call(own_app.build_gate(), "search_documents", query="feed the starter")["results"]
    first, second = [one["metadata"]["file_path"] for one in found]
    assert first in ("a.md", "copy.md")
    assert second == "b.md"


@pytest.mark.row("T2")
@pytest.mark.row("N18")
@pytest.mark.parametrize(
    "query", ["how long can I stay under water without air", "who dives but is not on the list"]
)
def test_a_question_that_says_what_there_is_not_is_answered_by_passages_that_have_its_words(
    own_app: App, tmp_path: Path, query: str
) -> None:
    air, listed = (
        "Under water without air you can stay for two minutes.",
        "Who dives and is not on the list needs a guide.",
    )
    boats = "Under water you can stay with a boat, and dive."
    add(own_app, write(tmp_path / "rules", air=air, listed=listed, boats=boats), "rules")
    found = call(own_app.build_gate(), "search_documents", query=query)
    assert found["results"][0]["content"] == (air if "air" in query else listed)
    assert not [note for note in found.get("notes", ()) if "without" in note or "not on" in note]


@pytest.mark.row("T2")
def test_only_a_passage_that_is_mostly_in_a_better_one_of_its_file_is_a_repeat() -> None:
    text = " ".join(f"word{number}" for number in range(100))
    half = len(text) // 2
    parts = {
        "whole": text[: half + 60],
        "mostly": text[40:],
        "little": text[half:],
        "within": text[200:300],
    }
    a = part_of("a", [0.9] * 4, [passage(name, part) for name, part in parts.items()])
    assert find_repeats(a.hits(4)) == ["", REPEATS, "", REPEATS]
    b = part_of("b", [0.9], [passage("copy", text[40:])])
    assert find_repeats([*a.hits(1), *b.hits(1)]) == ["", ""]


@pytest.mark.row("T2")
@pytest.mark.row("T3")
def test_a_search_by_words_alone_says_so_and_why(gate: Gate) -> None:
    for tool in ("search_documents", "search_handbook"):
        for query in ("fireball", "zzzzqqqq"):
            answer = gate.call(LOCAL_USER, tool, {"query": query})
            assert answer.structured is not None
            (note,) = answer.structured["notes"]
            assert "handbook" in note
            assert "searched by words alone (the catalogue has no vectors)" in note
            assert answer.text.endswith(f"note: {note}")
    assert answer.text.startswith("nothing was found")


@pytest.mark.row("T3")
def test_the_handbook_is_searched_by_section(gate: Gate) -> None:
    everywhere = call(gate, "search_handbook", query="review")["results"]
    assert len(everywhere) == 10
    assert {one["source"] for one in everywhere} == {"handbook"}
    assert {one["metadata"]["section"] for one in everywhere} > {"engineering"}
    engineering = call(
        gate, "search_handbook", query="review", section="Engineering", n_results=20
    )["results"]
    assert {one["metadata"]["section"] for one in engineering} == {"engineering"}
    told = refusal(gate, "search_handbook", query="review", section="sales")
    assert "'section': no value 'sales'; one of " in told
    assert all(name in told for name in ("company", "engineering", "finance", "people"))
    others = call(
        gate, "search_handbook", query="review", exclude_sections=["Engineering"], n_results=20
    )["results"]
    assert "engineering" not in {one["metadata"]["section"] for one in others}


@pytest.mark.row("T9")
def test_documents_are_listed_and_read_whole(gate: Gate) -> None:
    uris = [
        entry.uri
        for entry in gate.list_resources(LOCAL_USER).entries
        if entry.uri.startswith("documents://")
    ]
    files = [path for name in COLLECTIONS for path in (SAMPLES / name).rglob("*.md")]
    assert len(uris) == len(set(uris)) == len(files)
    for uri in uris:
        content = gate.read(LOCAL_USER, uri)
        file = SAMPLES / uri.removeprefix("documents://")
        assert content.text == extract(file.read_bytes(), "markdown").text
        assert content.mime_type == "text/markdown"


@pytest.mark.row("T9")
def test_a_path_with_odd_letters_is_an_address_and_what_is_not_a_document_is_none(
    own_app: App, tmp_path: Path
) -> None:
    odd = "a b/größe & 100% #1.md"
    path = tmp_path / "notes" / odd
    path.parent.mkdir(parents=True)
    path.write_text("text")
    add(own_app, tmp_path / "notes", "notes")
    gate = own_app.build_gate()
    (entry,) = [
        one for one in gate.list_resources(LOCAL_USER).entries if one.uri.startswith("documents://")
    ]
    assert " " not in entry.uri
    assert gate.read(LOCAL_USER, entry.uri).text == "text"
    for address in ("notes/nothing.md", "nowhere/a.md", "notes", f"notes/{odd}#1", ""):
        with pytest.raises(NotFoundError):
            gate.read(LOCAL_USER, f"documents://{address}")


def passage(name: str, text: str, *, path: str = "file.md") -> Record:
    return Record(id=RecordId(name), kind="passage", fields={"content": text, "path": path})
