"""Ten tasks of an assistant, each done twice: by a client that reads text content alone, and by one
that reads structured content alone.
"""

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio.from_thread
import pytest
from mcp import Client

from stackroom.assembly.app import App
from stackroom.model.principal import LOCAL_USER
from stackroom.settings import Settings
from support.clients import McpAsker, Request, always, build_server
from support.libraries import copy_samples

pytestmark = [pytest.mark.model, pytest.mark.row("N8"), pytest.mark.row("Z14")]

CANON = "album-pachelbel-canon-and-gigue"
UNDATED = ["track-pachelbel-canon-and-gigue-01", "track-pachelbel-canon-and-gigue-02"]


@dataclass(frozen=True, kw_only=True)
class TextReader:
    """An assistant whose client shows it the text content of answers, and nothing else."""

    asker: McpAsker

    def ask(self, tool: str, **arguments: Any) -> str:
        """Return the text of an answer."""
        reply = self.asker.ask(Request(operation="tools/call", target=tool, arguments=arguments))
        assert reply.error is None, reply.message
        return reply.text or ""

    def refusal(self, tool: str, **arguments: Any) -> str:
        """Return the text of an error."""
        reply = self.asker.ask(Request(operation="tools/call", target=tool, arguments=arguments))
        assert reply.error is not None
        return reply.message


@dataclass(frozen=True, kw_only=True)
class StructureReader:
    """An assistant whose client shows it the structured content of answers, and nothing else."""

    asker: McpAsker

    def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the structured content of an answer."""
        reply = self.asker.ask(Request(operation="tools/call", target=tool, arguments=arguments))
        assert reply.error is None, reply.message
        found: dict[str, Any] = reply.value
        return found


@pytest.fixture(scope="module")
def client_home(sample_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of one's own: anime with vectors, and the other samples without."""
    home = tmp_path_factory.mktemp("tasks") / "library"
    shutil.copytree(sample_home, home, symlinks=True)
    return copy_samples(home, "papers", "music", "handbook")


@pytest.fixture(scope="module")
def asker(client_home: Path) -> Iterator[McpAsker]:
    """A client of a server in this process."""
    app = App(Settings(home=client_home))
    gate = app.build_gate()
    with (
        anyio.from_thread.start_blocking_portal() as portal,
        portal.wrap_async_context_manager(
            Client(build_server(lambda: gate, always(LOCAL_USER)))
        ) as client,
    ):
        yield McpAsker(client, portal)
    app.close()


@pytest.fixture
def texts(asker: McpAsker) -> TextReader:
    return TextReader(asker=asker)


@pytest.fixture
def structures(asker: McpAsker) -> StructureReader:
    return StructureReader(asker=asker)


def ids_in(text: str) -> list[str]:
    """Return the ids in a text, which stand in brackets."""
    return re.findall(r"\[([^\s\[\]]+)\]", text)


def field_in(text: str, name: str) -> str:
    """Return the value of a named field that shares its line with others."""
    (value,) = re.findall(rf"(?:^|[;:\]] ){name}: ([^;\n]+)", text, re.MULTILINE)
    return str(value)


def line_in(text: str, name: str) -> str:
    """Return the value of a named field that has a line of its own."""
    (value,) = re.findall(rf"^ *{name}: (.+)$", text, re.MULTILINE)
    return str(value)


def requests_in(text: str) -> list[dict[str, Any]]:
    """Return the requests that a text proposes, each as JSON at the beginning of its line."""
    starts = [found.end() for found in re.finditer(r'^- (?=\{"action")', text, re.MULTILINE)]
    return [json.JSONDecoder().raw_decode(text, start)[0] for start in starts]


def cursor_in(text: str) -> str | None:
    """Return the cursor that a text names."""
    found = re.search(r"with cursor '(\d+)'", text)
    return found[1] if found else None


def test_find_by_text(texts: TextReader) -> None:
    text = texts.ask("search_anime", query="bounty hunters chase crooks across the solar system")
    assert re.search(
        r"^1\. Cowboy Bebop \(TV, 1998, 26 ep\) \[mal-1\] .*score: 0\.\d+; ", text, re.MULTILINE
    )
    assert "evidence: strong" in text or "evidence: weak" in text


def test_find_by_structure(structures: StructureReader) -> None:
    found = structures.ask(
        "search_anime", query="bounty hunters chase crooks across the solar system"
    )
    assert (found["results"][0]["id"], found["results"][0]["title"]) == ("mal-1", "Cowboy Bebop")
    assert found["evidence"] in ("strong", "weak")


def test_compare_by_text(texts: TextReader) -> None:
    one, other = (
        texts.ask("get_anime_details", title=title) for title in ("Cowboy Bebop", "Mushishi")
    )
    assert field_in(one, "episodes") == field_in(other, "episodes") == "26"
    assert [field_in(text, "canonical") for text in (one, other)] == ["Cowboy Bebop", "Mushishi"]
    assert [int(field_in(text, "year")) for text in (one, other)] == [1998, 2005]
    assert "space" in line_in(one, "tags")
    assert "space" not in line_in(other, "tags")


