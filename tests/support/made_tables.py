"""Tables that are made in code, because they are no text, or very wide: SQLite, Parquet, and JSON with many columns."""

import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import pyarrow
import pyarrow.parquet

TRACKS = (
    ("So What", "Kind of Blue", "Miles Davis", "Jazz", 545_000),
    ("Blue in Green", "Kind of Blue", "Miles Davis", "Jazz", 327_000),
    ("All Blues", "Kind of Blue", "Miles Davis", "Jazz", 691_000),
    ("Take Five", "Time Out", "The Dave Brubeck Quartet", "Jazz", 324_000),
    ("Three to Get Ready", "Time Out", "The Dave Brubeck Quartet", "Jazz", 324_500),
    ("Airbag", "OK Computer", "Radiohead", "Alternative", 284_000),
    ("Karma Police", "OK Computer", "Radiohead", "Alternative", 264_000),
    ("No Surprises", "OK Computer", "Radiohead", "Alternative", 229_000),
    ("Idioteque", "Kid A", "Radiohead", "Electronic", 309_000),
    ("Everything in Its Right Place", "Kid A", "Radiohead", "Electronic", 251_000),
    ("Running Up That Hill", "Hounds of Love", "Kate Bush", "Pop", 298_000),
    ("Cloudbusting", "Hounds of Love", "Kate Bush", "Pop", 310_000),
    ("Hyperballad", "Post", "Björk", "Electronic", 321_000),
    ("Army of Me", "Post", "Björk", "Electronic", 234_000),
    ("Jóga", "Homogenic", "Björk", "Electronic", 305_000),
    ("Águas de Março", "Elis & Tom", "Elis Regina", "Bossa Nova", 212_000),
    ("Corcovado", "Elis & Tom", "Elis Regina", "Bossa Nova", 240_000),
    ("Smells Like Teen Spirit", "Nevermind", "Nirvana", "Alternative", 301_000),
    ("Lithium", "Nevermind", "Nirvana", "Alternative", 257_000),
    ("Come as You Are", "Nevermind", "Nirvana", "Alternative", 219_000),
    ("Enjoy the Silence", "Violator", "Depeche Mode", "Electronic", 372_000),
    ("Personal Jesus", "Violator", "Depeche Mode", "Electronic", 296_000),
)
"""Track, album, artist, genre, milliseconds."""

COUNTRIES = (
    ("NOR", "NO", "Norway", "Oslo", "Europe", "Northern Europe", 323802, ("NOK", "krone"), ("nor", "Norwegian"), 3),
    ("SWE", "SE", "Sweden", "Stockholm", "Europe", "Northern Europe", 450295, ("SEK", "krona"), ("swe", "Swedish"), 2),
    ("DEU", "DE", "Germany", "Berlin", "Europe", "Western Europe", 357114, ("EUR", "euro"), ("deu", "German"), 9),
    ("FRA", "FR", "France", "Paris", "Europe", "Western Europe", 551695, ("EUR", "euro"), ("fra", "French"), 8),
    ("AUT", "AT", "Austria", "Vienna", "Europe", "Central Europe", 83871, ("EUR", "euro"), ("deu", "German"), 8),
    ("CHE", "CH", "Switzerland", "Bern", "Europe", "Western Europe", 41284, ("CHF", "franc"), ("gsw", "German"), 5),
    ("ITA", "IT", "Italy", "Rome", "Europe", "Southern Europe", 301336, ("EUR", "euro"), ("ita", "Italian"), 6),
    ("GRC", "GR", "Greece", "Athens", "Europe", "Southern Europe", 131990, ("EUR", "euro"), ("ell", "Greek"), 4),
    ("POL", "PL", "Poland", "Warsaw", "Europe", "Central Europe", 312679, ("PLN", "złoty"), ("pol", "Polish"), 7),
    ("JPN", "JP", "Japan", "Tokyo", "Asia", "Eastern Asia", 377930, ("JPY", "yen"), ("jpn", "Japanese"), 0),
    ("MNG", "MN", "Mongolia", "Ulaanbaatar", "Asia", "Eastern Asia", 1564110, ("MNT", "tögrög"), ("mon", "Khalkha"), 2),
    ("NPL", "NP", "Nepal", "Kathmandu", "Asia", "Southern Asia", 147181, ("NPR", "rupee"), ("nep", "Nepali"), 2),
    ("LAO", "LA", "Laos", "Vientiane", "Asia", "South-Eastern Asia", 236800, ("LAK", "kip"), ("lao", "Lao"), 5),
    (
        "IDN",
        "ID",
        "Indonesia",
        "Jakarta",
        "Asia",
        "South-Eastern Asia",
        1904569,
        ("IDR", "rupiah"),
        ("ind", "Malay"),
        3,
    ),
    ("KEN", "KE", "Kenya", "Nairobi", "Africa", "Eastern Africa", 580367, ("KES", "shilling"), ("swa", "Swahili"), 5),
    (
        "ETH",
        "ET",
        "Ethiopia",
        "Addis Ababa",
        "Africa",
        "Eastern Africa",
        1104300,
        ("ETB", "birr"),
        ("amh", "Amharic"),
        6,
    ),
    ("UGA", "UG", "Uganda", "Kampala", "Africa", "Eastern Africa", 241550, ("UGX", "shilling"), ("swa", "Swahili"), 5),
    ("TCD", "TD", "Chad", "N'Djamena", "Africa", "Middle Africa", 1284000, ("XAF", "franc"), ("ara", "Arabic"), 6),
    (
        "BRA",
        "BR",
        "Brazil",
        "Brasília",
        "Americas",
        "South America",
        8515767,
        ("BRL", "real"),
        ("por", "Portuguese"),
        10,
    ),
    (
        "BOL",
        "BO",
        "Bolivia",
        "Sucre",
        "Americas",
        "South America",
        1098581,
        ("BOB", "boliviano"),
        ("spa", "Spanish"),
        5,
    ),
    (
        "PRY",
        "PY",
        "Paraguay",
        "Asunción",
        "Americas",
        "South America",
        406752,
        ("PYG", "guaraní"),
        ("grn", "Guaraní"),
        3,
    ),
    ("CUB", "CU", "Cuba", "Havana", "Americas", "Caribbean", 109884, ("CUP", "peso"), ("spa", "Spanish"), 1),
    (
        "NZL",
        "NZ",
        "New Zealand",
        "Wellington",
        "Oceania",
        "Australasia",
        270467,
        ("NZD", "dollar"),
        ("mri", "Māori"),
        0,
    ),
    ("TON", "TO", "Tonga", "Nuku'alofa", "Oceania", "Polynesia", 747, ("TOP", "paʻanga"), ("ton", "Tongan"), 0),
)
"""Three-letter and two-letter code, name, capital, region, part of it, area in km², currency, language, neighbours."""
LANDLOCKED = frozenset({"AUT", "CHE", "MNG", "NPL", "LAO", "ETH", "UGA", "TCD", "BOL", "PRY"})
TRANSLATIONS = 370
"""The languages that each name is translated into: two columns each."""

