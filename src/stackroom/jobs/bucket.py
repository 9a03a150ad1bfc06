"""Back-ups in a bucket of S3: the files of a folder's back-up as objects,
`s3://BUCKET/PATH/20261115T030000Z/…`.

The manifest is sent last, after every other object was read back and compared: a back-up without it
is not complete, is never listed, and is removed a day later. The client is pyarrow's, which comes
with LanceDB, and finds credentials where LanceDB finds them.
"""

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
from pyarrow import fs

from stackroom.checksums import BLOCK_BYTES
from stackroom.errors import InputError, NotFoundError, StorageError
from stackroom.jobs.backup import MANIFEST, NAME, backup_order, load_checksums
from stackroom.jobs.job import JobContext
from stackroom.settings import Settings
from stackroom.sources.lance.database import DENIED, require_allowed, shorten_reason

SCHEME = "s3://"
TIMEOUT_S = 60
RIGHT_KEY = "; check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and what the key may do in the bucket"
# how long an upload may take before its objects are held to be left over
UNFINISHED_FOR = timedelta(days=1)


class BucketBackups:
    """The back-ups at an address; `field` is the setting or option that names it, for messages."""

    def __init__(self, place: str, settings: Settings, *, field: str) -> None:
        require_allowed(place, offline=settings.offline)
        if not place.startswith(SCHEME):
            raise InputError(
                f"{field}: {place}: back-ups are kept in a folder, or at s3://BUCKET/PATH"
            )
        endpoint = settings.environment.get("AWS_ENDPOINT_URL") or None
        if (
            endpoint
            and endpoint.startswith("http://")
            and settings.environment.get("AWS_ALLOW_HTTP") != "true"
        ):
            raise InputError(
                f"AWS_ENDPOINT_URL: {endpoint} has no TLS; to allow it, set AWS_ALLOW_HTTP=true"
            )
        self._title = f"{field}: {place}"
        self._folder = place.removeprefix(SCHEME).rstrip("/")
        self._files = fs.S3FileSystem(
            endpoint_override=endpoint,
            connect_timeout=TIMEOUT_S,
            request_timeout=TIMEOUT_S,
            allow_delayed_open=True,
        )
        with self._failing("opened"):
            if (
                self._files.get_file_info(self._folder.partition("/")[0]).type
                is fs.FileType.NotFound
            ):
                raise NotFoundError(
                    f"{self._title}: there is no such bucket; make it, or name another"
                )

    def send(self, backup: Path, *, at: datetime, keep: int, context: JobContext) -> str:
        """Upload a back-up and return its address; remove the oldest beyond `keep`."""
        checksums = load_checksums(backup)
        with self._failing("written"):
            taken = {name for names in self._list_backups() for name in names}
            names = (
                backup.name,
                *(f"{backup.name}-{number}" for number in range(2, len(taken) + 3)),
            )
            target = f"{self._folder}/{next(name for name in names if name not in taken)}"
            for number, name in enumerate(checksums):
                context.progress(number, len(checksums), f"sending {name}")
                self._put(backup / name, f"{target}/{name}")
            for number, (name, sha256) in enumerate(checksums.items()):
                context.progress(number, len(checksums), f"comparing {name}")
                with self._files.open_input_stream(f"{target}/{name}") as stream:
                    stored = hashlib.file_digest(stream, "sha256").hexdigest()
                if stored != sha256:
                    raise StorageError(
                        f"{self._title}: {name} does not read back as sent; the back-up is not kept"
                    )
            # commit point: the back-up is complete
            self._put(backup / MANIFEST, f"{target}/{MANIFEST}")
            self._keep_newest(keep, at)
        return f"{SCHEME}{target}"

    def fetch(self, folder: Path) -> Path:
        """Bring the back-up at the address, or the newest of those there, into a folder; its files
        are not compared.
        """
        with self._failing("read"):
            complete, _others = self._list_backups()
            is_one = self._files.get_file_info(f"{self._folder}/{MANIFEST}").is_file
            if not complete and not is_one:
                raise NotFoundError(
                    f"{self._title}: there is no back-up; name its address: stackroom restore s3://…"
                )
            source = self._folder if is_one else f"{self._folder}/{complete[-1]}"
            backup = folder / source.rpartition("/")[2]
            self._get(f"{source}/{MANIFEST}", backup / MANIFEST)
            for name in load_checksums(backup):
                self._get(f"{source}/{name}", backup / name)
        return backup

    def _list_backups(self) -> tuple[list[str], list[str]]:
        """Return the names of complete back-ups, the oldest first, and of others."""
        listed = self._files.get_file_info(fs.FileSelector(self._folder, allow_not_found=True))
        names = sorted(
            (info.base_name for info in listed if NAME.fullmatch(info.base_name)), key=backup_order
        )
        manifests = self._files.get_file_info(
            [f"{self._folder}/{name}/{MANIFEST}" for name in names]
        )
        complete = [
            name for name, manifest in zip(names, manifests, strict=True) if manifest.is_file
        ]
        return complete, [name for name in names if name not in complete]

    def _keep_newest(self, keep: int, at: datetime) -> None:
        complete, others = self._list_backups()
        before = f"{at - UNFINISHED_FOR:%Y%m%dT%H%M%SZ}"
        for name in complete[: -max(keep, 1)]:
            # half removed, it must not count as a back-up
            self._files.delete_file(f"{self._folder}/{name}/{MANIFEST}")
            self._files.delete_dir(f"{self._folder}/{name}")
        for name in (name for name in others if name < before):
            self._files.delete_dir(f"{self._folder}/{name}")

    def _put(self, source: Path, target: str) -> None:
        with source.open("rb") as file, self._files.open_output_stream(target) as stream:
            shutil.copyfileobj(file, stream, BLOCK_BYTES)

    def _get(self, source: str, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._files.open_input_stream(source) as stream, target.open("xb") as file:
            shutil.copyfileobj(stream, file, BLOCK_BYTES)
        target.chmod(0o600)

    @contextmanager
    def _failing(self, what: str) -> Iterator[None]:
        """Turn the client's errors into a StorageError."""
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            reason = shorten_reason(error)
            hint = RIGHT_KEY if reason.startswith(DENIED) else ""
            raise StorageError(
                f"{self._title}: the back-up cannot be {what}: {reason}{hint}"
            ) from error
