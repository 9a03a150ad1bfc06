"""LanceDB tables: catalogues are published to them and synced from them, and tables of others are
read.
"""

import importlib
import importlib.util
import json
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stackroom.assembly.app import App
from stackroom.assembly.build import Recipe, add_catalogue, own_recipe, package_recipe
from stackroom.assembly.sync import publish_catalogue
from stackroom.catalogue.compiler import LoadedSpec, compile_text
from stackroom.cli.sync import SYNCING
from stackroom.errors import ExpectedError
from stackroom.ingest.pipeline import IngestReport
from stackroom.model.record import Record
from stackroom.model.scope import WHOLE
from stackroom.packages import PACKAGES
from stackroom.settings import Settings
from stackroom.sources.json_rows import JsonRows
from stackroom.sources.lance.layout import LanceDatabase
from stackroom.sources.lance.rows import LancePlace, LanceRows
from stackroom.sources.port import RowSource
from support.late import LateModule, require_lance

require_lance()
lancedb = LateModule("lancedb")
pa = LateModule("pyarrow")

SPEC = Path(__file__).with_name("games.toml").read_text(encoding="utf-8")
ROWS = (
    {
        "id": "g1",
        "kind": "game",
        "title": "Catan",
        "story": "Trade sheep.",
        "players": 4,
        "mechanics": ["dice"],
    },
    {"id": "g2", "kind": "game", "title": "Azul", "story": "Lay tiles."},
    {"id": "d1", "kind": "designer", "title": "Klaus Teuber"},
)


class Site:
    """Two libraries and a LanceDB database between them."""

    def __init__(self, folder: Path, embedding_server: Any) -> None:
        self.folder = folder
        self.server = embedding_server
        self.database = folder / "lancedb"
        settings = embedding_server.settings()
        self.here = App(Settings(home=folder / "here", embedding=settings))
        self.there = App(Settings(home=folder / "there", embedding=settings))
        self.recipe = own_recipe(
            LoadedSpec(spec=compile_text(SPEC, origin="games"), declaration=SPEC)
        )

    def build(self, *rows: dict[str, Any]) -> None:
        """Build the catalogue of games here."""
        path = self.folder / "games.jsonl"
        path.write_text("\n".join(json.dumps(row) for row in rows))
        self.add(self.here, JsonRows(path), name="games")

    def add(
        self, app: App, source: RowSource, *, name: str, recipe: Recipe | None = None
    ) -> IngestReport:
        return add_catalogue(
            app, source, recipe=recipe or self.recipe, name=name, progress=lambda _report: None
        )

    def publish(self) -> dict[str, Any]:
        return publish_catalogue(
            self.here, "games", str(self.database), progress=lambda _rows: None
        )

    def open(self, table: str = "games") -> RowSource:
        return LancePlace(str(self.database), self.there.settings).open(table)

    def sync(self, name: str = "games", *, recipe: Recipe | None = None) -> IngestReport:
        return self.add(self.there, self.open(name), name=name, recipe=recipe)

    def table(self, name: str = "games_documents") -> Any:
        return lancedb.connect(self.database).open_table(name)

    def write(self, name: str, rows: Any, **options: Any) -> Any:
        return lancedb.connect(self.database).create_table(name, data=rows, **options)


def records_of(app: App, name: str = "games") -> dict[str, Record]:
    reader = app.open_catalogue(name).shelf.reader()
    return {
        one.id: one
        for one in reader.fetch(reader.scan(scope=WHOLE, limit=1000), scope=WHOLE).values()
    }


def vectors_of(app: App, name: str = "games") -> dict[str, list[float]]:
    reader = app.open_catalogue(name).shelf.reader()
    keys = reader.scan(scope=WHOLE, limit=1000)
    return dict(zip(reader.ids(keys), reader.vectors(keys).tolist(), strict=True))


@pytest.fixture
def site(tmp_path: Path, embedding_server: Any) -> Iterator[Site]:
    """A catalogue of games, built here and not yet published."""
    site = Site(tmp_path, embedding_server)
    with closing(site.here), closing(site.there):
        site.build(*ROWS)
        yield site


@pytest.fixture
def published(site: Site) -> Site:
    """The same, published."""
    site.publish()
    return site


# Publishing


@pytest.mark.row("T4")
def test_a_published_table_has_columns_that_others_can_read(published: Site) -> None:
    table = published.table()
    rows = {row["id"]: row for row in table.to_arrow().to_pylist()}
    catan = rows["g1"]
    assert {
        name: catan[name] for name in ("kind", "heading", "text", "players", "mechanics", "title")
    } == {
        "kind": "game",
        "heading": "Catan",
        "text": "Trade sheep.",
        "players": 4,
        "mechanics": ["dice"],
        "title": "Catan",
    }
    assert json.loads(catan["metadata"]) == {
        name: catan[name] for name in ("title", "players", "mechanics")
    } | {"story": "Trade sheep."}
    assert table.schema.field("vector").type == pa.list_(
        pa.float32(), published.server.model.dimension
    )
    assert catan["vector"] == pytest.approx(vectors_of(published.here)["g1"])
    nearest = table.search(catan["vector"]).limit(1).to_list()
    assert [row["id"] for row in nearest] == ["g1"]
    described = json.loads(table.schema.metadata[b"stackroom"])
    assert (described["catalogue"], described["model"]) == ("games", published.server.model.name)


