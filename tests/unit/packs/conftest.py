"""A small catalogue with and without vectors, and packs of it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pinakes.api.registry import get_package
from pinakes.model.record import Record
from pinakes.packs.builder import PackLabel, build_pack
from pinakes.packs.manifest import Manifest, PackCalibration, PackQuality

QUALITY = PackQuality(questions=200, ndcg_10=0.8, ndcg_10_low=0.75, ndcg_10_high=0.85, recall_50=0.95, mrr_10=0.8)
LABEL = PackLabel(
    catalogue="anime",
    loaded=get_package("anime").loaded,
    is_package=True,
    licence="CC0-1.0",
    calibration=PackCalibration(middle=0.2, spread=0.05),
    quality=QUALITY,
)


@pytest.fixture
def stories(shelved: Any, anime: Callable[..., Record]) -> Any:
    shelved.put(*(anime(f"Title {number}", synopsis=f"Story {number}", tags=["space"]) for number in range(20)))
    shelved.put(anime("Without a vector"), embed=False)
    return shelved


@pytest.fixture
def build(tmp_path: Path) -> Callable[..., tuple[Path, Manifest]]:
    """Build the pack of a shelf, with small blocks where a cut is given."""

    def make(shelved: Any, name: str = "pack", **members: Any) -> tuple[Path, Manifest]:
        cut = members.pop("cut", None)
        label = replace(LABEL, **members)
        return tmp_path / name, build_pack(shelved.shelf.reader(), label, tmp_path / name, cut=cut)

    return make


@pytest.fixture
def pack(stories: Any, build: Callable[..., tuple[Path, Manifest]]) -> Path:
    return build(stories, cut=4)[0]
