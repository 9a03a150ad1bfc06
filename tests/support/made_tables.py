"""Tables that are made in code, because they are no text, or very wide: SQLite, Parquet, and JSON
with many columns.
"""

import csv
import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

from support.spreadsheets import write_xlsx

FOLDER = Path(__file__).resolve().parent.parent / "tables" / "data"
TRANSLATIONS = 370
"""The languages that each name is translated into: two columns each."""


def _load(name: str) -> Any:
    return json.loads((FOLDER / f"made-{name}.json").read_text(encoding="utf-8"))


TRACKS = _load("tracks")
"""Track, album, artist, genre, milliseconds."""
COUNTRIES = _load("countries")
"""Codes of three and two letters, name, capital, region, its part, km², currency, language,
neighbours, landlocked.
"""
RECIPES = _load("recipes")
"""Name, minutes, tags, ingredients, steps."""
SHOP: dict[str, list[list[Any]]] = _load("shop")
"""The tables of a shop, each with its header: customers, employees, products, orders, and order
details.
"""
SHOP_KEYS = {
    "CustomerID": "Customers",
    "EmployeeID": "Employees",
    "ProductID": "Products",
    "OrderID": "Orders",
}


def write_music(path: Path) -> None:
    """Write a database of tracks, whose albums and artists are in tables of their own."""
    artists = {
        name: number
        for number, name in enumerate(dict.fromkeys(track[2] for track in TRACKS), start=1)
    }
    albums = {track[1]: (number, artists[track[2]]) for number, track in enumerate(TRACKS, start=1)}
    genres = {
        name: number
        for number, name in enumerate(dict.fromkeys(track[3] for track in TRACKS), start=1)
    }
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(
            "CREATE TABLE Artist (ArtistId INTEGER PRIMARY KEY, Name TEXT);CREATE TABLE Album"
            " (AlbumId INTEGER PRIMARY KEY, Title TEXT, ArtistId INTEGER REFERENCES Artist);CREATE"
            " TABLE Genre (GenreId INTEGER PRIMARY KEY, Name TEXT);CREATE TABLE Track (TrackId"
            " INTEGER PRIMARY KEY, Name TEXT, AlbumId INTEGER REFERENCES Album, GenreId INTEGER"
            " REFERENCES Genre, Milliseconds INTEGER, Bytes INTEGER, UnitPrice"
            " NUMERIC(10,2));CREATE TABLE Customer (CustomerId INTEGER PRIMARY KEY, FirstName TEXT,"
            " Email TEXT);"
        )
        database.executemany(
            "INSERT INTO Artist VALUES (?, ?)", [(number, name) for name, number in artists.items()]
        )
        database.executemany(
            "INSERT INTO Album VALUES (?, ?, ?)",
            [(n, name, by) for name, (n, by) in albums.items()],
        )
        database.executemany(
            "INSERT INTO Genre VALUES (?, ?)", [(number, name) for name, number in genres.items()]
        )
        database.executemany(
            "INSERT INTO Track VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    number,
                    name,
                    albums[album][0],
                    genres[genre],
                    length,
                    33 * length,
                    0.99 if number % 5 else 1.99,
                )
                for number, (name, album, _artist, genre, length) in enumerate(TRACKS, start=1)
            ],
        )
        database.executemany(
            "INSERT INTO Customer VALUES (?, ?, ?)", [(1, "Ana", "ana@example.org")]
        )


def write_shop(path: Path) -> None:
    """Write the database of a shop: orders refer to customers and employees, and order details to
    orders.
    """
    with closing(sqlite3.connect(path)) as database, database:
        for name, (header, *rows) in SHOP.items():
            keys = [column for column in header if column in SHOP_KEYS]
            own = [column for column in keys if SHOP_KEYS[column] == name] or keys
            others = [
                f"FOREIGN KEY ({key}) REFERENCES {SHOP_KEYS[key]}"
                for key in keys
                if SHOP_KEYS[key] != name
            ]
            kinds = ("TEXT" if isinstance(cell, str) else "NUMERIC" for cell in rows[0])
            columns = [" ".join(column) for column in zip(header, kinds, strict=True)]
            parts = ", ".join([*columns, f"PRIMARY KEY ({', '.join(own)})", *others])
            database.execute(f'CREATE TABLE "{name}" ({parts})')
            database.executemany(
                f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(header))})', rows
            )


