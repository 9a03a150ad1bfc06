"""Recommendation quality on real ratings, content only, with the popularity signal, and by
popularity alone.

Users with at least ten titles rated 8 or more (500 of them, drawn with seed 0) give five of those,
drawn at random; the rest are to be found among the titles that could be joined to the catalogue by
name. Recall@20 and nDCG@20.
"""

import csv
import html
import io
import re
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from libraries import DATA, open_library

from stackroom.catalogue.spec import CatalogueSpec, PopularitySpec, embedding_text
from stackroom.grading.metrics import Figure, build_figure, ndcg, recall
from stackroom.ingest.ledger import Ledger
from stackroom.ingest.mapping import RowMapping
from stackroom.ingest.pipeline import Target, ingest
from stackroom.model.record import Record
from stackroom.model.scope import WHOLE
from stackroom.model.vectors import Vector
from stackroom.recommend.recommender import Recommender, Request
from stackroom.search.names import NameChoice
from stackroom.shelf.catalogue_shelf import CatalogueShelf
from stackroom.shelf.opening import create_shelf
from stackroom.sources.json_rows import JsonRows
from stackroom.zstd import zstd
from stackroom_catalogues.anime import rows as anime_rows

ANIME = DATA / "anime" / "anime-20k.jsonl.zst"
USERS, GIVEN, DEPTH, LIKED_FROM = 500, 5, 20, 8


def measure(home: Path) -> dict[str, Any]:
    titles = read_tsv("ratings-titles.tsv.zst")
    joined, popularity = join(titles)
    shelf = build_shelf(home, joined, popularity)
    cases = draw_cases(joined)
    spec = shelf.spec
    results = {"titles joined": len(joined), "users": len(cases)}
    results["content only"] = score(shelf, cases)
    fame = PopularitySpec(weight=0.65, field="popularity")
    with_popularity = spec.recommend.model_copy(update={"popularity": fame, "neighbours": 500})
    shelf.spec = replace(spec, recommend=with_popularity)
    results["with popularity 0.65"] = score(shelf, cases)
    results["popularity alone"] = score_popularity(popularity, cases)
    shelf.close()
    return results


def join(titles: list[dict]) -> tuple[dict[str, Record], dict[str, int]]:
    """Join the rated titles to records by name; return records by rating id, and popularity by
    record id.
    """
    rows = [row.values for row in JsonRows(ANIME).iter_rows()]
    by_title, by_synonym = defaultdict(list), defaultdict(list)
    for row in rows:
        by_title[folded(row["title"])].append(row)
        for name in row["synonyms"]:
            by_synonym[folded(name)].append(row)
    used, joined, popularity = set(), {}, {}
    for title in titles:
        name = folded(title["name"])
        found = [row for row in by_title[name] or by_synonym[name] if row["sources"][0] not in used]
        same_type = [
            row for row in found if row["type"].lower()[:3] == title["type"].lower()[:3]
        ] or found
        if same_type:
            used.add(same_type[0]["sources"][0])
            record = anime_rows.record_of(
                {**same_type[0], "popularity": int(title["members"] or 0)}
            )
            joined[title["anime_ids"]] = record
            popularity[record.id] = int(title["members"] or 0)
    return joined, popularity


def build_shelf(
    home: Path, joined: dict[str, Record], popularity: dict[str, int]
) -> CatalogueShelf:
    """Index the joined titles alone, so that only they can be recommended, with the vectors of the
    whole catalogue.
    """
    app = open_library(home, "anime")
    anime = app.open_shelf(app.library.get_installed("anime"))
    kept = {record.id for record in joined.values()}

    def record_of(row):
        record = anime_rows.record_of(row)
        return replace(
            record, fields={**record.fields, "popularity": popularity.get(record.id) or None}
        )

    mapping = RowMapping(
        records_of=lambda row: (record_of(row),),
        is_metadata=lambda row: anime_rows.record_of(row).id not in kept,
    )
    folder = Path(tempfile.mkdtemp(prefix="ratings-"))
    embedder = KnownVectors(anime, anime.spec)
    shelf = create_shelf(folder, anime.spec, model=embedder.model)
    target = Target(
        spec=shelf.spec, mapping=mapping, writer=shelf, ledger=Ledger(), embedder=embedder
    )
    ingest(JsonRows(ANIME), target, progress=lambda _: None)
    anime.close()
    app.close()
    return shelf


