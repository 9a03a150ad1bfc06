"""The files of JU-DO-KON! → records: cards, techniques, passages.

A folder is read as the project publishes it, each file plain, `.zst` or `.gz`; other files in it
are left alone:

    judoka.json              cards, a list
    gokyo.json, techniques.json   techniques, a list
    client_embeddings.json   passages: {model, dim, items} or a bare list. Their own embeddings are
                             not used: every text of the catalogue is embedded by one model, so that
                             queries and all kinds compare
    passages.json            passages without embeddings
    countryCodeMapping.json  fills in a card's country by its code, and the code by the country
    synonyms.json            kept beside the catalogue, where queries are expanded with it

One such file alone is read too. Every file is read whole before the first row is given out, so a
malformed one is refused before anything is written. A row's `kind` says what it is; ids of
techniques and passages begin with their kind, so that they never meet a card's.

A card that comes with a code keeps it, whatever its form. One that comes without gets four blocks
of four letters of 32, without I, O, 0 and 1: `JDKN`; eleven letters of the SHA-256 of its id, first
name and surname, so that it keeps its code when its stats change; and a check letter, the sum of
the fifteen before it, each times an odd number, modulo 32. Case, dashes and blanks do not matter
when a code is read.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

import orjson

from stackroom.api import InputError, Record, RecordId, RowMapping
from stackroom.api.rows import (
    RowSource,
    SourceRow,
    WholeRows,
    find_compressed,
    find_path,
    open_decompressed,
    replace_file,
    without_compression,
)
from stackroom_catalogues.judoka.synonyms import KEPT_FOLDER, SYNONYMS, read_synonyms

ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
PREFIX = "JDKN"
DIGEST_LETTERS = 11
CODE_LETTERS = len(PREFIX) + DIGEST_LETTERS + 1
BLOCK = 4
MAX_LETTERS = 128
_SEPARATORS = re.compile(r"[\s\-‐‑‒–—_.]+")


class CodeForm(NamedTuple):
    """The check of a code by its letters alone. `has_right_check` is None where it has no check
    letter.
    """

    problem: str | None = None
    is_well_formed: bool = False
    has_right_check: bool | None = None


def code_key(code: str) -> str:
    """Return a code's letters and digits in upper case, the form for comparison."""
    return _SEPARATORS.sub("", code).upper()


def build_code(identity: str) -> str:
    """Return a generated code for a card without one."""
    number = int.from_bytes(hashlib.sha256(identity.encode("utf-8", "replace")).digest(), "big")
    digest = "".join(
        ALPHABET[(number >> (5 * place)) % len(ALPHABET)] for place in range(DIGEST_LETTERS)
    )
    return "-".join(wrap(with_check(PREFIX + digest), BLOCK))


def with_check(letters: str) -> str:
    """Return the letters with their check letter."""
    total = sum((2 * place + 1) * ALPHABET.index(letter) for place, letter in enumerate(letters))
    return letters + ALPHABET[total % len(ALPHABET)]


def check_code(code: str) -> CodeForm:
    """Say whether a code has the form of one, and whether its check letter is right where it has
    one.
    """
    letters = code_key(code)
    if not letters or len(letters) > MAX_LETTERS:
        return CodeForm(f"a code has 1 to {MAX_LETTERS} letters")
    strange = sorted(set(letters) - set(ALPHABET))
    if strange:
        return CodeForm(f"a code has no {' '.join(strange)}; its letters are {ALPHABET}")
    if not letters.startswith(PREFIX):
        return CodeForm(is_well_formed=True)
    if len(letters) != CODE_LETTERS:
        return CodeForm(
            f"a code that begins with {PREFIX} has {CODE_LETTERS} letters, not {len(letters)}"
        )
    is_right = with_check(letters[:-1]) == letters
    problem = None if is_right else "its last letter does not fit the others; a letter is wrong"
    return CodeForm(problem, is_well_formed=True, has_right_check=is_right)


CARD, TECHNIQUE, PASSAGE = "card", "technique", "passage"
COUNTRIES = "countryCodeMapping.json"
KIND_OF_FILE = {
    "judoka.json": CARD,
    "gokyo.json": TECHNIQUE,
    "techniques.json": TECHNIQUE,
    "client_embeddings.json": PASSAGE,
    "passages.json": PASSAGE,
}
"""The files with rows, in the order in which a folder is read."""

