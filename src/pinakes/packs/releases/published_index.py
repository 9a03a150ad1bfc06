"""The index of a folder of releases, as it is written: entries are kept member by member, also those of other tools."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from pinakes.errors import StorageError
from pinakes.packs.manifest import BLOCKS_FOLDER, MANIFEST_FILE, Manifest, parse_manifest
from pinakes.packs.pack_files import write_synced
from pinakes.packs.releases.index import INDEX_FILE, parse_index

RELEASES_FOLDER = "releases"
TIME = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRelease:
    """An entry of the index: a release with the addresses of its files, relative to the index.

    Its blocks are not listed one by one, but by the folder that has them: an index is read at every look for updates.
    """

    entry: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        *,
        tag: str,
        name: str,
        files: Sequence[tuple[str, int, str]],
        notes: str = "",
        published_at: datetime | None = None,
    ) -> "PublishedRelease":
        """Return the entry of a release, whose files are given by path, size and sha256."""
        at = {} if published_at is None else {"published_at": published_at.astimezone(UTC).strftime(TIME)}
        return cls(
            entry={
                "tag_name": tag,
                "name": name,
                "body": notes,
                "draft": False,
                "prerelease": False,
                **at,
                "blocks_url": f"{BLOCKS_FOLDER}/",
                "assets": [
                    {
                        "name": Path(path).name,
                        "size": size,
                        "digest": f"sha256:{sha256}",
                        "browser_download_url": path,
                    }
                    for path, size, sha256 in files
                ],
            }
        )

    @property
    def tag(self) -> str:
        """Its tag."""
        return str(self.entry["tag_name"])

    @property
    def assets(self) -> list[Mapping[str, Any]]:
        """Its files, as the index has them."""
        return list(self.entry["assets"])

    @property
    def paths(self) -> set[str]:
        """The addresses of its files."""
        return {str(asset["browser_download_url"]) for asset in self.assets}

    def load_manifest(self, folder: Path) -> Manifest:
        """Read its manifest."""
        found = [str(one["browser_download_url"]) for one in self.assets if one["name"] == MANIFEST_FILE]
        if not found:
            raise StorageError(f"release '{self.tag}' of {folder} has no {MANIFEST_FILE}")
        try:
            content = (folder / found[0]).read_bytes()
        except OSError as error:
            raise StorageError(f"{folder / found[0]}: cannot be read: {error.strerror}") from error
        return parse_manifest(content, origin=str(folder / found[0]))


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedIndex:
    """The releases of a folder, newest first."""

    folder: Path
    releases: tuple[PublishedRelease, ...] = ()

    @classmethod
    def load(cls, folder: Path) -> "PublishedIndex":
        """Read the index of a folder; a folder without one has no releases."""
        try:
            content = (folder / INDEX_FILE).read_bytes()
        except FileNotFoundError:
            return cls(folder=folder)
        parse_index(content)  # refuses a malformed one
        return cls(folder=folder, releases=tuple(PublishedRelease(entry=entry) for entry in orjson.loads(content)))

    def save(self, folder: Path) -> None:
        """Replace the index in one step."""
        entries = [release.entry for release in self.releases]
        write_synced(folder / INDEX_FILE, orjson.dumps(entries, option=orjson.OPT_APPEND_NEWLINE))

    def newest_manifest(self) -> Manifest | None:
        """Return the manifest of the newest release; None where there is none yet."""
        return self.releases[0].load_manifest(self.folder) if self.releases else None

    def with_release(self, release: PublishedRelease) -> "PublishedIndex":
        """Return the index with a new release before the others."""
        return replace(self, releases=(release, *self.releases))

    def manifests(self) -> list[Manifest]:
        """Return the manifests of all releases."""
        return [release.load_manifest(self.folder) for release in self.releases]

    def kept(self, count: int) -> "PublishedIndex":
        """Return the index of the newest releases."""
        return replace(self, releases=self.releases[:count])