def test_compare_by_structure(structures: StructureReader) -> None:
    one, other = (
        structures.ask("get_anime_details", title=title)["anime"]
        for title in ("Cowboy Bebop", "Mushishi")
    )
    assert one["episodes"] == other["episodes"] == 26
    assert [anime["season"]["year"] for anime in (one, other)] == [1998, 2005]
    assert ["space" in {tag["value"] for tag in anime["tags"]} for anime in (one, other)] == [
        True,
        False,
    ]


def test_recommend_by_text(texts: TextReader) -> None:
    text = texts.ask(
        "recommend_similar", titles=["Cowboy Bebop"], preferences="after 2010, not horror"
    )
    heads = re.findall(
        r"^\d+\. (.+) \(\w+, (\d{4}), .*\[(\S+)\] similarityScore: (0\.\d+); signals: semantic:"
        r" (0\.\d+); taxonomy: 0",
        text,
        re.MULTILINE,
    )
    assert len(heads) == 8
    assert all(int(year) > 2010 for _, year, *_ in heads)
    assert "not horror" in text
    assert "Cowboy Bebop: the title 'Cowboy Bebop'" in text


def test_recommend_by_structure(structures: StructureReader) -> None:
    found = structures.ask(
        "recommend_similar", titles=["Cowboy Bebop"], preferences="after 2010, not horror"
    )
    assert len(found["recommendations"]) == 8
    assert all(
        one["year"] > 2010 and 0 <= one["signals"]["semantic"] <= 1
        for one in found["recommendations"]
    )
    assert any("not horror" in one for one in found["understood"])


def test_fetch_by_text(texts: TextReader) -> None:
    first = json.loads(texts.ask("search", query="Attention Is All You Need"))["results"][0]
    assert first["title"] == "Attention Is All You Need"
    assert first["fields"]["publish_year"] == 2017
    whole = json.loads(texts.ask("fetch", id=first["id"]))
    assert whole["url"] == first["url"] == "https://arxiv.org/abs/1706.03762"
    assert "Ashish Vaswani" in whole["text"]


def test_fetch_by_structure(structures: StructureReader) -> None:
    first = structures.ask("search", query="Attention Is All You Need")["results"][0]
    whole = structures.ask("fetch", id=first["id"])
    assert (whole["title"], whole["url"]) == (
        "Attention Is All You Need",
        "https://arxiv.org/abs/1706.03762",
    )
    assert whole["metadata"]["publish_year"] == 2017


def test_filter_by_text(texts: TextReader) -> None:
    text = texts.ask("search_papers", query="language models", publish_year_range=[2018, 2019])
    years = re.findall(r"^\d+\. .+ \[\S+\] .*; year: (\d{4});", text, re.MULTILINE)
    assert len(years) == len(ids_in(text)) > 0
    assert set(years) <= {"2018", "2019"}


def test_filter_by_structure(structures: StructureReader) -> None:
    found = structures.ask(
        "search_papers", query="language models", publish_year_range=[2018, 2019]
    )
    assert found["papers"]
    assert {paper["year"] for paper in found["papers"]} <= {2018, 2019}


def test_edit_by_text(texts: TextReader) -> None:
    (track, *_more) = ids_in(texts.ask("catalog.search", query="Für Elise", kind="track"))
    change = {"action": "update", "id": track, "fields": {"about": "A small piece for a friend."}}
    preview = texts.ask("catalog.mutate", **change, preview=True)
    (plan,) = re.findall(r"\(plan (\S+)\)", preview)
    done = texts.ask("catalog.mutate", **change, plan=plan)
    assert "A small piece for a friend." in texts.ask("catalog.get", query_type="track", id=track)
    (call_id,) = re.findall(r"\b[0-9a-f]{16}\b", done)
    texts.ask("catalog.mutate", action="undo", id=call_id)
    assert "A small piece for a friend." not in texts.ask(
        "catalog.get", query_type="track", id=track
    )


def test_edit_by_structure(structures: StructureReader) -> None:
    track = structures.ask("catalog.search", query="Für Elise", kind="track")["tracks"]["items"][0][
        "id"
    ]
    change = {"action": "update", "id": track, "fields": {"about": "A small piece for a friend."}}
    preview = structures.ask("catalog.mutate", **change, preview=True)
    done = structures.ask("catalog.mutate", **change, plan=preview["plan"])
    assert (
        structures.ask("catalog.get", query_type="track", id=track)["item"]["about"]
        == change["fields"]["about"]
    )
    structures.ask("catalog.mutate", action="undo", id=done["call_id"])
    assert "about" not in structures.ask("catalog.get", query_type="track", id=track)["item"]


