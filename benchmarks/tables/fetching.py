"""Tables of public packages and repositories, brought to a folder and checked by their digest.

A source is `npm:NAME@VERSION`, `pypi:NAME==VERSION` or `github:OWNER/NAME@COMMIT`. Packages are
downloaded by npm and pip; a repository is read from a git directory below the folder of mirrors, at
`OWNER/NAME` or `OWNER+NAME/repo`.
"""

import hashlib
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path


class UnreachableError(Exception):
    """A table that cannot be had here, with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStore:
    """A folder of downloads; tables that it has are not fetched again."""

    cache: Path
    mirror: Path | None = None

    def fetch(self, name: str, *, source: str, file: str, sha256: str) -> Path:
        """Return the file of a table; raise UnreachableError where it cannot be had, or is another
        one.
        """
        path = self.cache / "files" / name / Path(file).name
        content = path.read_bytes() if path.is_file() else self._fetch_content(source, file)
        digest = hashlib.sha256(content).hexdigest()
        if digest != sha256:
            raise UnreachableError(f"{source}: {file} is another file: its sha256 is {digest}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def _fetch_content(self, source: str, file: str) -> bytes:
        kind, _, wanted = source.partition(":")
        if kind == "github":
            return self._read_repository(wanted, file)
        archive = self._fetch_package(kind, wanted)
        if zipfile.is_zipfile(archive):
            return zipfile.ZipFile(archive).read(file)
        with tarfile.open(archive) as members:
            return members.extractfile(file).read()  # type: ignore[union-attr]

    def _fetch_package(self, kind: str, wanted: str) -> Path:
        folder = self.cache / "packages" / f"{kind}-{wanted.replace('/', '-')}"
        if not folder.is_dir() or not any(folder.iterdir()):
            folder.mkdir(parents=True, exist_ok=True)
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", wanted]
            _run(["npm", "pack", "--silent", wanted] if kind == "npm" else pip, folder=folder)
        return next(folder.iterdir())

    def _read_repository(self, wanted: str, file: str) -> bytes:
        name, _, commit = wanted.partition("@")
        if self.mirror is None:
            raise UnreachableError(
                f"github:{name}: a repository; give a folder of git mirrors by --mirror"
            )
        places = [self.mirror / name, self.mirror / name.replace("/", "+") / "repo"]
        found = next((place for place in places if place.is_dir()), None)
        if found is None:
            raise UnreachableError(f"github:{name}: not in {self.mirror}")
        return _run(["git", "-C", str(found), "show", f"{commit}:{file}"], folder=self.cache)


def _run(command: list[str], *, folder: Path) -> bytes:
    """Run a command in a folder and return its output; raise UnreachableError with its last line
    where it fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout
    except FileNotFoundError:
        raise UnreachableError(f"{command[0]} is not installed") from None
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode(errors="replace").strip().splitlines()
        raise UnreachableError(
            f"{' '.join(command[:3])}: {lines[-1] if lines else 'failed'}"
        ) from None
