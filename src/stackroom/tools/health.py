"""The health of a catalogue: one check of all its parts, shown by `doctor`, `debug.inspect`, the
jobs and `/health`.

A catalogue that was edited by hand is healthy: it is newer than the release that it was installed
from, if any.
"""

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from stackroom.errors import StorageError
from stackroom.grading.grade import GRADE_FILE, describe_grade, find_grade
from stackroom.grading.tuning import TUNED_FILE, describe_weights, find_tuned
from stackroom.ingest.edits.relations import check_relations
from stackroom.ingest.ledger import LEDGER_PART, check_ledger
from stackroom.library import (
    CALIBRATION_FILE,
    LEDGER_FILE,
    PACK_FOLDER,
    find_changed_file,
)
from stackroom.maps.map_file import MAP_FILE, find_map
from stackroom.packs.build import check_installed_pack
from stackroom.packs.installed import InstalledPack
from stackroom.search.evidence import find_calibration
from stackroom.search.searcher import about_awaited_vectors
from stackroom.shelf.port import INDEX_PART, RECORDS_PART, Checkpoint, Problem, never_stop
from stackroom.tools.catalogue import OpenCatalogue

VECTORS_PART = "vectors"
RELATIONS_PART = "relations"
PACK_PART = "pack"
GRADE_PART = "grade"

READ_FILES: tuple[tuple[str, Callable[[Path], object], str], ...] = (
    ("calibration", find_calibration, CALIBRATION_FILE),
    (GRADE_PART, find_grade, GRADE_FILE),
    (GRADE_PART, find_tuned, TUNED_FILE),
    ("map", find_map, MAP_FILE),
)
"""Parts, how each is read, and the file."""


class PartHealth(NamedTuple):
    """The health of one part of a catalogue; `is_ok` is None where the check was not finished."""

    part: str
    is_ok: bool | None
    detail: str


def check_catalogue(
    catalogue: OpenCatalogue, *, checkpoint: Checkpoint = never_stop, thorough: bool = True
) -> Iterator[Problem]:
    """Yield the problems of a catalogue: of its records and indexes, and of the files beside them.

    A check that is not thorough compares files with their checksums, and no record with what the
    indexes have of it.
    """
    is_readable = True
    for problem in catalogue.shelf.check(checkpoint=checkpoint, thorough=thorough):
        is_readable = is_readable and problem.part != RECORDS_PART
        yield problem
    if is_readable and thorough:
        model, embedder = catalogue.shelf.reader().model, catalogue.searcher.embedder
        if model is not None and embedder is not None and model != embedder.model:
            message = (
                f"made by {model}, but the embedder is {embedder.model}: searches use words alone"
            )
            advice = "set the section 'embedding' of the configuration to the model of the vectors"
            yield Problem(part=VECTORS_PART, message=message, advice=advice)
        for message in check_relations(catalogue.shelf.reader(), catalogue.spec):
            advice = "edit those records, or add the missing ones"
            yield Problem(part=RELATIONS_PART, message=message, advice=advice)
    if (folder := catalogue.folder) is None:
        return
    checkpoint()
    ledger = folder / LEDGER_FILE
    yield from check_ledger(ledger) if ledger.exists() or catalogue.list_sources() else ()
    checkpoint()
    for message in check_installed_pack(folder / PACK_FOLDER, checkpoint=checkpoint):
        advice = "searches do not read it; the next stackroom update fetches what is damaged"
        yield Problem(part=PACK_PART, message=message, advice=advice)
    if (changed := find_changed_file(folder)) is not None:
        yield Problem.from_error("spec", StorageError(changed))
    for part, find, name in READ_FILES:
        try:
            find(folder / name)
        except StorageError as error:
            yield Problem.from_error(part, error)


def examine(
    catalogue: OpenCatalogue, *, checkpoint: Checkpoint = never_stop
) -> Iterator[PartHealth]:
    """Yield the health of each part of a catalogue, problems first."""
    faulty = set()
    for problem in check_catalogue(catalogue, checkpoint=checkpoint):
        faulty.add(problem.part)
        yield PartHealth(problem.part, False, str(problem))
    if RECORDS_PART not in faulty:
        for part, note in _notes(catalogue, faulty):
            if part not in faulty:
                yield PartHealth(part, True, note)


def _notes(catalogue: OpenCatalogue, faulty: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield a note on each part, to be shown where it has no problem."""
    shelf = catalogue.shelf.describe()
    read_only = "; read-only: its files cannot be written to" if shelf.is_read_only else ""
    yield RECORDS_PART, f"{shelf.records} in {shelf.sqlite_file or shelf.kind}{read_only}"
    yield (
        INDEX_PART,
        f"{shelf.records} records indexed" + (f"; {shelf.stale}" if shelf.stale else ""),
    )
    if (awaited := about_awaited_vectors(catalogue.shelf.reader())) is not None:
        yield VECTORS_PART, f"{awaited}; to embed the rest, run the same stackroom add again"
    if catalogue.spec.editable and catalogue.spec.relations:
        yield RELATIONS_PART, "every record that another names exists"
    if (folder := catalogue.folder) is not None:
        if (folder / LEDGER_FILE).is_file():
            yield LEDGER_PART, "whole"
        if (manifest := InstalledPack(folder / PACK_FOLDER).find_manifest()) is not None:
            yield (
                PACK_PART,
                f"installed from release {manifest.version} of '{manifest.catalogue}', whole",
            )
        if GRADE_PART not in faulty:
            grade, tuned = find_grade(folder / GRADE_FILE), find_tuned(folder / TUNED_FILE)
            weights = f"; tuned: {describe_weights(tuned)}" if tuned else ""
            ungraded = f"not graded yet; to grade it: stackroom eval {catalogue.name}"
            yield GRADE_PART, ungraded if grade is None else f"{describe_grade(grade)}{weights}"
