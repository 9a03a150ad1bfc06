"""The index of releases, in the layout of GitHub's releases API: a JSON list, newest first.

The file comes from elsewhere: everything in it is checked and bounded before it is used. Members that are not read here
are ignored, since GitHub's own answers have many more.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from stackroom.errors import InputError
from stackroom.packs.manifest import MANIFEST_FILE

INDEX_FILE = "releases.json"
MOST_INDEX_BYTES = 50_000_000
MOST_RELEASES = 2_000
MOST_ASSETS = 2_000
LONGEST_TEXT = 2_000
MOST_ASSET_BYTES = 1 << 40
ASSET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
DIGEST = re.compile(r"sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """A file of a release: its name, where it is, and its size and checksum where the index states them."""

    name: str
    url: str
    """Relative to the index, or absolute."""
    size_bytes: int | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A release of a catalogue: its tag, and its files by their names."""

    tag: str
    assets: Mapping[str, Asset] = field(default_factory=dict)
    is_draft: bool = False
    is_prerelease: bool = False
    is_single_pack: bool = False
    """Whether it is a pack without an index: its files are in a folder that is named by its content."""

    def find_asset(self, name: str, *, content: str = "") -> Asset | None:
        """Return a file of this release, whose state has this content."""
        if self.is_single_pack and content and name not in self.assets:
            return Asset(name=name, url=f"{content}/{name}")
        return self.assets.get(name)

    @property
    def is_installable(self) -> bool:
        """Whether it is meant for everybody and has a manifest."""
        return MANIFEST_FILE in self.assets and not self.is_draft and not self.is_prerelease


def parse_index(content: bytes) -> list[Release]:
    """Return the releases of an index, in its order; refuse a malformed one with the member that is wrong."""
    try:
        listed = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise InputError(f"the index of releases is not JSON: {error}") from error
    if not isinstance(listed, list):
        raise InputError(f"the index of releases is a JSON {_kind(listed)}; expected a list of releases")
    if len(listed) > MOST_RELEASES:
        raise InputError(f"the index has {len(listed):,} releases; at most {MOST_RELEASES:,} are read")
    return [_parse_release(number, entry) for number, entry in enumerate(listed)]


def _parse_release(number: int, entry: Any) -> Release:
    where = f"release {number} of the index"
    if not isinstance(entry, dict):
        raise InputError(f"{where} is a JSON {_kind(entry)}; expected an object with 'tag_name' and 'assets'")
    assets = entry.get("assets")
    if not isinstance(assets, list) or len(assets) > MOST_ASSETS:
        raise InputError(f"{where}: 'assets' is not a list of at most {MOST_ASSETS:,} files")
    parsed = [_parse_asset(f"asset {number} of {where}", asset) for number, asset in enumerate(assets)]
    return Release(
        tag=_text(entry, "tag_name", where),
        assets={asset.name: asset for asset in parsed if asset is not None},
        is_draft=entry.get("draft", False) is not False,
        is_prerelease=entry.get("prerelease", False) is not False,
    )


def _parse_asset(where: str, entry: Any) -> Asset | None:
    """Return a file; None for one whose name no file of a release has, such as notes that somebody added."""
    if not isinstance(entry, dict):
        raise InputError(f"{where} is a JSON {_kind(entry)}; expected an object with 'name' and 'browser_download_url'")
    name = _text(entry, "name", where)
    if not ASSET_NAME.fullmatch(name):
        return None
    size = entry.get("size")
    if size is not None and (type(size) is not int or not 0 <= size <= MOST_ASSET_BYTES):
        raise InputError(f"{where}: 'size' is {size!r:.40}; expected a number of bytes")
    digest = entry.get("digest")
    found = DIGEST.fullmatch(digest) if isinstance(digest, str) else None
    if digest is not None and found is None:
        raise InputError(f"{where}: 'digest' is {digest!r:.40}; expected sha256: and 64 hexadecimal digits")
    return Asset(
        name=name,
        url=_text(entry, "browser_download_url", where),
        size_bytes=size,
        sha256=found[1] if found else None,
    )


def _text(entry: Mapping[str, Any], member: str, where: str) -> str:
    value = entry.get(member)
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_TEXT:
        raise InputError(f"{where}: '{member}' is {value!r:.40}; expected a text of 1 to {LONGEST_TEXT:,} characters")
    return value


def _kind(value: Any) -> str:
    names = {dict: "object", str: "string", int: "number", float: "number", bool: "boolean", type(None): "null"}
    return names.get(type(value), "list")
