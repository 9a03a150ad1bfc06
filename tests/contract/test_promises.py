"""The second tier of the shelf's contract: what a shelf promises whose answers are not all
exact.
"""

import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from stackroom.assembly.app import App, gate_over
from stackroom.assembly.build import add_sample
from stackroom.catalogue.codec import digest_of
from stackroom.catalogue.spec import CatalogueSpec, embedding_text
from stackroom.cli.main import main
from stackroom.errors import BusyError, InputError
from stackroom.generic import tools
from stackroom.generic.shapes import BrowseParams, SearchParams
from stackroom.grading.golden_set import default_scope, write_golden_set
from stackroom.library import PLACE_FILE
from stackroom.model.hits import Promises
from stackroom.model.scope import WHOLE, AnyOf, Range, Scope
from stackroom.model.vectors import ModelId
from stackroom.packages import PACKAGES
from stackroom.search.searcher import Searcher
from stackroom.settings import Settings
from stackroom.shelf import opening
from stackroom.shelf.catalogue_shelf import CatalogueShelf
from stackroom.shelf.opening import create_shelf
from stackroom.shelf.port import Embedding, Put, ShelfReader
from stackroom.shelf.postgres_search import view as view_module
from stackroom.shelf.postgres_search.database import Snapshot
from stackroom.shelf.store_place import IN_DATABASE, StorePlace, find_place, save_place
from stackroom.text.analyser import analyse_query
from support.embedders import WordEmbedder
from support.libraries import opened
from support.postgres import PostgresServer
from support.served import open_shelf
from support.stock import MODEL, Stock

RECORDS = 2_000
PARTS = 3
WORDS = ("robot", "garden", "story", "samurai", "dragon", "castle", "ocean", "winter")
ONLY_THE_GRAPH = "-cenable_seqscan=off -cenable_bitmapscan=off -cenable_sort=off"
"""Plans for tables that are too large to be sorted."""


def shelf_on(
    folder: Path, spec: CatalogueSpec, place: StorePlace, *, model: ModelId = MODEL
) -> CatalogueShelf:
    folder.mkdir(parents=True, exist_ok=True)
    save_place(folder, replace(place, search=IN_DATABASE))
    return create_shelf(folder, spec, model=model)


@pytest.fixture(scope="module")
def large(postgresql: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stock]:
    """A shelf of several parts with more records than are compared one by one, a tenth Mecha and a
    hundredth War.
    """
    place = postgresql.new_place()
    place = replace(place, url=place.url + quote(f" {ONLY_THE_GRAPH}"), parts=PARTS)
    shelf = shelf_on(tmp_path_factory.mktemp("large") / "shelf", PACKAGES.get("anime").spec, place)
    stock, draw = Stock(shelf=shelf, spec=shelf.spec), np.random.default_rng(3)
    records = [
        stock.record(
            f"r{number}",
            body=" ".join(
                draw.choice(WORDS, size=int(draw.integers(1, 9)), p=np.arange(8, 0, -1) / 36)
            ),
            group=["War"] if number % 100 == 1 else ["Mecha"] if number % 10 == 0 else ["Drama"],
            number=2000 + number % 20,
        )
        for number in range(RECORDS)
    ]
    stock.put(*records)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("stackroom.shelf.postgres_search.filters.FEW", 100)
        yield stock
    shelf.close()


def in_group(stock: Stock, value: str) -> Scope:
    return Scope(conditions=(AnyOf(stock.group_field, (value,)),))


@pytest.mark.parametrize("share", ["all", "10 %", "1 %"])
def test_the_promised_share_of_the_nearest_ten_is_found(large: Stock, share: str) -> None:
    scope = {"all": WHOLE, "10 %": in_group(large, "Mecha"), "1 %": in_group(large, "War")}[share]
    view = large.shelf.reader()
    assert view.promises is not None
    keys = view.scan(scope=scope, limit=RECORDS)
    vectors, recalls = view.vectors(keys), []
    for number in range(20):
        asked = large.vector(f"query {number}")
        exact = [keys[row] for row in np.argsort(-(vectors @ asked), kind="stable")[:10]]
        (found,) = view.nearest(asked[None], scope=scope, limit=10)
        assert len(found.keys) == 10, "a filter loses no rows"
        recalls.append(len(set(exact) & set(found.keys.tolist())) / 10)
    assert np.mean(recalls) >= view.promises.recall_at_10