STATS = ("power", "speed", "technique", "kumikata", "newaza")
RARITIES = ("Common", "Epic", "Legendary")
GENDERS = ("male", "female")
CARD_KEYS = (
    "firstname",
    "surname",
    "country",
    "countryCode",
    "weightClass",
    "stats",
    "bio",
    "gender",
    "rarity",
)
"""The columns of a row that are fields of a card; `card_of` restores the row from them."""

WEIGHT_CLASS = re.compile(r"\s*([+\-−–]?)\s*(\d+(?:\.\d+)?)\s*(?:kg)?\s*", re.IGNORECASE)
OPEN_CLASS_EXTRA_KG = 1
HIGH_STAT = 8
STRENGTHS = {
    "power": "powerful and strong",
    "speed": "fast and quick",
    "technique": "technical and skilful",
    "kumikata": "dominant grip fighter",
    "newaza": "dangerous in groundwork",
}
HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.+?)\s*#*\s*$", re.MULTILINE)


def open_rows(location: str) -> RowSource | None:
    """Return the rows of a folder with the project's files, or of one JSON file; None for any other
    location.
    """
    path = find_path(location)
    if path is None:
        return None
    if path.is_dir():
        if not any(find_compressed(path / name) for name in KIND_OF_FILE):
            raise InputError(
                f"{location}: none of {', '.join(KIND_OF_FILE)} is in this folder; give the folder"
                " that has them"
            )
        return WholeRows(path, partial(_read_folder, path))
    plain = without_compression(path).name
    if not path.is_file() or not plain.endswith(".json"):
        return None
    if plain in (COUNTRIES, SYNONYMS):
        raise InputError(f"{location}: the file has no rows; give its folder")
    return WholeRows(path, lambda: list(_rows_of(path, load_json(path))))


def keep_files(location: str, folder: Path) -> None:
    """Copy the synonyms, which the tools need, from the source into the catalogue's folder.

    What the location does not have stays as an earlier build left it.
    """
    path = Path(location)
    found = find_compressed(path / SYNONYMS) if path.is_dir() else None
    if found is None:
        return
    table = read_synonyms(load_json(found), origin=str(found))
    kept = folder / KEPT_FOLDER / SYNONYMS
    kept.parent.mkdir(exist_ok=True)
    replace_file(kept, orjson.dumps(table, option=orjson.OPT_INDENT_2))


