"""Run by the recorded installation: calls the Python library, and prints a line for each call."""

import dataclasses
import json
import sys
from collections.abc import Callable
from typing import Any

import stackroom

RESULTS = ("total", "notes", "evidence", "understood", "columns", "records")


def plain(value: Any) -> Any:
    """Return a value of the library as JSON has it."""
    if isinstance(value, stackroom.Table):
        parts = RESULTS if isinstance(value, stackroom.Results) else ("columns",)
        shown: Any = {name: getattr(value, name) for name in parts} | {"rows": value.to_dicts()}
    elif isinstance(value, stackroom.Change):
        shown = {name: getattr(value, name) for name in ("notes", "call_id", "records")}
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        shown = {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
    else:
        shown = value.model_dump(mode="json") if hasattr(value, "model_dump") else value
    if isinstance(shown, dict):
        return {str(name): plain(inner) for name, inner in shown.items()}
    if isinstance(shown, list | tuple | set | frozenset):
        return [plain(inner) for inner in shown]
    return shown if isinstance(shown, str | int | float | bool | None) else repr(shown)


def note(name: str, call: Callable[[], Any]) -> Any:
    """Make a call, print it with its answer or error, and return the answer."""
    result = None
    try:
        result = call()
        answer = plain(result)
    except stackroom.ExpectedError as error:
        answer = {"error": type(error).__name__, "code": error.code, "message": error.full_message}
    except (TypeError, KeyError, ValueError, IndexError) as error:
        answer = {"error": type(error).__name__, "message": str(error)}
    print(json.dumps({"name": name, "answer": answer}, ensure_ascii=False), flush=True)
    return result


def find(library: stackroom.Library) -> None:
    """Search and list."""
    anime = library["anime"]
    wines = library["wines"]
    note("list(library)", lambda: list(library))
    note("'wines' in library", lambda: ["wines" in library, "nothing" in library])
    note("library['nothing']", lambda: library["nothing"])
    note("repr", lambda: [repr(anime), len(anime), anime.title, anime.fields])
    note("anime.search", lambda: anime.search("space pirates", limit=3))
    note(
        "anime.search, filters",
        lambda: anime.search(year=(2015, None), tags=["space"], limit=3),
    )
    note(
        "anime.search, exclude",
        lambda: anime.search("robots", exclude={"tags": ["comedy"]}, limit=2),
    )
    note("anime.search, sort", lambda: anime.search(sort="-episodes", limit=3, type="MOVIE"))
    note("anime.search, read", lambda: anime.search("films from the 90s, not horror", limit=2))
    note("anime.search, all", lambda: anime.search("space", limit=None).total)
    note("anime.search, misspelt", lambda: anime.search("space", yaer=2015))
    note("anime.search, wrong value", lambda: anime.search("space", year="old"))
    note("wines.search, listed", lambda: wines.search(price=(None, 15)))
    note("wines.search, fallback", lambda: wines.search("zqxjk vbnwpt"))
    note("library.search", lambda: library.search("dragons and wine", limit=4))
    note("library.search, filters", lambda: library.search("wine", limit=3, country="France"))


def look(library: stackroom.Library) -> None:
    """Compare, count, explain, and call tools."""
    anime = library["anime"]
    wines = library["wines"]
    note("similar", lambda: wines.similar("A1", limit=2))
    note(
        "recommend",
        lambda: anime.recommend(["Cowbow Bebop"], wishes="after 2010, not horror", limit=2),
    )
    note(
        "recommend, dislikes",
        lambda: anime.recommend(["mal-1"], dislikes=["Trigun"], limit=2, type="TV"),
    )
    note(
        "recommend, wishes",
        lambda: wines.recommend(wishes="under $20, not from France", limit=2),
    )
    note("get", lambda: wines.get("A1"))
    note("get, title", lambda: anime.get("cowboy bebop"))
    note("get, unknown", lambda: anime.get("zqxjk vbnwpt"))
    note("browse", wines.browse)
    note("browse, field", lambda: wines.browse("country"))
    note("browse, by", lambda: wines.browse(by="country", of="price"))
    note("browse, of", lambda: anime.browse(of="episodes", limit=3))
    note("browse, wrong", lambda: wines.browse(by="colour"))
    note("explain", lambda: anime.explain("space", "mal-1"))
    note("html", lambda: wines.search(price=(None, 15))._repr_html_())
    note("call search", lambda: library.call("search", query="space pirates", limit=2))
    note("call browse", lambda: library.call("browse", catalogue="wines"))
    note("call search_anime", lambda: library.call("search_anime", query="robots", limit=2))
    note("call catalog.get", lambda: library.call("catalog.get", query_type="stats"))
    note("call of names", lambda: library.call("search", names=("wines",), query="lime", limit=1))
    note("call unknown", lambda: library.call("nothing"))
    note("call misspelt", lambda: library.call("search", qery="robots"))


def change(library: stackroom.Library) -> None:
    """Edit, insert, delete, add and take back."""
    anime = library["anime"]
    wines = library["wines"]
    music = library["music"]
    changed = note("edit", lambda: wines.edit("A1", points=93, price=None))
    note("edit, then get", lambda: wines.get("A1").values)
    note("undo", changed.undo)
    note("undo again", lambda: wines.undo(changed.call_id))
    note("edit, same", lambda: wines.edit("A1", points=92))
    note("edit, wrong", lambda: wines.edit("A1", pionts=93))
    note("edit, not editable", lambda: anime.edit("mal-1", episodes=1))
    added = note("insert", lambda: wines.insert(name="Golden Hill", country="Chile", price=12))
    note("insert, found", lambda: wines.search("Golden Hill", limit=1))
    note("insert, undo", added.undo)
    note("insert, wrong kind", lambda: music.insert("sculpture", name="x"))
    note("delete", lambda: wines.delete("A2").undo())
    note("delete, referred", lambda: music.delete("artist-henry-purcell"))
    rows = [
        {"name": "Vinho verde", "price": 7.5, "notes": "Light."},
        {"name": "Barolo", "price": 38, "notes": "Tar."},
    ]
    note("add", lambda: len(library.add(rows, name="bottles")))
    note("add, then search", lambda: library["bottles"].search("tannic and dark", limit=1))
    note("add, again", lambda: len(library.add(rows[:1], name="bottles")))
    note("add, without a name", lambda: library.add(rows))


def main() -> None:
    """Call everything that the library offers."""
    note("all names", lambda: sorted(name for name in dir(stackroom) if name[0] != "_"))
    with stackroom.open(sys.argv[1]) as library:
        for part in (find, look, change):
            part(library)
        wines = library["wines"]
    note("closed", lambda: wines.search("lime"))


if __name__ == "__main__":
    main()
