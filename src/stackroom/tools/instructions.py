"""The instructions that an assistant reads when it connects: bounded in length, and with nothing of
any record.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, NamedTuple

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.catalogue.telling import telling_fields
from stackroom.errors import StorageError
from stackroom.model.scope import Scope, Visibility
from stackroom.text.instructions import safe_message
from stackroom.toml_text import load_packaged
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.faces.mcp import Served

MOST_BYTES = 2_000
LONGEST_TITLE = 60
LONGEST_SUMMARY = 110

TEXTS: Final = load_packaged("stackroom.tools", "instructions.toml")
SAFETY, PERMISSIONS = TEXTS["safety"], TEXTS["permissions"]
WITHOUT_CATALOGUES = f"{TEXTS['without_catalogues']} {PERMISSIONS} {SAFETY}"
GENERAL = f"{TEXTS['general']} {SAFETY}"
INFERRED = ": found by "  # the words after the title in the summary of an inferred spec


class _Entry(NamedTuple):
    """The catalogues of one spec, with their titles and the number of records of each."""

    spec: CatalogueSpec
    counts: Mapping[str, int]


def instructions_for(
    catalogues: Sequence[OpenCatalogue],
    tools: Sequence[Served],
    visibility: Visibility,
    *,
    unserved: Sequence[str] = (),
) -> str:
    """Return the instructions of a caller who sees these catalogues and may use these tools."""
    if not catalogues:
        return WITHOUT_CATALOGUES
    missing = (
        [f"Not to be searched yet: {_clean(', '.join(unserved), LONGEST_SUMMARY)}."]
        if unserved
        else []
    )
    rest = " ".join([*missing, *_about_tools(tools)])
    room = MOST_BYTES - len(rest.encode()) - 1
    return f"{_about_catalogues(list(_entries(catalogues, visibility)), room)} {rest}"


def _entries(catalogues: Sequence[OpenCatalogue], visibility: Visibility) -> Iterator[_Entry]:
    """Yield the catalogues by spec; one that cannot be read has no records now."""
    by_spec: dict[str, list[OpenCatalogue]] = {}
    for catalogue in catalogues:
        by_spec.setdefault(catalogue.spec.name, []).append(catalogue)
    for some in by_spec.values():
        counts = dict.fromkeys((one.name for one in some), 0)
        for one in some:
            with suppress(StorageError):
                counts[one.name] = one.shelf.reader().count(Scope(visibility=visibility))
        titles = dict.fromkeys(one.spec.title for one in some)
        yield _Entry(replace(some[0].spec, title=", ".join(titles)), counts)


def _about_catalogues(entries: Sequence[_Entry], room: int) -> str:
    """Return the catalogues in as many words as there is room for: with summaries, with titles, or
    named alone.
    """
    for form in (_described, _titled, _named):
        text = f"Catalogues (and how many records): {'; '.join(map(form, entries))}."
        if len(text.encode()) <= room:
            return text
    kept = text.encode()[: room - len(TEXTS["more"]) - 4].decode(errors="ignore")
    return f"{kept[: max(kept.rfind(', '), kept.rfind('; '))]}; {TEXTS['more']}."


def _named(entry: _Entry) -> str:
    return ", ".join(f"{name} ({count:,})" for name, count in entry.counts.items())


def _titled(entry: _Entry) -> str:
    kinds = f" ({', '.join(entry.spec.kinds)})" if len(entry.spec.kinds) > 1 else ""
    return f"{_named(entry)} = {_clean(entry.spec.title, LONGEST_TITLE)}{kinds}"


def _described(entry: _Entry) -> str:
    """Return a catalogue with its summary; with one that was inferred from a table, the fields that
    tell most.
    """
    spec, summary = entry.spec, entry.spec.summary
    if summary.startswith(f"{spec.title}{INFERRED}"):
        names = [field.name.replace("_", " ") for field in telling_fields(spec)]
        summary = f"with {', '.join(names)}" if names else ""
    summary = _clean(summary, LONGEST_SUMMARY).rstrip(".")
    return f"{_titled(entry)}: {summary}" if summary else _titled(entry)


def _clean(text: str, longest: int) -> str:
    """Return a text of a spec on one line, without control characters, and bounded."""
    words = " ".join(
        "".join(letter if letter.isprintable() else " " for letter in safe_message(text)).split()
    )
    return words if len(words) <= longest else f"{words[:longest].rsplit(' ', 1)[0]} …"


def _about_tools(tools: Sequence[Served]) -> Iterator[str]:
    names = {tool.name for tool in tools}
    uses = [use for name, use in TEXTS["uses"].items() if name in names]
    if uses:
        yield f"{'; '.join(uses)}."
    if "search" in names and names - TEXTS["uses"].keys():
        yield TEXTS["subjects"]
    taken = {argument for tool in tools for argument in tool.input_schema.get("properties", {})}
    arguments = [use for name, use in TEXTS["arguments"].items() if name in taken]
    if arguments:
        yield f"Arguments of most tools: {'; '.join(arguments)}."
    yield from (TEXTS["answers"], TEXTS["forgiving"], PERMISSIONS, SAFETY)
