"""Collections through a folder, an S3 server and a server of Cloud Storage, with faults: `make
object-storage`.

Collections of a library are published to each store and synced into an empty library, which must
answer the questions made from them with the same ten best; an outside client reads each store. Then
faults are injected before the stores while a server syncs and is asked all the time. It ends with 0
where nothing differs and no search failed.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from object_storage.agreement import Agreement, compare, read_outside
from object_storage.faults import inject
from object_storage.stores import Store, find_weed, folder_store, gcs_store, s3_store
from stackroom.assembly.app import App
from stackroom.settings import Settings, load_settings


def main() -> int:
    """Try every store that there is, and say what came of it."""
    parser = argparse.ArgumentParser(prog="object_storage", description=__doc__)
    parser.add_argument("--library", type=Path, help="whose collections (that of STACKROOM_HOME)")
    parser.add_argument(
        "--collections", default="", help="which of them, separated by commas (all)"
    )
    parser.add_argument(
        "--questions", type=int, default=40, help="how many of each collection (40)"
    )
    parser.add_argument("--faults", type=int, default=200, help="how many in all (200); 0: none")
    parser.add_argument(
        "--stores", default="folder,s3,gcs", help="which of folder, s3 and gcs (all)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the faults")
    options = parser.parse_args()
    library = options.library or load_settings().home
    names = options.collections.split(",") if options.collections else _names(library)
    is_good = True
    with ExitStack() as stack, tempfile.TemporaryDirectory(prefix="stackroom-stores-") as temporary:
        stores = list(_iter_stores(stack, Path(temporary), options.stores.split(",")))
        for store in stores:
            agreed = compare(
                library, names, store, Path(temporary) / store.name, questions=options.questions
            )
            outside = read_outside(store, names[0])
            is_good &= _print_agreement(store, agreed, outside)
        remote = [store for store in stores if store.port is not None]
        for store in remote if options.faults else ():
            is_good &= _try_faults(
                store, Path(temporary), options.faults // len(remote), options.seed
            )
    return 0 if is_good else 1


def _names(library: Path) -> list[str]:
    return [one.name for one in App(Settings(home=library)).library.list_installed()]


def _iter_stores(stack: ExitStack, folder: Path, wanted: Sequence[str]) -> Iterator[Store]:
    """Start the stores that are wanted and can be had."""
    own = {"folder": folder_store, "gcs": gcs_store}
    weed = find_weed()
    for name in wanted:
        place = folder / f"{name}-store"
        place.mkdir()
        if name in own:
            yield stack.enter_context(own[name](place))
        elif weed is not None:
            yield stack.enter_context(s3_store(place, weed))
        else:
            print(
                "s3: SKIPPED: SeaweedFS is not installed; run: make object-storage, or set WEED",
                flush=True,
            )


def _print_agreement(store: Store, agreed: Sequence[Agreement], outside: str) -> bool:
    for one in agreed:
        share = (
            f"{one.same} of {one.questions} questions have the same ten best, {one.same_scores} the"
            " same scores"
        )
        print(f"{store.name}: {one.collection} ({one.records} records): {share}", flush=True)
    print(f"{store.name}: outside client: {outside}", flush=True)
    return not outside.startswith("FAILED") and all(one.same == one.questions > 0 for one in agreed)


def _try_faults(store: Store, folder: Path, count: int, seed: int) -> bool:
    (folder / f"{store.name}-faults").mkdir()
    report = inject(store, folder / f"{store.name}-faults", faults=count, seed=seed)
    kinds = ", ".join(f"{kind} {number}" for kind, number in sorted(report.faults.items()))
    outcome = "followed" if report.ends_in_time else "NOT FOLLOWED"
    print(
        f"{store.name}: {sum(report.faults.values())} faults ({kinds}); "
        f"{report.searches} searches: {len(report.failed)} failed, {len(report.mixed)} mixed; "
        f"{len(report.editions)} editions served; "
        f"health named it {report.told} times; {outcome} at the end",
        flush=True,
    )
    for problem in (report.failed + report.mixed)[:5]:
        print(f"    {problem}", flush=True)
    return report.is_good


if __name__ == "__main__":
    sys.exit(main())
