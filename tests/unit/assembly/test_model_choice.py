"""The embedding model is a catalogue's choice, and changes beside readers."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, open_rows, own_recipe
from stackroom.catalogue.compiler import LoadedSpec, compile_text
from stackroom.ingest.pipeline import IngestReport
from stackroom.model.hits import SearchMode
from stackroom.model.scope import WHOLE
from stackroom.model.vectors import ModelId, Vector
from stackroom.search.result_set import Part
from stackroom.settings import EmbeddingSettings, Settings
from support.embedders import WordEmbedder

ENGLISH = [["dog", "terrier"], ["cat"], ["boat"]]
GERMAN = [["dog", "hund"], ["cat", "katze"], ["boat", "schiff"]]
DECLARATION = """
name = "{name}"
title = "Things"
summary = "Things with a title."

[fields.title]
type = "text"
role = "title"
search = true

[embed]
template = "{{title}}"
{more}
"""


def loaded(name: str = "things", more: str = "") -> LoadedSpec:
    text = DECLARATION.format(name=name, more=more)
    return LoadedSpec(spec=compile_text(text, origin="test"), declaration=text)


class GroupEmbedder(WordEmbedder):
    """Embeds words of a group alike: an axis for each group, and one for every word."""

    def __init__(self, name: str, groups: Sequence[Sequence[str]]) -> None:
        super().__init__(ModelId(name=name, dimension=len(groups) + 1))
        self._groups = groups

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        return np.array([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Vector:
        self._require_well()
        words = text.lower().split()
        row = np.array(
            [*(sum(word in group for word in words) for group in self._groups), 0.2],
            dtype=np.float32,
        )
        unit: Vector = row / np.linalg.norm(row)
        return unit


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> dict[str, GroupEmbedder]:
    """The local models that are known."""
    known = {
        name: GroupEmbedder(name, groups)
        for name, groups in (("english", ENGLISH), ("german", GERMAN))
    }
    for module in ("stackroom.assembly.workshop", "stackroom.embed.adapters"):
        monkeypatch.setattr(
            f"{module}.find_local", lambda _models, name, *_settings: known.get(name)
        )
    return known


@pytest.fixture
def home(tmp_path: Path, models: dict[str, GroupEmbedder]) -> Path:
    """A library without catalogues, with two local models."""
    assert models
    (tmp_path / "things.csv").write_text("id,title\n1,dog\n2,cat\n3,boat\n")
    return tmp_path


@pytest.fixture
def new_app(home: Path) -> Iterator[Callable[[], App]]:
    """Open the library as another process would; its default model is the English one."""
    opened: list[App] = []

    def make() -> App:
        opened.append(App(Settings(home=home, embedding=EmbeddingSettings(model="english"))))
        return opened[-1]

    yield make
    for app in opened:
        app.close()


def add(
    app: App,
    spec: LoadedSpec,
    *,
    model: str | None = None,
    progress: Callable[[IngestReport], None] = lambda _report: None,
) -> IngestReport:
    source = open_rows(None, str(app.settings.home / "things.csv"))
    name = spec.spec.name
    return add_catalogue(
        app, source, recipe=own_recipe(spec), name=name, progress=progress, model=model
    )


def search(app: App, query: str, name: str = "things") -> Part:
    return app.open_catalogue(name).view().search(query, scope=WHOLE)


def model_of(app: App, name: str = "things") -> str:
    model = app.open_catalogue(name).shelf.reader().model
    assert model is not None
    return model.name


def test_a_catalogue_is_embedded_by_the_model_its_spec_names(new_app: Callable[[], App]) -> None:
    app = new_app()
    add(app, loaded("plain"))
    add(app, loaded("things", 'model = "german"'))
    assert (model_of(app, "plain"), model_of(app)) == ("english", "german")
    assert search(app, "hund").hits(1)[0].record.get("title") == "dog"
    assert search(app, "terrier", "plain").hits(1)[0].record.get("title") == "dog"
    assert {search(app, "hund").mode, search(app, "terrier", "plain").mode} == {SearchMode.HYBRID}


def test_a_change_of_the_model_is_made_while_readers_go_on_with_the_former_vectors(
    new_app: Callable[[], App],
) -> None:
    add(new_app(), loaded())
    server, seen = new_app(), []

    def look(report: IngestReport) -> None:
        if not report.rows:  # while the records are embedded anew
            page = search(server, "terrier")
            seen.append(
                (model_of(server), page.mode, page.degraded, page.hits(1)[0].record.get("title"))
            )

    report = add(new_app(), loaded(), model="german", progress=look)
    assert report.embedded == 3
    assert set(seen) == {("english", SearchMode.HYBRID, "", "dog")}
    assert model_of(server) == "german"
    found = search(server, "katze")
    assert (found.mode, found.degraded, found.hits(1)[0].record.get("title")) == (
        SearchMode.HYBRID,
        "",
        "cat",
    )
    calibration = server.open_catalogue("things").searcher.calibration_of(
        ModelId(name="german", dimension=4)
    )
    assert calibration is not None


def test_a_model_that_is_not_installed_is_said_and_words_are_searched(
    new_app: Callable[[], App], models: dict[str, GroupEmbedder]
) -> None:
    add(new_app(), loaded(), model="german")
    models["german"].problem = "german is not installed"
    page = search(new_app(), "dog")
    assert page.mode is SearchMode.FTS_ONLY
    assert page.degraded == "german is not installed"
    assert page.hits(1)[0].record.get("title") == "dog"


def test_queries_to_a_centred_catalogue_are_centred_as_its_vectors_are(
    new_app: Callable[[], App], home: Path
) -> None:
    titles = [f"common words of every title number{place}" for place in range(200)]
    rows = ["id,title", *(f"{place},{title}" for place, title in enumerate(titles))]
    (home / "things.csv").write_text("\n".join(rows))
    app = new_app()
    app.embedder = WordEmbedder(ModelId(name="word-hash", dimension=64, is_centred=True))
    add(app, loaded())
    with closing(app.open_catalogue("things").shelf) as shelf:
        reader = shelf.reader()
        asked = app.open_catalogue("things").view().embed(titles[7]).vector
        assert reader.mean is not None
        assert asked is not None
        (best,) = reader.nearest(asked[None, :], scope=WHOLE, limit=2)
        first = reader.fetch(best.keys.tolist()[:1], scope=WHOLE)
        assert [record.get("title") for record in first.values()] == [titles[7]]
        assert best.scores[0] == pytest.approx(1, abs=1e-5)
        assert best.scores[1] < 0.6  # uncentred, nearly every word is shared
        assert np.allclose(np.linalg.norm(reader.vectors(best.keys.tolist()), axis=1), 1)
