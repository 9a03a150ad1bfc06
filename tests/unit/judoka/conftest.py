"""A small library of judoka, built from files with the real model."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.model.principal import LOCAL_USER
from stackroom.settings import Settings
from stackroom_catalogues.judoka.rows import keep_files
from support.libraries import add_package
from support.served import Served

SEED_CODE = "VZL6-J823-2DQ7-EB57-NZ43-WN4U-J9MX-NKUW-XMZF-SVUX-W"


def card(
    number: Any, name: str, country: str, weight_class: str, stats: str, **more: Any
) -> dict[str, Any]:
    """Return a card as files have it; `stats` are five digits, `name` is first name and surname."""
    first, _, last = name.partition(" ")
    names = ("power", "speed", "technique", "kumikata", "newaza")
    return {
        "id": number,
        "firstname": first,
        "surname": last,
        "country": country,
        "weightClass": weight_class,
        "category": "Judo",
        "stats": dict(zip(names, map(int, stats), strict=True)),
        "signatureMoveId": 1,
        "bio": f"{name} fights for {country}.",
        "gender": "male",
        "isHidden": False,
        "rarity": "Common",
        **more,
    }


CARDS = [
    card(
        0,
        "Tatsuuma Ushiyama",
        "Vanuatu",
        "+100",
        "99999",
        rarity="Legendary",
        isHidden=True,
        cardCode=SEED_CODE,
    ),
    card(1, "Kenji Tanaka", "Japan", "-60", "59878", rarity="Epic", countryCode="jp"),
    card(2, "Haruto Sato", "Japan", "-60", "68777", rarity="Common", countryCode="jp"),
    card(3, "Jean Dupont", "France", "-60", "78787", rarity="Legendary", countryCode="fr"),
    card(4, "Luca Rossi", "Italy", "-100", "95656", rarity="Common", countryCode="it"),
    card(
        5,
        "Pedro Silva",
        "Brazil",
        "+100",
        "96667",
        rarity="Epic",
        countryCode="br",
        signatureMoveId=2,
    ),
    card(
        6, "Marie Petit", "France", "-48", "49878", gender="female", rarity="Epic", countryCode="fr"
    ),
    card("ABEGENENOU_63", "Aiko Mori", "Japan", "-63", "66666", gender="female", countryCode="jp"),
]
TECHNIQUES = [
    {
        "id": 1,
        "name": "Uchi-mata",
        "japanese": "内股",
        "category": "Nage-waza",
        "subCategory": "Ashi-waza",
    },
    {
        "id": 2,
        "name": "Tomoe-nage",
        "japanese": "巴投",
        "description": "A circle throw, falling backwards.",
    },
]
PASSAGES = [
    {
        "id": "rules-1",
        "text": "# Scoring\n\nThe higher stat wins the round and earns one point.",
        "qaContext": "How do I score a point?",
        "source": "docs/rules.md",
        "tags": ["rules"],
        "version": 1,
        "embedding": [0.1, 0.2],
    },
    {
        "id": "snackbar-1",
        "text": "A snackbar tells the player what happens next.",
        "source": "docs/ui.md",
        "tags": [],
    },
]
SYNONYMS = {"circle throw over": ["tomoe-nage"], "flibber": ["snackbar"]}


@dataclass(frozen=True, kw_only=True)
class Judokon(Served):
    """The library, and the folder that it was built from."""

    app: App
    files: Path

    def structured(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must answer."""
        answer = self.call(tool, **arguments)
        assert answer.structured is not None, answer.text
        return answer.structured

    def ids(self, **filters: Any) -> set[Any]:
        """Return the ids of the cards that a search with these filters gives."""
        return {
            hit["id"]
            for hit in self.structured("judokon.search", query="judoka", filters=filters)["results"]
        }

    def read(self, name: str) -> Any:
        """Return the content of a file that clients can read."""
        content = self.gate.read(LOCAL_USER, f"judokon://{name}")
        return content.blob if content.text is None else json.loads(content.text)


def write_files(folder: Path) -> Path:
    """Write the small files into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = {
        "judoka": CARDS,
        "gokyo": TECHNIQUES,
        "client_embeddings": PASSAGES,
        "synonyms": SYNONYMS,
    }
    for name, content in rows.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


@pytest.fixture
def small_files(tmp_path: Path) -> Path:
    """A folder with the small files."""
    return write_files(tmp_path / "files")


@pytest.fixture(scope="session")
def judokon(models_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judokon]:
    """The small library, built with the real model and opened."""
    home = tmp_path_factory.mktemp("judoka")
    (home / "models").symlink_to(models_folder, target_is_directory=True)
    files = write_files(home / "files")
    app = App(Settings(home=home))
    add_package(app, "judoka", files, embed=True)
    keep_files(str(files), home / "catalogues" / "judoka")
    yield Judokon(app=app, gate=app.build_gate(["judoka"]), files=files)
    app.close()


@pytest.fixture(scope="session")
def seed_code() -> str:
    """A card code as the project's own files have it."""
    return SEED_CODE
