"""The index of releases, in the layout of GitHub's releases API: a JSON list, newest first.

The file comes from elsewhere: everything in it is checked and bounded before it is used. Members that are not read here
are ignored, since GitHub's own answers have many more.
"""

import re
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from stackroom.errors import InputError
from stackroom.packs.manifest import MANIFEST_FILE

INDEX_FILE = "releases.json"
MOST_INDEX_BYTES = 50_000_000
MOST_RELEASES = 2_000
MOST_ASSETS = 2_000
MOST_ASSET_BYTES = 1 << 40
ASSET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")

Text = Annotated[str, Field(min_length=1, max_length=2_000)]


class Asset(BaseModel):
    """A file of a release: its name, where it is, and its size and checksum where the index states them."""

    model_config = ConfigDict(strict=True, frozen=True, populate_by_name=True)

    name: Text
    url: Text = Field(alias="browser_download_url")
    """Relative to the index, or absolute."""
    size_bytes: int | None = Field(default=None, alias="size", ge=0, le=MOST_ASSET_BYTES)
    digest: str | None = Field(default=None, pattern=r"^sha256:[0-9a-f]{64}$")

    @property
    def sha256(self) -> str | None:
        """The checksum, if it is stated."""
        return self.digest.removeprefix("sha256:") if self.digest else None


class Release(BaseModel):
    """A release of a catalogue: its tag, and its files."""

    model_config = ConfigDict(strict=True, frozen=True)

    tag: Text = Field(alias="tag_name")
    assets: list[Asset] = Field(max_length=MOST_ASSETS)
    draft: bool = False
    prerelease: bool = False

    def find_asset(self, name: str) -> Asset | None:
        """Return a file of this release."""
        return next((asset for asset in self.assets if asset.name == name), None)

    @property
    def is_installable(self) -> bool:
        """Whether it is meant for everybody and has a manifest."""
        return self.find_asset(MANIFEST_FILE) is not None and not self.draft and not self.prerelease


_INDEX = TypeAdapter(Annotated[list[Release], Field(max_length=MOST_RELEASES)])


def parse_index(content: bytes) -> list[Release]:
    """Return the releases of an index, in its order; refuse a malformed one with the member that is wrong."""
    try:
        releases = _INDEX.validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        member = ".".join(map(str, first["loc"])) or "the whole"
        raise InputError(
            f"the index of releases is malformed: '{member}' is {first['input']!r:.100}: {first['msg']}; expected the "
            "layout of GitHub's releases"
        ) from error
    return [_with_plain_names(release) for release in releases]


def _with_plain_names(release: Release) -> Release:
    """Leave out files whose name no file of a release has, such as notes that somebody added."""
    return release.model_copy(update={"assets": [file for file in release.assets if ASSET_NAME.fullmatch(file.name)]})