class KnownVectors:
    """An embedder that looks the vectors of texts up in a catalogue that has them."""

    def __init__(self, shelf: CatalogueShelf, spec: CatalogueSpec) -> None:
        self.model = shelf.reader().model
        self._vectors = {
            embedding_text(spec.embed, row.record): row.vector for row in shelf.store.iter_rows()
        }

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Return the vectors that the catalogue has of these texts."""
        return np.array([self._vectors[text] for text in texts])

    def check(self) -> None:
        """Report no problem."""


def draw_cases(joined: dict[str, Record]) -> list[tuple[list[str], set[str]]]:
    """Return for each user the given titles' ids and the ids to be found."""
    liked = defaultdict(set)
    for row in read_tsv("ratings-open.tsv.zst"):
        if int(row["Feedback"]) >= LIKED_FROM and row["Anime_ID"] in joined:
            liked[row["User_ID"]].add(joined[row["Anime_ID"]].id)
    users = sorted(user for user, titles in liked.items() if len(titles) >= 2 * GIVEN)
    generator = np.random.default_rng(0)
    cases = []
    for place in generator.choice(len(users), min(USERS, len(users)), replace=False):
        titles = sorted(liked[users[place]])
        given = {titles[i] for i in generator.choice(len(titles), GIVEN, replace=False)}
        cases.append((sorted(given), set(titles) - given))
    return cases


def score(shelf: CatalogueShelf, cases: list) -> dict:
    """Recommend for every case by the product's own recommender, the given titles taken as
    understood.
    """
    recommender = Recommender(spec=shelf.spec, this_year=lambda: 2026)
    reader = shelf.reader()
    rankings = []
    for given, _ in cases:
        keys = reader.find(given, scope=WHOLE)
        records = reader.fetch(list(keys.values()), scope=WHOLE)
        choices = [
            NameChoice(asked=name, key=key, record=records[key], title=name, likeness=1.0)
            for name, key in keys.items()
        ]
        answer = recommender.recommend_for(
            reader, choices, Request(titles=tuple(given), limit=DEPTH), scope=WHOLE
        )
        rankings.append([item.record.id for item in answer.items])
    return metrics(rankings, cases)


def score_popularity(popularity: dict[str, int], cases: list) -> dict:
    ranked = sorted(popularity, key=lambda record: -popularity[record])
    return metrics(
        [[one for one in ranked[:200] if one not in set(given)][:DEPTH] for given, _ in cases],
        cases,
    )


def metrics(rankings: list[list[str]], cases: list) -> dict[str, Figure]:
    judged = [
        (ranked, dict.fromkeys(wanted, 1.0))
        for ranked, (_, wanted) in zip(rankings, cases, strict=True)
    ]
    return {
        "recall@20": build_figure(
            [recall(ranked, wanted, depth=DEPTH) for ranked, wanted in judged]
        ),
        "ndcg@20": build_figure([ndcg(ranked, wanted, depth=DEPTH) for ranked, wanted in judged]),
    }


def read_tsv(name: str) -> list[dict]:
    with (DATA / "anime" / name).open("rb") as file:
        text = io.TextIOWrapper(zstd.ZstdFile(file), encoding="utf-8")
        return list(csv.DictReader(text, delimiter="\t"))


def folded(name: str) -> str:
    return re.sub(r"[\W_]+", "", html.unescape(name).lower())
