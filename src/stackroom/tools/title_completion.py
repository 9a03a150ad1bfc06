"""Completion of titles: which records of these catalogues a typed text may name."""

from collections.abc import Mapping, Sequence

from stackroom.errors import StorageError
from stackroom.model.principal import Principal
from stackroom.text.normalise import fold_name
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.prompt import Complete
from stackroom.tools.resources.records import RecordResources


def complete_titles(catalogues: Sequence[OpenCatalogue]) -> Complete:
    """Return a completion of one title; the argument `catalogue` confines it to that catalogue.

    Titles that begin with the typed text come first, whichever catalogue they are of.
    """
    records, names = RecordResources(catalogues), [catalogue.name for catalogue in catalogues]

    def complete(principal: Principal, typed: str, others: Mapping[str, str]) -> list[str]:
        wanted = [others["catalogue"]] if others.get("catalogue") else names
        found = dict.fromkeys(title for name in wanted for title in _titles(records, principal, typed, name))
        begins = fold_name(typed)
        return sorted(found, key=lambda title: not fold_name(title).startswith(begins))

    return complete


def complete_title_list(catalogues: Sequence[OpenCatalogue]) -> Complete:
    """Return a completion of titles separated by commas: of the last one."""
    complete_one = complete_titles(catalogues)

    def complete(principal: Principal, typed: str, others: Mapping[str, str]) -> list[str]:
        before, comma, last = typed.rpartition(",")
        return [f"{before}{comma}{' ' if comma else ''}{title}" for title in complete_one(principal, last, others)]

    return complete


def _titles(records: RecordResources, principal: Principal, typed: str, catalogue: str) -> list[str]:
    """Return titles of a catalogue; none where it cannot be read."""
    try:
        return records.complete(principal, "id", typed.strip(), {"catalogue": catalogue})
    except StorageError:
        return []
