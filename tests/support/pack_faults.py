"""Damage to packs: flipped bits and lost ends at random places over all files, each of which has to
be found.

    python -m support.pack_faults [FOLDER] --flips 1000 --truncations 200

FOLDER is an unsigned pack; a copy of it is damaged, one place at a time. Without one, a small pack
is made.
"""

import argparse
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from stackroom.packages import PACKAGES
from stackroom.packs.build import PackLabel, build_pack, check_pack
from support.libraries import Shelved, make_anime

Check = Callable[[Path], bool]
"""Tells whether a pack is found whole."""


@dataclass(slots=True, kw_only=True)
class Faults:
    """How much damage was tried, and what of it was not found."""

    tried: int = 0
    missed: list[str] = field(default_factory=list)


def is_whole(folder: Path) -> bool:
    """Tell whether no fault of a pack is found."""
    return next(iter(check_pack(folder)), None) is None


def damage_everywhere(
    folder: Path, *, flips: int, truncations: int, seed: int, check: Check = is_whole
) -> Faults:
    """Damage a pack many times, one place at a time, and return what was not found."""
    chosen, faults = random.Random(seed), Faults()
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for _ in range(flips):
        path, place = _place_in(files, chosen)
        _try(
            folder,
            path,
            f"bit {place % 8} of byte {place // 8}",
            _flipped(path, place),
            check,
            faults,
        )
    for _ in range(truncations):
        path, place = _place_in(files, chosen)
        _try(folder, path, f"cut at {place // 8}", path.read_bytes()[: place // 8], check, faults)
    return faults


def _place_in(files: list[Path], chosen: random.Random) -> tuple[Path, int]:
    """Choose a file, small ones as often as large ones half of the time, and a bit of it."""
    sizes = [path.stat().st_size for path in files]
    weights = sizes if chosen.random() < 0.5 else [1] * len(files)
    path = chosen.choices(files, weights)[0]
    return path, chosen.randrange(path.stat().st_size * 8)


def _flipped(path: Path, place: int) -> bytes:
    content = bytearray(path.read_bytes())
    content[place // 8] ^= 1 << place % 8
    return bytes(content)


def _try(folder: Path, path: Path, what: str, content: bytes, check: Check, faults: Faults) -> None:
    with replaced(path, content):
        faults.tried += 1
        if check(folder):
            faults.missed.append(f"{path.name}: {what}")


@contextmanager
def replaced(path: Path, content: bytes) -> Iterator[None]:
    """Give a file another content for a while."""
    before = path.read_bytes()
    path.write_bytes(content)
    try:
        yield
    finally:
        path.write_bytes(before)


def make_pack(folder: Path) -> None:
    """Write a pack of a few hundred records with vectors."""
    loaded = PACKAGES.get("anime").loaded
    shelved = Shelved(spec=loaded.spec)
    shelved.put(
        *(
            make_anime(f"Title {number}", synopsis=f"Story {number}, told again.")
            for number in range(300)
        )
    )
    build_pack(shelved.shelf.reader(), PackLabel(catalogue="anime", loaded=loaded), folder)


def main() -> None:
    """Damage a pack as often as the arguments say."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--truncations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "pack"
        if asked.folder is None:
            make_pack(copy)
        else:
            shutil.copytree(asked.folder, copy)
        if not is_whole(copy):
            raise SystemExit(f"{asked.folder} is not whole to begin with")
        found = damage_everywhere(
            copy, flips=asked.flips, truncations=asked.truncations, seed=asked.seed
        )
    print(f"{found.tried} damaged, {len(found.missed)} not found")
    print("\n".join(found.missed))
    raise SystemExit(bool(found.missed))


if __name__ == "__main__":
    main()