def write_countries(path: Path) -> None:
    """Write countries with their names in hundreds of languages, and with objects whose keys are
    codes.
    """
    path.write_text(
        json.dumps([_country(*one) for one in COUNTRIES], ensure_ascii=False), encoding="utf-8"
    )


def _country(
    cca3: str,
    cca2: str,
    name: str,
    capital: str,
    region: str,
    subregion: str,
    area: int,
    currency: tuple[str, str],
    language: tuple[str, str],
    neighbours: int,
    is_landlocked: bool,
) -> dict[str, object]:
    others = [one[0] for one in COUNTRIES if one[0] != cca3 and one[4] == region]
    letters = "abcdefghijklmnopqrstuvwxyz"
    codes = [f"{letters[n // 26]}{letters[n % 26]}q" for n in range(TRANSLATIONS)]
    return {
        "name": {
            "common": name,
            "official": f"State of {name}",
            "native": {
                language[0]: {
                    "official": f"{name} ({language[1]})",
                    "common": f"{name} {language[0]}",
                }
            },
        },
        "tld": [f".{cca2.lower()}"],
        "cca2": cca2,
        "cca3": cca3,
        "independent": True,
        "unMember": cca3 != "CHE",
        "currencies": {currency[0]: {"name": currency[1], "symbol": currency[0][:2]}},
        "capital": [capital],
        "altSpellings": [cca2, f"Land of {name}"],
        "region": region,
        "subregion": subregion,
        "languages": {language[0]: language[1]},
        "translations": {
            code: {"official": f"{name} o-{code}", "common": f"{name} {code}"} for code in codes
        },
        "latlng": [float(area % 60), float(area % 170)],
        "landlocked": is_landlocked,
        "borders": others[: min(neighbours, len(others))],
        "area": float(area),
        "flag": "".join(chr(0x1F1E6 + ord(letter) - ord("A")) for letter in cca2),
        "demonyms": {"eng": {"f": f"{name}ish", "m": f"{name}ish"}},
    }


def write_recipes(path: Path) -> None:
    """Write Parquet with lists of texts and of objects, an object, and times as seconds since
    1970.
    """
    rows = [
        {
            "id": 3700 + 11 * number,
            "name": name,
            "slug": name.lower().replace(" ", "-"),
            "total_time_minutes": minutes,
            "num_servings": 2 + number % 5,
            "tags": [
                {"id": len(tag), "name": tag, "display_name": tag.capitalize()} for tag in tags
            ],
            "ingredients": list(ingredients),
            "instructions": [
                {"position": at, "display_text": step} for at, step in enumerate(steps, start=1)
            ],
            "nutrition": {"calories": 150 + 20 * number, "protein": 4 + number},
            "credits": [{"name": ("Ana Reis", "Tom Hale")[number % 2], "type": "community"}],
            "thumbnail_url": f"https://pictures.example/recipes/{number}.jpg",
            "created_at": 1_493_235_932 + 9_000_000 * number,
            "is_shoppable": number % 2 == 0,
        }
        for number, (name, minutes, tags, ingredients, steps) in enumerate(RECIPES)
    ]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)


def write_shop_sheets(path: Path) -> None:
    """Write the tables of the shop as the sheets of a workbook."""
    write_xlsx(path, SHOP)


def write_shop_files(folder: Path) -> list[Path]:
    """Write the tables of the shop as CSV files, and return them."""
    for name, rows in SHOP.items():
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)
    return [folder / f"{name}.csv" for name in SHOP]


MADE_TABLES: Mapping[str, Callable[[Path], None]] = {
    "music.sqlite": write_music,
    "shop.sqlite": write_shop,
    "shop.xlsx": write_shop_sheets,
    "countries.json": write_countries,
    "recipes.parquet": write_recipes,
}
"""File name → the function that writes it."""
