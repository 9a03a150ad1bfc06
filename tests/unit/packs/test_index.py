"""The index of releases: the layout of GitHub's API is read, and everything else is refused with
its place.
"""

import json
from typing import Any

import pytest

from stackroom.errors import InputError
from stackroom.packs.places import MOST_RELEASES, parse_index
from stackroom.packs.status import is_older

pytestmark = pytest.mark.row("A11")

ASSET = {
    "name": "manifest.json",
    "size": 12,
    "browser_download_url": "https://example.org/manifest.json",
}
RELEASE = {"tag_name": "1.0", "draft": False, "prerelease": False, "assets": [ASSET]}


def test_an_answer_of_githubs_api_with_all_its_members_is_read() -> None:
    entry = {
        **RELEASE,
        "id": 1,
        "author": {"login": "x"},
        "assets": [{**ASSET, "digest": f"sha256:{'a' * 64}", "id": 2}],
    }

    release = parse_index(json.dumps([entry]).encode())[0]

    assert release.tag == "1.0"
    assert release.is_installable
    asset = release.find_asset("manifest.json")
    assert asset is not None
    assert (asset.size_bytes, asset.sha256) == (12, "a" * 64)


@pytest.mark.parametrize("member", ["draft", "prerelease"])
def test_drafts_and_preliminary_releases_are_not_installed(member: str) -> None:
    assert not parse_index(json.dumps([{**RELEASE, member: True}]).encode())[0].is_installable


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html></html>", "'the whole' is .* Invalid JSON"),
        (b"{}", "'the whole' is .* valid array"),
        (b"[1]", "'0' is 1"),
        (json.dumps([RELEASE] * (MOST_RELEASES + 1)).encode(), "at most 2000 items"),
    ],
)
def test_a_malformed_index_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_index(content)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"tag_name": None}, "'0.tag_name' is None"),
        ({"assets": {}}, "'0.assets' is {}"),
        ({"assets": [ASSET] * 2_001}, "at most 2000 items"),
        ({"assets": [7]}, "'0.assets.0' is 7"),
        ({"assets": [{**ASSET, "size": -1}]}, "'0.assets.0.size' is -1"),
        ({"assets": [{**ASSET, "size": True}]}, "'0.assets.0.size' is True"),
        ({"assets": [{**ASSET, "digest": "md5:1"}]}, "'0.assets.0.digest' is 'md5:1'"),
        (
            {"assets": [{**ASSET, "browser_download_url": ""}]},
            "'0.assets.0.browser_download_url' is ''",
        ),
    ],
)
def test_a_malformed_member_is_named(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_index(json.dumps([{**RELEASE, **changed}]).encode())


def test_a_file_whose_name_leads_elsewhere_is_no_asset() -> None:
    assets = [{**ASSET, "name": name} for name in ("../x", "/etc/passwd", "a/b", "..", "a\\b")]

    assert not parse_index(json.dumps([{**RELEASE, "assets": assets}]).encode())[0].assets


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("2026.11.9", "2026.11.16"),
        ("1.9", "1.10"),
        ("1.2.0-rc1", "1.2.0"),
        ("v1", "1.0.1"),
        ("1.0a", "1.0b2"),
    ],
)
def test_versions_are_ordered_by_their_numbers(older: str, newer: str) -> None:
    assert is_older(older, newer)
    assert not is_older(newer, older)