RECIPES = (
    ("Lentil soup", 35, ("soup", "vegan"), ("red lentils", "cumin"), ("Fry the onion.", "Simmer the lentils.")),
    ("Mushroom risotto", 45, ("rice", "vegetarian"), ("rice", "mushrooms"), ("Toast the rice.", "Stir in the stock.")),
    ("Green curry", 40, ("curry", "spicy"), ("chicken", "coconut milk"), ("Fry the paste.", "Add the coconut milk.")),
    ("Pancakes", 25, ("breakfast", "vegetarian"), ("flour", "milk"), ("Rest the batter.", "Fry on both sides.")),
    ("Potato salad", 50, ("salad", "vegan"), ("potatoes", "mustard"), ("Boil the potatoes.", "Pour over the broth.")),
    ("Beef stew", 180, ("stew",), ("beef", "red wine"), ("Brown the beef.", "Braise for three hours.")),
    ("Salmon with dill", 30, ("fish",), ("salmon", "dill"), ("Fry skin side down.", "Whisk the sauce.")),
    ("Apple crumble", 55, ("dessert", "vegetarian"), ("apples", "oats"), ("Rub in the butter.", "Bake until golden.")),
    ("Bread salad", 20, ("salad", "vegan"), ("tomatoes", "bread"), ("Soak the bread.", "Tear the basil.")),
    ("Fried rice", 15, ("rice", "quick"), ("rice", "eggs"), ("Heat the wok.", "Scramble the eggs.")),
    ("Ginger biscuits", 35, ("dessert", "snack"), ("flour", "ginger"), ("Warm the treacle.", "Bake until cracked.")),
    ("Fish tacos", 25, ("fish", "quick"), ("white fish", "lime"), ("Fry the fish.", "Warm the tortillas.")),
    ("Onion tart", 75, ("tart", "vegetarian"), ("onions", "cream"), ("Melt the onions.", "Bake the custard.")),
    ("Miso aubergine", 30, ("vegan",), ("aubergine", "miso"), ("Score the flesh.", "Grill with the glaze.")),
    ("Porridge", 15, ("breakfast", "vegan"), ("oats", "pears"), ("Toast the oats.", "Simmer with salt.")),
    ("Lamb with apricots", 120, ("stew",), ("lamb", "apricots"), ("Brown the lamb.", "Add the apricots.")),
    ("Cold cucumber soup", 10, ("soup", "vegetarian"), ("cucumber", "yoghurt"), ("Grate the cucumber.", "Chill.")),
    ("Cheese soufflé", 50, ("vegetarian",), ("eggs", "gruyère"), ("Whip the whites.", "Bake without opening.")),
    ("Bean chilli", 60, ("stew", "vegan"), ("black beans", "chipotle"), ("Toast the chillies.", "Melt in chocolate.")),
    ("Fish soup", 40, ("soup", "fish"), ("white fish", "saffron"), ("Infuse the saffron.", "Poach the fish.")),
)
"""Name, minutes, tags, ingredients, steps."""


