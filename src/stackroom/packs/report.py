"""What installing and updating report, while they run and when they are done."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from stackroom.errors import ExpectedError
from stackroom.packs.manifest import Manifest


def _say_nothing(_text: str) -> None:
    """Say nothing."""


def _show_nothing(_done: int, _total: int) -> None:
    """Show nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseProgress:
    """The listeners of a command: what is about to be done, and how far it is."""

    say: Callable[[str], None] = _say_nothing
    on_fetched: Callable[[int, int], None] = _show_nothing
    """Gets the bytes that were fetched, and all that are to be."""
    on_written: Callable[[int, int], None] = _show_nothing
    """Gets the records that were written, and all that are to be."""


SILENT = ReleaseProgress()


@dataclass(slots=True, kw_only=True)
class ReleaseReport:
    """The outcome of an installation, an update or a rollback."""

    catalogue: str
    version: str
    """The version that is installed now."""
    former: str = ""
    """The version before; empty where there was none."""
    available: str = ""
    """A newer version that was found and not installed."""
    fetch_bytes: int = 0
    """The bytes that were fetched, or would be."""
    written: int = 0
    removed: int = 0
    conflicts: list[str] = field(default_factory=list)
    """Ids of records that were edited here and changed differently by the release."""
    records: int = 0
    model: str | None = None
    """The model of its vectors, which searches by meaning need."""
    quality: dict[str, float] | None = None
    """How well its publisher measured it to answer."""
    notes: list[str] = field(default_factory=list)

    @contextmanager
    def noting(self, undone: str) -> Iterator[None]:
        """Note a failure after the commit point: the release is installed, and the rest is made up for later."""
        try:
            yield
        except (ExpectedError, OSError) as error:
            self.notes.append(f"{undone}: {error}")

    @property
    def is_changed(self) -> bool:
        """Whether another version is installed than before."""
        return self.version != self.former

    def as_json(self) -> dict[str, Any]:
        """Return the report for programs."""
        return asdict(self)


def quality_of(manifest: Manifest) -> dict[str, float] | None:
    """Return the measured quality of a release as plain figures."""
    return asdict(manifest.quality) if manifest.quality is not None else None


def shown_size(size_bytes: int) -> str:
    """Return a size for people."""
    return f"{size_bytes / 1e6:,.1f} MB" if size_bytes >= 100_000 else f"{size_bytes / 1e3:,.1f} kB"