def test_playlist_by_text(texts: TextReader) -> None:
    text = texts.ask("catalog.get", query_type="playlist", about="piano before 1850", minutes=30)
    years = [int(year) for year in re.findall(r"; year: (\d{4})", text)]
    seconds = field_in(text.partition("\n")[0], "seconds")
    assert len(ids_in(text)) == len(years) >= 3
    assert all(year < 1850 for year in years)
    assert 20 * 60 <= float(seconds) <= 40 * 60


def test_playlist_by_structure(structures: StructureReader) -> None:
    found = structures.ask(
        "catalog.get", query_type="playlist", about="piano before 1850", minutes=30
    )
    assert len(found["tracks"]["items"]) >= 3
    assert all(track["year"] < 1850 for track in found["tracks"]["items"])
    assert 20 * 60 <= found["seconds"] <= 40 * 60


def test_gaps_are_fixed_by_text(texts: TextReader) -> None:
    gaps = texts.ask("catalog.get", query_type="gaps")
    undated = gaps.partition("gap: tracks_without_year):\n")[2].partition("\n2. ")[0]
    assert ids_in(undated) == UNDATED
    made = texts.ask("catalog.mutate", action="update", id=CANON, fields={"year": 1694})
    fixes = requests_in(texts.ask("catalog.get", query_type="fixes"))
    assert [one["id"] for one in fixes] == UNDATED
    calls = [made, *(texts.ask("catalog.mutate", **fix) for fix in fixes)]
    assert "tracks_without_year" not in texts.ask("catalog.get", query_type="gaps")
    for call in reversed(calls):
        texts.ask("catalog.mutate", action="undo", id=re.findall(r"\b[0-9a-f]{16}\b", call)[0])


def test_gaps_are_fixed_by_structure(structures: StructureReader) -> None:
    gaps = {
        one["gap"]: one["items"] for one in structures.ask("catalog.get", query_type="gaps")["gaps"]
    }
    assert [one["id"] for one in gaps["tracks_without_year"]] == UNDATED
    made = structures.ask("catalog.mutate", action="update", id=CANON, fields={"year": 1694})
    fixes = structures.ask("catalog.get", query_type="fixes")["fixes"]["items"]
    assert [one["request"]["id"] for one in fixes] == UNDATED
    calls = [made, *(structures.ask("catalog.mutate", **one["request"]) for one in fixes)]
    left = structures.ask("catalog.get", query_type="gaps")["gaps"]
    assert "tracks_without_year" not in [one["gap"] for one in left]
    for call in reversed(calls):
        structures.ask("catalog.mutate", action="undo", id=call["call_id"])


def test_paging_by_text(texts: TextReader) -> None:
    query = {"query": "code review", "sources": ["handbook"]}
    places, cursor = [], {}
    while True:
        text = texts.ask("search_documents", **query, max_tokens=400, **cursor)
        places += re.findall(r"^\d+\. (handbook/\S+:\d+-\d+)", text, re.MULTILINE)
        if not (more := cursor_in(text)):
            break
        cursor = {"cursor": more}
    whole = texts.ask("search_documents", **query, n_results=10)
    assert places == re.findall(r"^\d+\. (handbook/\S+:\d+-\d+)", whole, re.MULTILINE)
    assert len(places) == 10


def test_paging_by_structure(structures: StructureReader) -> None:
    query = {"query": "code review", "sources": ["handbook"]}
    passages: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        found = structures.ask("search_documents", **query, max_tokens=400, **cursor)
        passages += found["results"]
        if "cursor" not in found:
            break
        cursor = {"cursor": found["cursor"]}
    whole = structures.ask("search_documents", **query, n_results=10)["results"]
    assert [one["metadata"]["id"] for one in passages] == [one["metadata"]["id"] for one in whole]


def test_recovery_by_text(texts: TextReader) -> None:
    refused = texts.refusal("search_anime", query="robots", filters={"yearmin": 2010})
    (right,) = re.findall(r"did you mean '(\w+)'", refused)
    assert re.search(
        r"^1\. .+ \[mal-\d+\]",
        texts.ask("search_anime", query="robots", filters={right: 2010}),
        re.MULTILINE,
    )
    missed = texts.ask("get_anime_details", title="Cowboy Bishop")
    assert "anime: " not in missed
    suggested = line_in(missed, "suggestions")
    assert field_in(texts.ask("get_anime_details", id=suggested), "canonical") == "Cowboy Bebop"


def test_recovery_by_structure(structures: StructureReader) -> None:
    missed = structures.ask("get_anime_details", title="Cowboy Bishop")
    assert missed["anime"] is None
    found = structures.ask("get_anime_details", id=missed["suggestions"][0])
    assert found["anime"]["titles"]["canonical"] == "Cowboy Bebop"
    nothing = structures.ask("browse_taxonomy", search="qwertyuiop")
    assert nothing["categories"] == []
    assert nothing["notes"]