def load_json(path: Path) -> Any:
    """Read a JSON file, plain or compressed; refuse it with the position and the reason."""
    with open_decompressed(path) as file:
        text = file.read()
    try:
        return orjson.loads(text.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise InputError(
            f"{path}: not valid JSON at line {error.lineno}, column {error.colno}: {error.msg};"
            " mend it there"
        ) from error


def _read_folder(folder: Path) -> list[SourceRow]:
    """Return the rows of every file of a folder; cards are completed from the other files."""
    files = {
        name: found
        for name in (*KIND_OF_FILE, COUNTRIES, SYNONYMS)
        if (found := find_compressed(folder / name))
    }
    documents = {name: load_json(path) for name, path in files.items()}
    if SYNONYMS in documents:
        read_synonyms(documents[SYNONYMS], origin=str(files[SYNONYMS]))
    countries = _countries(documents.get(COUNTRIES, {}), files.get(COUNTRIES, folder))
    codes = {country.lower(): code for code, country in countries.items()}
    rows = [
        row
        for name in KIND_OF_FILE
        if name in files
        for row in _rows_of(files[name], documents[name])
    ]
    moves = {
        str(row.values.get("id")): row.values.get("name")
        for row in rows
        if row.values.get("kind") == TECHNIQUE
    }
    return [
        _completed(row, countries, codes, moves) if row.values.get("kind") == CARD else row
        for row in rows
    ]


def _rows_of(path: Path, document: Any) -> Iterator[SourceRow]:
    """Yield the rows of a file, each with its kind, which is inferred in a file of an unknown
    name.
    """
    rows = document.get("items") if isinstance(document, dict) else document
    if not isinstance(rows, list):
        raise InputError(f"{path}: a list of rows or an object with the list 'items' is expected")
    name = without_compression(path).name
    kind = KIND_OF_FILE.get(name)
    file = {"source": name} if kind == TECHNIQUE else {}
    for number, values in enumerate(rows, start=1):
        place = f"{path.name} row {number}"
        if not isinstance(values, dict):
            yield SourceRow(place=place, problem=f"a {type(values).__name__}, not an object")
            continue
        values.pop("embedding", None)
        yield SourceRow(place=place, values={**file, **values, "kind": kind or _kind_of(values)})


def _completed(
    row: SourceRow, countries: Mapping[str, str], codes: Mapping[str, str], moves: Mapping[str, Any]
) -> SourceRow:
    """Return a card's row with its country, its country's code and its signature technique filled
    in.
    """
    values = dict(row.values)
    code, country = _text(values.get("countryCode")), _text(values.get("country"))
    if not country and code.lower() in countries:
        values["country"] = countries[code.lower()]
    if not code and country.lower() in codes:
        values["countryCode"] = codes[country.lower()]
    move = moves.get(str(values.get("signatureMoveId")))
    return replace(row, values={**values, "signatureMove": move})


def _countries(document: Any, path: Path) -> dict[str, str]:
    """Return code → country of a mapping {code: {country}}."""
    if not isinstance(document, dict) or not all(
        isinstance(one, dict) for one in document.values()
    ):
        raise InputError(
            f'{path}: country codes are expected, as in {{"jp": {{"country": "Japan"}}}}'
        )
    pairs = [(code, one.get("country")) for code, one in document.items()]
    return {
        code.lower(): country for code, country in pairs if isinstance(country, str) and country
    }


def _kind_of(row: Mapping[str, Any]) -> str:
    """Return the kind that a row looks like."""
    if row.get("kind") in (CARD, TECHNIQUE, PASSAGE):
        return str(row["kind"])
    if "text" in row:
        return PASSAGE
    return TECHNIQUE if "name" in row and "stats" not in row else CARD


def records_of(row: Mapping[str, Any]) -> tuple[Record, ...]:
    """Return the one record of a row."""
    kind = _kind_of(row)
    return (
        Record(id=record_id(kind, row.get("id")), kind=kind, fields=_present(BUILDERS[kind](row))),
    )


MAPPING = RowMapping(records_of=records_of)


def record_id(kind: str, stated: Any) -> RecordId:
    """Return the id of a record: a card's as its file has it, another's with its kind before it."""
    if isinstance(stated, bool) or not isinstance(stated, int | str) or not str(stated).strip():
        wrong = "is missing" if stated is None else f"is {stated!r}"
        raise InputError(f"'id' {wrong}; a number or a text is right")
    text = str(stated).strip()
    if kind != CARD:
        return RecordId(f"{kind}:{text.removeprefix(f'{kind}:')}")
    if text.startswith((f"{TECHNIQUE}:", f"{PASSAGE}:")):
        raise InputError(f"'id' is {text!r}; a card's id has no kind before it: leave that out")
    return RecordId(text)


def card_of(record: Record) -> dict[str, Any]:
    """Return a card in the layout of its file, its id as written there."""
    rest = dict(record.get("rest") or {})
    own = {**{key: record.get(key) for key in (*CARD_KEYS, "cardCode")}, "stats": stats_of(record)}
    return {"id": rest.pop("id", record.id), **_present(own), **rest}


def stats_of(record: Record) -> dict[str, int]:
    """Return a card's stats, in their usual order."""
    return {stat: record.get(stat) for stat in STATS if record.get(stat) is not None}


def shown_id(record: Record) -> Any:
    """Return the id that clients see: as the file has it; a technique's with its kind, since cards
    have numbers too.
    """
    return (
        record.id if record.kind == TECHNIQUE else (record.get("rest") or {}).get("id", record.id)
    )


def normalised_class(text: str) -> str:
    """Return a weight class as `-60` or `+100`; `60`, `−60 kg` and `-60kg` are the same class."""
    found = WEIGHT_CLASS.fullmatch(text)
    return f"{'+' if found[1] == '+' else '-'}{found[2]}" if found else text.strip()


def weight_of(weight_class: str) -> float | None:
    """Return the limit of a class in kilograms: 60 for `-60`; for an open class one more, so 101
    for `+100`.
    """
    found = WEIGHT_CLASS.fullmatch(weight_class)
    if found is None:
        return None
    return float(found[2]) + (OPEN_CLASS_EXTRA_KG if found[1] == "+" else 0)


def _card(row: Mapping[str, Any]) -> dict[str, Any]:
    first, last = _text(row.get("firstname")), _text(row.get("surname"))
    name = f"{first} {last}".strip() or _text(row.get("name"))
    if not name:
        raise InputError("'firstname' and 'surname' are missing; a card needs one of them")
    stats = _stats(row.get("stats"))
    weight_class = normalised_class(_text(row.get("weightClass")))
    code = _text(row.get("cardCode")) or build_code(f"{row.get('id')}|{first}|{last}")
    return {
        "name": name,
        "firstname": first,
        "surname": last,
        "country": _text(row.get("country")),
        "countryCode": _text(row.get("countryCode")).lower(),
        "weightClass": weight_class,
        "weight": weight_of(weight_class),
        "rarity": _choice(row, "rarity", RARITIES),
        "gender": _choice(row, "gender", GENDERS),
        "visibility": "hidden" if row.get("isHidden") is True else "shown",
        "stats": stats,
        **stats,
        "average": sum(stats.values()) / len(stats) if stats else None,
        "strengths": ", ".join(
            words for stat, words in STRENGTHS.items() if stats.get(stat, 0) >= HIGH_STAT
        ),
        "signatureMove": _text(row.get("signatureMove")),
        "bio": _text(row.get("bio")),
        "cardCode": code,
        "codeKey": code_key(code),
        "rest": _rest(row, {*CARD_KEYS, "cardCode", "signatureMove"}),
    }


def _technique(row: Mapping[str, Any]) -> dict[str, Any]:
    texts = {
        key: _text(row.get(key))
        for key in ("name", "japanese", "category", "subCategory", "description")
    }
    if not texts["name"]:
        raise InputError("'name' is missing; every technique needs one")
    return {**texts, "rest": _rest(row, set(texts))}


def _passage(row: Mapping[str, Any]) -> dict[str, Any]:
    text = _text(row.get("text"))
    if not text:
        raise InputError("'text' is missing; every passage needs one")
    heading = HEADING.search(text)
    return {
        "name": _text(row.get("name")) or (heading[1] if heading else str(row.get("id"))),
        "text": text,
        "qaContext": _text(row.get("qaContext")),
        "source": _text(row.get("source")),
        "tags": _texts(row, "tags"),
        "version": row.get("version"),
        "rest": _rest(row, {"text", "qaContext", "source", "tags", "version"}),
    }


BUILDERS = {CARD: _card, TECHNIQUE: _technique, PASSAGE: _passage}


def _stats(value: Any) -> dict[str, int]:
    if not isinstance(value, dict):
        raise InputError(f"'stats' is {value!r:.60}; an object with {', '.join(STATS)} is right")
    found = {}
    for stat in STATS:
        number = value.get(stat)
        if number is None:
            continue
        if isinstance(number, bool) or not isinstance(number, int | float) or number % 1:
            raise InputError(f"'stats.{stat}' is {number!r:.60}, not a whole number such as 8")
        found[stat] = int(number)
    return found


def _choice(row: Mapping[str, Any], key: str, choices: tuple[str, ...]) -> str | None:
    text = _text(row.get(key))
    known = {choice.lower(): choice for choice in choices}
    if text and text.lower() not in known:
        raise InputError(f"'{key}' is {text!r}; one of {', '.join(choices)} is right")
    return known.get(text.lower())


def _rest(row: Mapping[str, Any], taken: set[str]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in taken and key != "kind"}


def _texts(row: Mapping[str, Any], key: str) -> tuple[str, ...]:
    values = row.get(key) or []
    if not isinstance(values, list):
        raise InputError(f'\'{key}\' is {values!r:.60}, not a list of texts, such as ["a", "b"]')
    return tuple(dict.fromkeys(text for value in values if (text := _text(value))))


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool | dict | list):
        return ""
    return str(value).strip()


def _present(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value for name, value in fields.items() if value is not None and value not in ("", ())
    }
