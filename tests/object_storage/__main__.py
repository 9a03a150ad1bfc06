"""Collections through a folder, an S3 server and a server of Cloud Storage, with faults: `make
object-storage`.

Collections of a library are published to each store and synced into an empty library, which must
answer the questions made from them with the same ten best; an outside client reads each store. Then
faults are injected before the stores while a server syncs and is asked all the time. It ends with 0
where nothing differs and no search failed.
"""

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

QUESTIONS = 40
"""How many questions are asked of each collection."""
FAULTS = 200
"""How many faults are injected before all stores."""


def main() -> int:
    """Try every store that there is, and say what came of it."""
    library = load_settings().home
    names = [one.name for one in App(Settings(home=library)).library.list_installed()]
    is_good = True
    with ExitStack() as stack, tempfile.TemporaryDirectory(prefix="stackroom-stores-") as temporary:
        folder = Path(temporary)
        stores = list(_iter_stores(stack, folder))
        for store in stores:
            agreed = compare(library, names, store, folder / store.name, questions=QUESTIONS)
            is_good &= _print_agreement(store, agreed, read_outside(store, names[0]))
        remote = [store for store in stores if store.port is not None]
        for store in remote:
            is_good &= _try_faults(store, folder, FAULTS // len(remote))
    return 0 if is_good else 1


def _iter_stores(stack: ExitStack, folder: Path) -> Iterator[Store]:
    """Start the stores that can be had."""
    for name in ("folder", "gcs", "s3"):
        (folder / f"{name}-store").mkdir()
    yield stack.enter_context(folder_store(folder / "folder-store"))
    yield stack.enter_context(gcs_store(folder / "gcs-store"))
    if (weed := find_weed()) is None:
        print("s3: SKIPPED: SeaweedFS is not installed; run: make object-storage, or set WEED")
    else:
        yield stack.enter_context(s3_store(folder / "s3-store", weed))


def _print_agreement(store: Store, agreed: Sequence[Agreement], outside: str) -> bool:
    for one in agreed:
        share = (
            f"{one.same} of {one.questions} questions have the same ten best, {one.same_scores} the"
            " same scores"
        )
        print(f"{store.name}: {one.collection} ({one.records} records): {share}", flush=True)
    print(f"{store.name}: outside client: {outside}", flush=True)
    return not outside.startswith("FAILED") and all(one.same == one.questions > 0 for one in agreed)


def _try_faults(store: Store, folder: Path, count: int) -> bool:
    (folder / f"{store.name}-faults").mkdir()
    report = inject(store, folder / f"{store.name}-faults", faults=count, seed=0)
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