# Syncing


@pytest.mark.row("T7")
def test_a_synced_catalogue_has_the_same_records_and_vectors_and_embeds_nothing(
    published: Site,
) -> None:
    titles = {row["title"]: published.server.texts[row["title"]] for row in ROWS}
    report = published.sync()
    assert (report.written, report.embedded, report.rejected) == (3, 0, 0)
    assert records_of(published.there) == records_of(published.here)
    assert vectors_of(published.there) == vectors_of(published.here)
    assert {title: published.server.texts[title] for title in titles} == titles


def test_what_changed_is_published_and_synced_and_what_did_not_is_not_written_again(
    published: Site,
) -> None:
    published.sync()
    assert published.publish() == {
        "table": "games_documents",
        "version": 1,
        "rows": 3,
        "written": False,
    }
    published.build(ROWS[0] | {"title": "Catan: Seafarers"}, ROWS[2])
    assert published.publish() == {
        "table": "games_documents",
        "version": 2,
        "rows": 2,
        "written": True,
    }
    assert {row["id"]: row["heading"] for row in published.table().to_arrow().to_pylist()} == {
        "g1": "Catan: Seafarers",
        "d1": "Klaus Teuber",
    }
    report = published.sync()
    assert (report.written, report.unchanged, report.removed, report.embedded) == (1, 1, 1, 0)
    assert records_of(published.there) == records_of(published.here)


def test_vectors_of_another_model_are_not_used_and_that_is_said(published: Site) -> None:
    table = published.table()
    described = json.loads(table.schema.metadata[b"stackroom"]) | {"model": "other"}
    renamed = table.to_arrow().replace_schema_metadata(
        {b"stackroom": json.dumps(described).encode()}
    )
    published.write("games_documents", renamed, mode="overwrite")
    report = published.sync()
    assert (report.written, report.embedded) == (3, 3)
    assert any("the source's vectors are by other" in note for note in report.notes)


def test_documents_come_back_with_their_passages(site: Site, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "bread.md").write_text(
        "# Bread\n\nFlour and water.\n\n## Baking\n\nAn hour.\n"
    )
    documents = PACKAGES.get("documents")
    source = documents.open_rows(str(tmp_path / "notes"))
    assert source is not None
    site.add(site.here, source, name="notes", recipe=package_recipe(documents))
    publish_catalogue(site.here, "notes", str(site.database), progress=lambda _rows: None)
    rows = {row["id"]: row for row in site.table("notes_documents").to_arrow().to_pylist()}
    assert {
        name: rows["bread.md#1"][name] for name in ("path", "heading", "first_line", "last_line")
    } == {"path": "bread.md", "heading": "Bread", "first_line": 1, "last_line": 7}
    report = site.sync("notes", recipe=package_recipe(documents))
    assert (report.written, report.embedded) == (2, 0)
    assert records_of(site.there, "notes") == records_of(site.here, "notes")


# Tables of others


def unit_vectors(count: int, dimension: int) -> list[list[float]]:
    values = np.random.default_rng(7).normal(size=(count, dimension))
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32).tolist()


def foreign_table(dimension: int) -> Any:
    vectors = unit_vectors(2, dimension)
    return pa.table(
        {
            "text": ["Leave is thirty days a year.", "# Travel\n\nBook trains early."],
            "vector": pa.array(vectors, pa.list_(pa.float32(), dimension)),
            "metadata": ['{"source": "people/leave.md", "page": 3}', '{"source": "travel.md"}'],
        }
    )


def test_somebody_else_s_table_of_passages_becomes_a_catalogue_with_its_vectors(site: Site) -> None:
    dimension = site.server.model.dimension
    site.write("theirs_documents", foreign_table(dimension))
    recipe = package_recipe(PACKAGES.get("documents"))
    table = LanceRows(
        LanceDatabase(str(site.database)), "theirs_documents", default_model=site.server.model.name
    )
    report = site.add(site.there, table, name="theirs", recipe=recipe)
    assert (report.written, report.embedded, report.rejected) == (2, 0, 0)
    found = sorted(records_of(site.there, "theirs").values(), key=lambda one: str(one.get("path")))
    assert [(one.kind, one.get("path"), one.get("section"), one.get("title")) for one in found] == [
        ("passage", "people/leave.md", "people", "leave"),
        ("passage", "travel.md", None, "Travel"),
    ]
    assert sorted(vectors_of(site.there, "theirs").values()) == sorted(unit_vectors(2, dimension))


def test_a_table_without_passages_can_be_mapped_by_any_spec(site: Site) -> None:
    site.write(
        "plain_documents",
        pa.table({"id": ["a", "b"], "kind": ["game", "designer"], "title": ["Go", "Shannon"]}),
    )
    report = site.sync("plain")
    assert (report.written, report.rejected) == (2, 0)
    assert {one.id: one.kind for one in records_of(site.there, "plain").values()} == {
        "a": "game",
        "b": "designer",
    }


def test_without_lancedb_the_way_to_install_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    known = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "lancedb" else known(name)
    )
    for module in [
        name for name in sys.modules if name.startswith(("stackroom.sources.lance", SYNCING))
    ]:
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(ExpectedError, match=r"pip install lancedb"):
        importlib.import_module(SYNCING)
