"""Packs of catalogues in the library: built, and written in the exchange format."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pinakes.assembly.app import App
from pinakes.errors import InputError
from pinakes.grading.grade import GRADE_FILE, Grade, find_grade
from pinakes.library import CALIBRATION_FILE, Installed
from pinakes.model.scope import WHOLE
from pinakes.packs.blocks import choose_cut
from pinakes.packs.builder import PackLabel, Progress, Sign, build_pack
from pinakes.packs.exchange import write_exchange
from pinakes.packs.manifest import MANIFEST_FILE, Manifest, PackCalibration, PackQuality, load_manifest
from pinakes.packs.pack_files import find_former
from pinakes.packs.state import CatalogueState, state_of_pack, state_of_shelf
from pinakes.search.calibrate import find_calibration
from pinakes.shelf.port import ShelfReader


def build_installed_pack(
    app: App,
    name: str,
    target: Path,
    *,
    version: str | None = None,
    licence: str | None = None,
    sign: Sign | None = None,
    progress: Progress = lambda _count: None,
) -> Manifest:
    """Write the pack of a catalogue as it is now into a folder.

    Without a licence, it has that of the pack which it takes the place of.
    """
    installed = app.library.get_installed(name)
    _require_outside(app, target)
    former = find_former(target)
    if former is not None and former.catalogue != name:
        raise InputError(f"{target} is a pack of '{former.catalogue}', not of '{name}'; give another folder")
    reader = app.open_catalogue(name).shelf.reader()
    label = PackLabel(
        catalogue=name,
        loaded=app.spec_of(installed),
        is_package=installed.own_declaration is None,
        version=version,
        licence=licence or (former.licence if former else None),
        calibration=_find_calibration(installed, reader),
        quality=_quality_of(find_grade(installed.folder / GRADE_FILE)),
    )
    return build_pack(reader, label, target, sign=sign, progress=progress)


def export_installed(app: App, name: str, target: Path, *, progress: Progress = lambda _count: None) -> dict[str, Any]:
    """Write a catalogue as it is now into a folder in the exchange format."""
    installed = app.library.get_installed(name)
    _require_outside(app, target)
    reader, loaded = app.open_catalogue(name).shelf.reader(), app.spec_of(installed)

    def add_files(folder: Path) -> Sequence[str]:
        is_own = installed.own_declaration is not None
        return () if is_own else app.package_of(installed).export_files(reader, loaded.spec, folder)

    return write_exchange(reader, loaded, target, name=name, add_files=add_files, progress=progress)


def pack_state(app: App, old: str, new: str) -> tuple[CatalogueState, CatalogueState]:
    """Return the states of two packs or catalogues; a catalogue is cut as the other one is."""
    cuts = [load_manifest(Path(one)).cut for one in (old, new) if is_pack(one)]
    return _state(app, old, cuts), _state(app, new, cuts)


def is_pack(place: str) -> bool:
    """Tell whether a text names the folder of a pack, and not a catalogue."""
    return (Path(place) / MANIFEST_FILE).is_file() or os.sep in place


def _state(app: App, place: str, cuts: Sequence[int]) -> CatalogueState:
    if is_pack(place):
        return state_of_pack(Path(place), load_manifest(Path(place)))
    reader = app.open_catalogue(place).shelf.reader()
    cut = cuts[0] if cuts else choose_cut(reader.count(WHOLE))
    return state_of_shelf(reader, app.spec_of(app.library.get_installed(place)), cut=cut)


def _require_outside(app: App, target: Path) -> None:
    """Refuse a folder inside the library: what is there belongs to its catalogues."""
    if target.resolve().is_relative_to(app.library.folder.resolve()):
        raise InputError(f"{target} is inside the library; give a folder elsewhere")


def _find_calibration(installed: Installed, reader: ShelfReader) -> PackCalibration | None:
    known = find_calibration(installed.folder / CALIBRATION_FILE)
    if known is None or known.model != reader.model:
        return None
    return PackCalibration(middle=known.middle, spread=known.spread)


def _quality_of(grade: Grade | None) -> PackQuality | None:
    """Return the figures of the last grade, without the time at which it was measured."""
    if grade is None:
        return None
    overall = grade.overall
    return PackQuality(
        questions=overall.questions,
        ndcg_10=overall.ndcg_10.mean,
        ndcg_10_low=overall.ndcg_10.low,
        ndcg_10_high=overall.ndcg_10.high,
        recall_50=overall.recall_50.mean,
        mrr_10=overall.mrr_10.mean,
    )