@pytest.mark.parametrize("share", ["all", "89 %"])
def test_the_nearest_are_merged_from_the_graphs_of_all_parts(
    large: Stock, share: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope, plans = WHOLE if share == "all" else in_group(large, "Drama"), list[str]()
    read = Snapshot.rows

    def explained(snapshot: Snapshot, query: str, *values: Any) -> list[tuple[Any, ...]]:
        if "<->" in query:
            plans.append("\n".join(line for (line,) in read(snapshot, f"EXPLAIN {query}", *values)))
        return read(snapshot, query, *values)

    monkeypatch.setattr(Snapshot, "rows", explained)
    large.shelf.reader().nearest(large.vector("query")[None], scope=scope, limit=10)
    (plan,) = plans
    assert "Merge Append" in plan
    assert [
        plan.count(f"Index Scan using documents_{part}_vector_idx") for part in range(PARTS)
    ] == [1] * PARTS


def test_totals_are_exact_up_to_the_promised_number_and_from_it_on_a_lower_bound(
    large: Stock,
) -> None:
    view = replace(large.shelf.reader(), promises=Promises(totals_up_to=300))
    asked, few = analyse_query("robot", synonyms={}), analyse_query("winter", synonyms={})
    scopes = [
        Scope(),
        Scope(conditions=(Range(large.number_field, at_least=2001),)),
        in_group(large, "Mecha"),
    ]
    for scope in scopes:
        for query in (asked, few):
            true = len(view.lexical(query, scope=scope, limit=RECORDS, counted=False).keys)
            total = view.lexical(query, scope=scope, limit=1).total
            assert total == true if true < 300 else 300 <= total <= true


def test_values_are_counted_exactly_in_small_scopes_and_in_a_sample_of_large_ones(
    large: Stock,
) -> None:
    exact = large.shelf.reader()
    sampling = replace(exact, promises=Promises(facets_up_to=500))
    small, most = (
        in_group(large, "Mecha"),
        Scope(conditions=(Range(large.number_field, at_least=2001),)),
    )
    assert sampling.facets(large.group_field, scope=small) == exact.facets(
        large.group_field, scope=small
    )
    assert sampling.facets(large.group_field, scope=WHOLE) == exact.facets(
        large.group_field, scope=WHOLE
    )
    true = {facet.value: facet.count for facet in exact.facets(large.group_field, scope=most)}
    sampled = {facet.value: facet.count for facet in sampling.facets(large.group_field, scope=most)}
    assert exact.count(most) == sum(true.values())
    assert sampling.count(most) == 501, "more than are counted"
    assert sampled != true
    assert sampled["Drama"] == pytest.approx(true["Drama"], rel=0.25)


def test_a_list_of_more_records_than_are_counted_is_a_sample_of_all_of_them(large: Stock) -> None:
    exact = large.shelf.reader()
    sampling = replace(exact, promises=Promises(facets_up_to=500))
    most = Scope(conditions=(Range(large.number_field, at_least=2001),))
    every, sample = (
        exact.scan(scope=most, limit=RECORDS),
        sampling.scan(scope=most, limit=sampling.count(most)),
    )
    assert len(sample) == 501
    assert sample == sorted(set(sample) & set(every))
    assert np.mean(sample) == pytest.approx(np.mean(every), rel=0.1)
    assert sampling.scan(scope=most, limit=RECORDS) == every


def test_rankings_by_words_are_exact_however_little_is_read_at_once(
    large: Stock, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, limited = (
        analyse_query("winter ocean robot garden story", synonyms={}),
        in_group(large, "Drama"),
    )
    view = large.shelf.reader()
    whole = [
        view.lexical(query, scope=scope, limit=RECORDS, counted=False).best
        for scope in (WHOLE, limited)
    ]
    monkeypatch.setattr(view_module, "READ_AT_ONCE", 50)
    fresh = replace(view, _postings={}, _selections={})
    for scope, expected in zip((WHOLE, limited), whole, strict=True):
        found = fresh.lexical(query, scope=scope, limit=20, counted=False).best
        assert [one.key for one in found] == [one.key for one in expected[:20]]
        assert [one.score for one in found] == pytest.approx([one.score for one in expected[:20]])


def test_every_answer_says_what_is_promised_of_it(large: Stock) -> None:
    gate = gate_over(open_shelf(large.shelf))
    said = f"anime: {Promises()}"
    assert said.startswith(
        "anime: at least 97% of the nearest records are found; totals are exact up to 10,000"
    )
    assert said in gate.ask(tools.search, SearchParams(query="robot")).notes
    assert (
        said
        in gate.ask(
            tools.search, SearchParams(query="*", filters={large.group_field: ["War"]})
        ).notes
    )
    assert said in gate.ask(tools.browse, BrowseParams(field=large.group_field)).notes


def test_a_catalogue_is_built_and_answers_from_the_database_that_its_folder_names(
    postgresql: PostgresServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "catalogues" / "anime"
    folder.mkdir(parents=True)
    (folder / "building.json").write_text('{"spec": "anime"}')
    save_place(folder, replace(postgresql.new_place(), search=IN_DATABASE))
    with closing(App(Settings(home=tmp_path))) as app:
        add_sample(app, "anime", progress=lambda _report: None, embed=False)
    with opened(Settings(home=tmp_path), "anime") as library:
        answer = library.structured("search", query="a girl who leaps through time")
        assert answer["results"]
        assert f"anime: {Promises()}" in answer["notes"]
    assert not (folder / "index").exists()
    monkeypatch.setenv("STACKROOM_HOME", str(tmp_path))
    assert not main(["embed", "anime", "--status"])
    _, parts, ranges = capsys.readouterr().out.splitlines()
    assert parts.startswith("indexes of parts: 1 of 1 done")
    assert ranges.startswith("indexing: 1 of 1 done, 305 items in ")
    assert ranges.endswith("; workers: 1, failures: 0")


def test_the_file_that_names_the_store_chooses_the_search(
    postgresql: PostgresServer, tmp_path: Path
) -> None:
    spec = PACKAGES.get("anime").spec
    shelf_on(tmp_path, spec, postgresql.new_place()).close()
    with closing(opening.open_shelf(tmp_path, spec)) as shelf:
        assert shelf.describe().kind == "postgresql"
    told = (tmp_path / PLACE_FILE).read_text()
    (tmp_path / PLACE_FILE).write_text(told.replace('search = "postgresql"', ""))
    with closing(opening.open_shelf(tmp_path, spec)) as shelf:
        assert shelf.describe().kind == "embedded"
    (tmp_path / PLACE_FILE).write_text(f"{told}parts = 4\n")
    place = find_place(tmp_path)
    assert place is not None
    assert place.parts == 4
    with pytest.raises(InputError, match="1 or more"):
        replace(place, parts=-1)


def test_a_view_whose_transaction_was_ended_answers_as_before_unless_there_were_changes(
    postgresql: PostgresServer, tmp_path: Path
) -> None:
    shelf = shelf_on(tmp_path / "shelf", PACKAGES.get("anime").spec, postgresql.new_place())
    stock = Stock(shelf=shelf, spec=shelf.spec)
    stock.put(stock.record("one", body="robot"))
    view = shelf.reader()
    postgresql.end_connections()
    assert [str(one) for one in view.ids(view.scan(scope=WHOLE, limit=9))] == ["one"]
    stock.put(stock.record("two", body="robot"))
    postgresql.end_connections()
    with pytest.raises(BusyError, match="has changed since it was read"):
        view.scan(scope=WHOLE, limit=9)
    assert stock.lexical("robot") == ["one", "two"]
    shelf.close()


@pytest.mark.parametrize("name", [sample.name for _, sample in PACKAGES.iter_samples()])
def test_golden_questions_have_the_same_answers_of_a_follower_and_first_ten_in_the_database(
    name: str, whole_home: Path, postgresql: PostgresServer, tmp_path: Path
) -> None:
    embedder = WordEmbedder()
    with closing(App(Settings(home=whole_home))) as app:
        installed = app.library.get_installed(name)
        spec = app.spec_of(installed).spec
    puts = list(iter_puts(whole_home / "catalogues" / name, spec, tmp_path / "sample", embedder))
    embedded = create_shelf(tmp_path / "embedded", spec, model=embedder.model)
    searched = shelf_on(tmp_path / "searched", spec, postgresql.new_place(), model=embedder.model)
    place = postgresql.new_place()
    written, followed = (
        follower_on(tmp_path / one, spec, place, embedder.model) for one in ("written", "followed")
    )
    for shelf in (embedded, searched, written):
        shelf.apply(puts)
        shelf.publish()
    questions = write_golden_set(embedded.reader(), spec, 24)
    searcher, shares = Searcher(spec=spec, embedder=embedder), []
    for question in questions:
        ours, theirs, inside = (
            first_ten(searcher, shelf.reader(), question.query)
            for shelf in (embedded, followed, searched)
        )
        assert theirs == ours
        shares.append(len(ours.keys() & inside.keys()) / max(len(ours), 1))
    assert questions
    assert np.mean(shares) >= 0.95
    for shelf in (embedded, searched, written, followed):
        shelf.close()


def follower_on(
    folder: Path, spec: CatalogueSpec, place: StorePlace, model: ModelId
) -> CatalogueShelf:
    folder.mkdir()
    save_place(folder, place)
    return create_shelf(folder, spec, model=model)


def iter_puts(
    sample: Path, spec: CatalogueSpec, copy: Path, embedder: WordEmbedder
) -> Iterator[Put]:
    """Yield the records of a sample, each with the vector of its text."""
    shutil.copytree(sample, copy)
    assert spec.embed is not None
    with closing(opening.open_shelf(copy, spec)) as shelf:
        for row in shelf.store.iter_rows():
            text = embedding_text(spec.embed, row.record)
            vector = embedder.embed_documents([text])[0]
            yield Put(record=row.record, embedding=Embedding(digest=digest_of(text), vector=vector))


def first_ten(searcher: Searcher, reader: ShelfReader, query: str) -> dict[str, float]:
    """Return the first records of an answer with their scores, in order."""
    best = searcher.rank(reader, query, scope=default_scope(searcher.spec)).ranking.first(10)
    return dict(zip(reader.ids(best.keys.tolist()), best.scores.tolist(), strict=True))