def write_music(path: Path) -> None:
    """Write a database of tracks, whose albums and artists are in tables of their own."""
    artists = {name: number for number, name in enumerate(dict.fromkeys(track[2] for track in TRACKS), start=1)}
    albums = {track[1]: (number, artists[track[2]]) for number, track in enumerate(TRACKS, start=1)}
    genres = {name: number for number, name in enumerate(dict.fromkeys(track[3] for track in TRACKS), start=1)}
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(
            "CREATE TABLE Artist (ArtistId INTEGER PRIMARY KEY, Name TEXT);"
            "CREATE TABLE Album (AlbumId INTEGER PRIMARY KEY, Title TEXT, ArtistId INTEGER REFERENCES Artist);"
            "CREATE TABLE Genre (GenreId INTEGER PRIMARY KEY, Name TEXT);"
            "CREATE TABLE Track (TrackId INTEGER PRIMARY KEY, Name TEXT, AlbumId INTEGER REFERENCES Album, "
            "GenreId INTEGER REFERENCES Genre, Milliseconds INTEGER, Bytes INTEGER, UnitPrice NUMERIC(10,2));"
            "CREATE TABLE Customer (CustomerId INTEGER PRIMARY KEY, FirstName TEXT, Email TEXT);"
        )
        database.executemany("INSERT INTO Artist VALUES (?, ?)", [(number, name) for name, number in artists.items()])
        database.executemany("INSERT INTO Album VALUES (?, ?, ?)", [(n, name, by) for name, (n, by) in albums.items()])
        database.executemany("INSERT INTO Genre VALUES (?, ?)", [(number, name) for name, number in genres.items()])
        database.executemany(
            "INSERT INTO Track VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (number, name, albums[album][0], genres[genre], length, 33 * length, 0.99 if number % 5 else 1.99)
                for number, (name, album, _artist, genre, length) in enumerate(TRACKS, start=1)
            ],
        )
        database.executemany("INSERT INTO Customer VALUES (?, ?, ?)", [(1, "Ana", "ana@example.org")])


def write_countries(path: Path) -> None:
    """Write countries with their names in hundreds of languages, and with objects whose keys are codes."""
    path.write_text(json.dumps([_country(*one) for one in COUNTRIES], ensure_ascii=False), encoding="utf-8")


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
) -> dict[str, object]:
    others = [one[0] for one in COUNTRIES if one[0] != cca3 and one[4] == region]
    letters = "abcdefghijklmnopqrstuvwxyz"
    codes = [f"{letters[n // 26]}{letters[n % 26]}q" for n in range(TRANSLATIONS)]
    return {
        "name": {
            "common": name,
            "official": f"State of {name}",
            "native": {language[0]: {"official": f"{name} ({language[1]})", "common": f"{name} {language[0]}"}},
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
        "translations": {code: {"official": f"{name} o-{code}", "common": f"{name} {code}"} for code in codes},
        "latlng": [float(area % 60), float(area % 170)],
        "landlocked": cca3 in LANDLOCKED,
        "borders": others[: min(neighbours, len(others))],
        "area": float(area),
        "flag": "".join(chr(0x1F1E6 + ord(letter) - ord("A")) for letter in cca2),
        "demonyms": {"eng": {"f": f"{name}ish", "m": f"{name}ish"}},
    }


def write_recipes(path: Path) -> None:
    """Write Parquet with lists of texts and of objects, an object, and times as seconds since 1970."""
    rows = [
        {
            "id": 3700 + 11 * number,
            "name": name,
            "slug": name.lower().replace(" ", "-"),
            "total_time_minutes": minutes,
            "num_servings": 2 + number % 5,
            "tags": [{"id": len(tag), "name": tag, "display_name": tag.capitalize()} for tag in tags],
            "ingredients": list(ingredients),
            "instructions": [{"position": at, "display_text": step} for at, step in enumerate(steps, start=1)],
            "nutrition": {"calories": 150 + 20 * number, "protein": 4 + number},
            "credits": [{"name": ("Ana Reis", "Tom Hale")[number % 2], "type": "community"}],
            "thumbnail_url": f"https://pictures.example/recipes/{number}.jpg",
            "created_at": 1_493_235_932 + 9_000_000 * number,
            "is_shoppable": number % 2 == 0,
        }
        for number, (name, minutes, tags, ingredients, steps) in enumerate(RECIPES)
    ]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)


MADE_TABLES: Mapping[str, Callable[[Path], None]] = {
    "music.sqlite": write_music,
    "countries.json": write_countries,
    "recipes.parquet": write_recipes,
}
"""File name → the function that writes it."""
