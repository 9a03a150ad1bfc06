"""The project's files → records."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.build import package_recipe
from stackroom.errors import InputError
from stackroom.ingest.mapping import require_valid
from stackroom.model.record import Record
from stackroom.packages import PACKAGES
from stackroom.settings import Settings
from stackroom.zstd import zstd
from stackroom_catalogues.judoka.files import source_of
from stackroom_catalogues.judoka.rows import (
    keep_files,
    normalised_class,
    open_rows,
    records_of,
    weight_of,
)
from support.libraries import add_package


def read(location: Path) -> list[Record]:
    """Return the records of a location, each fit for the catalogue."""
    source = open_rows(str(location))
    assert source is not None
    rows = list(source.iter_rows())
    assert len(rows) == source.count_rows()
    records = [record for row in rows for record in records_of(row.values)]
    for record in records:
        require_valid(record, package_recipe(PACKAGES.get("judoka")).loaded.spec)
    return records


def kinds(records: list[Record]) -> dict[str, int]:
    return dict(Counter(record.kind for record in records))


def write(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


@pytest.mark.row("J7")
def test_a_folder_is_read_with_the_kind_of_each_row(small_files: Path) -> None:
    records = read(small_files)
    assert kinds(records) == {"card": 8, "technique": 2, "passage": 2}
    assert len({record.id for record in records}) == len(records)
    assert {"0", "ABEGENENOU_63", "technique:1", "passage:rules-1"} <= {
        record.id for record in records
    }


@pytest.mark.row("J1")
@pytest.mark.parametrize("name", ["gokyo.json", "techniques.json"])
def test_the_source_of_a_technique_is_the_file_that_it_is_in(tmp_path: Path, name: str) -> None:
    records = read(write(tmp_path, name, [{"id": 1, "name": "Uchi mata"}]).parent)
    assert [source_of(record) for record in records] == [name]


@pytest.mark.row("J7")
def test_embeddings_are_read_in_the_form_with_model_and_items(tmp_path: Path) -> None:
    item = {"id": "ABEGENENOU_63", "text": "A fast judoka.", "embedding": [0.02, -0.11]}
    path = write(
        tmp_path, "client_embeddings.json", {"model": "MiniLM-L6-v2", "dim": 384, "items": [item]}
    )
    (passage,) = read(path)
    assert (passage.kind, passage.id, passage.get("text")) == (
        "passage",
        "passage:ABEGENENOU_63",
        "A fast judoka.",
    )
    assert "embedding" not in passage.get("rest")


@pytest.mark.row("J7")
@pytest.mark.parametrize("packing", ["zst", "gz"])
def test_packed_files_are_read(small_files: Path, packing: str) -> None:
    pack = zstd.compress if packing == "zst" else gzip.compress
    for path in list(small_files.iterdir()):
        path.with_name(f"{path.name}.{packing}").write_bytes(pack(path.read_bytes()))
        path.unlink()
    assert kinds(read(small_files)) == {"card": 8, "technique": 2, "passage": 2}
    assert kinds(read(small_files / f"judoka.json.{packing}")) == {"card": 8}


@pytest.mark.row("J7")
@pytest.mark.parametrize(
    "name", ["judoka.json", "gokyo.json", "client_embeddings.json", "synonyms.json"]
)
def test_a_malformed_file_is_refused_with_its_place_before_anything_is_written(
    small_files: Path, tmp_path: Path, name: str
) -> None:
    write(small_files, name, '[\n {"id": 1},\n {"id": }\n]')
    app = App(Settings(home=tmp_path))
    with pytest.raises(InputError, match=rf"{name}: not valid JSON at line 3, column 9"):
        add_package(app, "judoka", small_files)
    assert not (tmp_path / "catalogues" / "judoka").exists()


@pytest.mark.row("J7")
@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("client_embeddings.json", {"model": "x", "items": 3}, "the list 'items'"),
        ("judoka.json", "3", "a list of rows"),
        ("synonyms.json", ["a"], "an object is expected"),
        ("synonyms.json", {"a": [1]}, "the synonyms of 'a' are not a list of texts"),
        ("countryCodeMapping.json", "3", "country codes are expected"),
    ],
)
def test_a_file_of_another_form_is_told_what_is_wanted(
    small_files: Path, name: str, content: Any, says: str
) -> None:
    write(small_files, name, content)
    with pytest.raises(InputError, match=says) as refused:
        read(small_files)
    assert name in refused.value.message


def test_a_folder_without_any_of_the_files_is_refused_and_other_locations_are_left_to_others(
    tmp_path: Path,
) -> None:
    with pytest.raises(InputError, match=r"none of judoka\.json"):
        open_rows(str(tmp_path))
    assert open_rows(str(tmp_path / "nothing.json")) is None
    assert open_rows(str(write(tmp_path, "cards.jsonl", "{}"))) is None
    with pytest.raises(InputError, match="give its folder"):
        open_rows(str(write(tmp_path, "synonyms.json", {})))


def test_a_file_of_another_name_is_read_by_the_looks_of_its_rows(small_files: Path) -> None:
    cards = json.loads((small_files / "judoka.json").read_text(encoding="utf-8"))
    assert kinds(read(write(small_files, "mine.json", cards))) == {"card": 8}
    assert kinds(read(write(small_files, "texts.json", [{"id": 1, "text": "a"}]))) == {"passage": 1}
    assert kinds(read(write(small_files, "moves.json", [{"id": 1, "name": "a"}]))) == {
        "technique": 1
    }


def test_country_and_code_are_filled_in_from_each_other(small_files: Path) -> None:
    write(
        small_files,
        "countryCodeMapping.json",
        {"vu": {"country": "Vanuatu", "code": "vu"}, "jp": {"country": "Japan"}},
    )
    cards = json.loads((small_files / "judoka.json").read_text(encoding="utf-8"))
    cards[1].pop("country")
    write(small_files, "judoka.json", cards)
    by_id = {record.id: record for record in read(small_files)}
    assert by_id["0"].get("countryCode") == "vu"
    assert by_id["1"].get("country") == "Japan"
    assert by_id["4"].get("countryCode") == "it"


@pytest.mark.row("J3")
@pytest.mark.parametrize(
    ("written", "normalised", "weight"),
    [
        ("-60", "-60", 60),
        ("+100", "+100", 101),
        ("−73 kg", "-73", 73),
        ("81", "-81", 81),
        ("+78kg", "+78", 79),
        ("open", "open", None),
    ],
)
def test_a_weight_class_has_a_limit_in_kilograms(
    written: str, normalised: str, weight: float | None
) -> None:
    assert normalised_class(written) == normalised
    assert weight_of(normalised) == weight


def test_a_card_has_its_average_its_strengths_and_a_code(small_files: Path) -> None:
    by_id = {record.id: record for record in read(small_files)}
    assert by_id["1"].get("average") == pytest.approx(7.4)
    assert "fast" in by_id["1"].get("strengths")
    assert "powerful" not in by_id["1"].get("strengths")
    assert by_id["1"].get("cardCode").startswith("JDKN-")
    assert by_id["0"].get("cardCode").startswith("VZL6-")
    assert by_id["5"].get("signatureMove") == "Tomoe-nage"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"id": None}, "'id' is missing"),
        ({"id": True}, "'id' is True"),
        ({"id": "passage:1"}, "a card's id has no kind before it"),
        ({"firstname": "", "surname": None}, "'firstname' and 'surname' are missing"),
        ({"rarity": "Mythic"}, "one of Common, Epic, Legendary is right"),
        ({"stats": [1]}, "an object with power"),
        ({"stats": {"power": "nine"}}, "'stats.power' is 'nine'"),
        ({"stats": {"power": float("nan")}}, "'stats.power' is nan, not a whole number"),
    ],
)
def test_a_card_that_cannot_be_read_is_refused_with_the_reason(
    changes: dict[str, Any], says: str
) -> None:
    row = {"id": 1, "firstname": "A", "surname": "B", "stats": {"power": 1}, **changes}
    with pytest.raises(InputError) as refused:
        records_of(row)
    assert says in refused.value.message


@pytest.mark.row("J8")
def test_the_synonyms_are_kept_beside_the_catalogue_and_stay_when_a_location_has_none(
    small_files: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "catalogue"
    folder.mkdir()
    keep_files(str(small_files), folder)
    kept = folder / "files" / "synonyms.json"
    before = json.loads(kept.read_text(encoding="utf-8"))
    assert before == json.loads((small_files / "synonyms.json").read_text(encoding="utf-8"))
    keep_files(str(small_files / "judoka.json"), folder)
    assert json.loads(kept.read_text(encoding="utf-8")) == before
