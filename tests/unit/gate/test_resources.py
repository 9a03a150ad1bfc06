"""Resources through the gate: lists in parts, reading, and that permission hides all of it
alike.
"""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from stackroom.errors import InputError, NotFoundError
from stackroom.gate.gate import Gate
from stackroom.gate.resources import RESOURCES_A_PAGE, ResourcePage
from stackroom.model.principal import LOCAL_USER, Action, Principal
from stackroom.tools.resources import ResourceContent, ResourceEntry, ResourceSpec
from stackroom.tools.toolbox import Toolbox

READER = Principal(name="reader", actions=frozenset({Action.ACCESS_CATALOG}))
NOTES = {"bread": "Bake it.", "sea": "Swim in it.", "sea salt": "Taste it."}


def note_entries(_principal: Principal) -> Sequence[ResourceEntry]:
    return [ResourceEntry(uri=f"notes://{name}", name=name) for name in NOTES]


def read_note(principal: Principal, rest: str) -> ResourceContent | None:
    text = f"{principal.name}: {NOTES[rest]}" if rest in NOTES else None
    return ResourceContent(mime_type="text/plain", text=text) if text else None


NOTE_RESOURCE = ResourceSpec(
    prefix="notes://",
    action=Action.ACCESS_CATALOG,
    entries=note_entries,
    read=read_note,
    template="notes://{name}",
    name="note",
    description="A note.",
)
LOG_RESOURCE = replace(
    NOTE_RESOURCE,
    prefix="logs://",
    action=Action.SERVER_ADMIN,
    entries=lambda _principal: [ResourceEntry(uri="logs://today", name="today")],
    read=lambda _principal, rest: (
        ResourceContent(mime_type="text/plain", blob=b"\x00") if rest == "today" else None
    ),
    template="logs://{day}",
)
GATE = Gate(Toolbox([], [NOTE_RESOURCE, LOG_RESOURCE]))


def numbered(count: int) -> Gate:
    """Return a gate over so many resources."""
    entries = [ResourceEntry(uri=f"notes://{number}", name=str(number)) for number in range(count)]
    return Gate(Toolbox([], [replace(NOTE_RESOURCE, entries=lambda _principal: entries)]))


def names(page: ResourcePage) -> list[str]:
    return [entry.name for entry in page.entries]


@pytest.mark.parametrize(
    "count", [0, 1, RESOURCES_A_PAGE - 1, RESOURCES_A_PAGE, RESOURCES_A_PAGE + 1, 501]
)
def test_the_parts_of_a_list_make_the_whole_list_without_repeats(count: int) -> None:
    gate = numbered(count)
    page = gate.list_resources(LOCAL_USER)
    found = names(page)
    while page.next_cursor is not None:
        page = gate.list_resources(LOCAL_USER, page.next_cursor)
        assert page.entries  # a cursor is given only where something follows
        found += names(page)
    assert found == [str(number) for number in range(count)]


@pytest.mark.parametrize("cursor", ["", "next", "-1", "1.5", " 7", "9" * 10])
def test_a_cursor_that_no_list_gave_is_refused(cursor: str) -> None:
    with pytest.raises(InputError, match="'cursor' is not valid for this list"):
        GATE.list_resources(LOCAL_USER, cursor)


def test_templates_are_those_of_the_resources_that_have_one() -> None:
    plain = replace(NOTE_RESOURCE, prefix="plain://", template="")
    assert Gate(Toolbox([], [plain, NOTE_RESOURCE])).list_templates(READER) == [NOTE_RESOURCE]


@pytest.mark.parametrize(
    "uri", ["notes://moon", "notes://", "notes:/sea", "NOTES://sea", "other://sea", "sea", ""]
)
def test_an_address_where_nothing_stands_is_not_found(uri: str) -> None:
    with pytest.raises(NotFoundError, match=f"there is no resource '{uri}'"):
        GATE.read(LOCAL_USER, uri)


def test_a_long_address_is_not_repeated_whole_in_the_refusal() -> None:
    with pytest.raises(NotFoundError) as caught:
        GATE.read(LOCAL_USER, "notes://" + "x" * 10_000)
    assert len(caught.value.message) < 300


def test_a_longer_prefix_is_read_where_the_shorter_has_nothing() -> None:
    inner = replace(
        NOTE_RESOURCE,
        prefix="notes://deep/",
        read=lambda _principal, rest: ResourceContent(mime_type="text/plain", text=f"deep {rest}"),
    )
    gate = Gate(Toolbox([], [inner, NOTE_RESOURCE]))
    assert gate.read(READER, "notes://deep/sea").text == "deep sea"
    assert gate.read(READER, "notes://sea").text == "reader: Swim in it."


def test_the_parts_of_a_list_count_only_what_may_be_read() -> None:
    hidden = [ResourceEntry(uri=f"logs://{number}", name=f"log {number}") for number in range(300)]
    gate = Gate(
        Toolbox([], [NOTE_RESOURCE, replace(LOG_RESOURCE, entries=lambda _principal: hidden)])
    )
    page = gate.list_resources(READER)
    assert (names(page), page.next_cursor) == (["bread", "sea", "sea salt"], None)
