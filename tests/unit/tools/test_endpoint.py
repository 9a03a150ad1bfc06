"""Parameters of endpoints, and the media of records as one caller sees them."""

from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from stackroom.errors import StorageError, UnknownResourceError
from stackroom.model.principal import LOCAL_USER, Action, Principal
from stackroom.tools.faces.rest import PageParams
from stackroom.tools.media import CallerMedia, MediaFile, MediaKind, MediaSpec


def media_of(catalogue: str, *ids: str, action: Action = Action.ACCESS_CATALOG) -> MediaSpec:
    """Declare a catalogue whose records with these ids have audio."""

    def find(_principal: Principal, record_id: str, kind: MediaKind) -> MediaFile | None:
        has_it = record_id in ids and kind is MediaKind.AUDIO
        return (
            MediaFile(path=Path(catalogue), mime_type="audio/wav", size_bytes=1, modified_at=0)
            if has_it
            else None
        )

    return MediaSpec(
        catalogue=catalogue,
        action=action,
        find=find,
        known_among=lambda _principal, wanted: set(ids) & set(wanted),
    )


@pytest.mark.parametrize("text", ["", " 1", "1_0", "+1", "-1", "1.0", "²", "١", "1e3", "9" * 16])
def test_a_number_of_a_query_string_is_plain_digits(text: str) -> None:
    with pytest.raises(ValidationError, match="whole number"):
        PageParams.model_validate({"offset": text})


def test_a_page_has_bounds_and_defaults() -> None:
    page = PageParams.model_validate({"offset": "20"})
    assert (page.offset, page.limit) == (20, 100)
    for outside in ({"limit": "0"}, {"limit": "1001"}):
        with pytest.raises(ValidationError):
            PageParams.model_validate(outside)


def test_media_come_from_the_first_catalogue_that_has_the_record() -> None:
    media = CallerMedia(LOCAL_USER, [media_of("a", "one"), media_of("bb", "one", "two")])
    assert media.get_file("one", MediaKind.AUDIO).path == Path("a")
    assert media.missing_among(["three", "two", "zero", "three", "one"]) == ["three", "zero"]


def test_media_that_the_caller_may_not_use_are_as_unknown_as_missing_ones() -> None:
    reader = Principal(name="ann", actions=frozenset({Action.ACCESS_CATALOG}))
    media = CallerMedia(reader, [media_of("a", "one", action=Action.SERVER_ADMIN)])
    assert media.missing_among(["one"]) == ["one"]
    with pytest.raises(UnknownResourceError, match="'one'"):
        media.get_file("one", MediaKind.AUDIO)


def test_media_of_other_catalogues_are_found_where_the_storage_of_one_fails() -> None:
    def fail(*_arguments: object) -> None:
        raise StorageError("the disk is away")

    failing = replace(media_of("a", "one"), find=fail)
    media = CallerMedia(LOCAL_USER, [failing, media_of("bb", "two")])
    assert media.get_file("two", MediaKind.AUDIO).path == Path("bb")
    with pytest.raises(StorageError):
        media.get_file("one", MediaKind.AUDIO)
