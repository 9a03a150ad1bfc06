"""Deltas: from the former blocks and a delta come the new blocks, exactly, or none."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pinakes.api.registry import get_package
from pinakes.errors import StorageError
from pinakes.model.record import Record, RecordId
from pinakes.packs.blocks import decode_block, dump_vectors, load_block
from pinakes.packs.builder import PackLabel, build_pack
from pinakes.packs.delta import build_delta, describe_delta, parse_delta, rebuild_blocks
from pinakes.packs.diff import diff_states
from pinakes.packs.manifest import Manifest, load_manifest
from pinakes.packs.state import state_of_pack, state_of_shelf
from pinakes.shelf.port import Delete
from support.libraries import Shelved

pytestmark = [pytest.mark.row("N4"), pytest.mark.row("A11")]

Build = Callable[..., tuple[Path, Manifest]]


@pytest.fixture
def versions(stories: Any, build: Build, anime: Callable[..., Record]) -> tuple[Path, Path]:
    """Two packs: in the second, a record is new, one is changed, one only in a field that is not embedded, one gone."""
    before, _ = build(stories, "before", cut=4)
    stories.put(anime("Title 7", synopsis="Another story."), anime("A new one", synopsis="New."))
    stories.put(anime("Title 8", synopsis="Story 8", tags=["space"], episodes=12))
    stories.shelf.apply([Delete(RecordId("Title 3"))])
    after, _ = build(stories, "after", cut=4)
    return before, after


def rebuilt(old: Path, new: Path, content: bytes) -> dict[str, bytes]:
    before, after = load_manifest(old), load_manifest(new)
    made = rebuild_blocks(before, partial(load_block, old), content, after)
    return {block.content: decode_block(block, data, is_shipped=False) for block, data in made}


def test_the_blocks_of_the_new_version_come_out_of_the_former_ones_and_the_delta(versions: tuple[Path, Path]) -> None:
    old, new = versions
    delta = build_delta(old, new)
    made = rebuilt(old, new, decode_block(delta.block, delta.data))
    had = {block.content for block in load_manifest(old).blocks}
    wanted = {block.content: load_block(new, block) for block in load_manifest(new).blocks if block.content not in had}
    assert made == wanted
    assert len(wanted) >= 4
    described = describe_delta(load_manifest(old), delta)
    assert (described.base, described.block.count) == (load_manifest(old).content, 4)


def test_a_delta_has_what_changed_and_nothing_else(versions: tuple[Path, Path]) -> None:
    delta = build_delta(*versions)
    parsed = parse_delta(decode_block(delta.block, delta.data), dimension=64)
    assert sorted(parsed.records) == ["A new one", "Title 7", "Title 8"]
    assert sorted(parsed.vectors) == ["A new one", "Title 7"]
    assert (parsed.removed, parsed.bare) == (frozenset({"Title 3"}), frozenset())


def test_a_delta_between_other_versions_is_refused(versions: tuple[Path, Path]) -> None:
    old, new = versions
    delta = build_delta(new, old)
    with pytest.raises(StorageError, match="between other versions"):
        rebuilt(old, new, decode_block(delta.block, delta.data))


def test_a_delta_that_is_wrong_makes_no_wrong_block(versions: tuple[Path, Path]) -> None:
    old, new = versions
    delta = build_delta(old, new)
    content = decode_block(delta.block, delta.data)
    wrong = content.replace(b"Another story.", b"Another stork.")
    assert wrong != content
    right, made = rebuilt(old, new, content), rebuilt(old, new, wrong)
    assert made.items() < right.items()
    assert len(made) == len(right) - 1


ODD_IDS = b'{"base":"","target":"","removed":[[1]],"bare":[],"record_bytes":0}\n' + dump_vectors([])


@pytest.mark.parametrize("content", [b"", b"{}\n", b"[]\n", b"\xff", b'{"base":1}\n', ODD_IDS])
def test_what_is_no_delta_is_refused(content: bytes) -> None:
    with pytest.raises(StorageError, match="damaged"):
        parse_delta(content, dimension=64)


def test_the_difference_of_two_packs_is_told_with_the_bytes_of_an_update(versions: tuple[Path, Path]) -> None:
    old, new = ((folder, load_manifest(folder)) for folder in versions)
    found = diff_states(state_of_pack(*old), state_of_pack(*new))
    assert (found.added, found.changed, found.removed) == (("A new one",), ("Title 7", "Title 8"), ("Title 3",))
    assert (found.records_before, found.records_after, found.is_spec_changed) == (21, 21, False)
    assert 0 < found.update_bytes <= len(build_delta(*versions).data) < found.block_bytes
    same = diff_states(state_of_pack(*old), state_of_pack(*old))
    assert (same.is_empty, same.update_bytes) == (True, 0)


def test_a_catalogue_is_compared_with_its_pack_and_is_newer_by_its_edits(
    stories: Any, build: Build, anime: Callable[..., Record]
) -> None:
    folder, manifest = build(stories, cut=4)
    stories.put(anime("Title 7", synopsis="Edited by hand."))
    now = state_of_shelf(stories.shelf.reader(), get_package("anime").loaded, cut=manifest.cut)
    assert diff_states(state_of_pack(folder, manifest), now).changed == ("Title 7",)


titles = st.sets(st.sampled_from([f"T{number}" for number in range(24)]))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=titles, rewritten=titles, removed=titles, bared=titles)
def test_any_two_states_lead_from_one_to_the_other(
    anime: Callable[..., Record],
    tmp_path_factory: pytest.TempPathFactory,
    first: set[str],
    rewritten: set[str],
    removed: set[str],
    bared: set[str],
) -> None:
    folder = tmp_path_factory.mktemp("states")
    loaded = get_package("anime").loaded
    label = PackLabel(catalogue="anime", loaded=loaded, version="1")
    old, new = Shelved(spec=loaded.spec), Shelved(spec=loaded.spec)
    old.put(*(anime(one, synopsis="As it was.") for one in first))
    for one in (first | rewritten) - removed:
        text = "As it is." if one in rewritten else "As it was."
        new.put(anime(one, synopsis=text, episodes=7 if one in bared else 1), embed=one not in bared)
    build_pack(old.shelf.reader(), label, folder / "old", cut=4)
    after = build_pack(new.shelf.reader(), label, folder / "new", cut=4)
    delta = build_delta(folder / "old", folder / "new")
    made = rebuilt(folder / "old", folder / "new", decode_block(delta.block, delta.data))
    had = {block.content for block in load_manifest(folder / "old").blocks}
    assert set(made) == {block.content for block in after.blocks} - had
