"""Text indexes for callers who may not see every record, of what they see alone.

A word is rare or frequent, and a text long or short, by comparison with the others: in an index of all records, the
scores of those that a caller sees tell of those that they do not. So each set of audiences has an index of its own, in
a temporary folder, made when it is first asked for and again when records have changed.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.model.record import Key
from stackroom.model.scope import Scope
from stackroom.shelf.embedded.store import Store
from stackroom.shelf.embedded.text_index import TextIndex
from stackroom.shelf.sqlite_files import scratch_folder

MOST_KEPT = 8
REBUILT_BELOW = 5_000
"""The number of records up to which an index is made anew after a change, so that it has no trace of former ones."""


class SeenTexts:
    """The text indexes of a catalogue by the audiences that they are for; the last used are kept."""

    def __init__(self, spec: CatalogueSpec) -> None:
        self._spec = spec
        self._kept: OrderedDict[frozenset[str], TextIndex] = OrderedDict()
        self._folder: Path | None = None
        self._made = 0
        self._guard = threading.Lock()

    def open_text(self, scope: Scope, keys: Sequence[Key], store: Store, change_no: int) -> TextIndex:
        """Return the index of these records, which are all that a scope has, as of a change."""
        audiences = scope.visibility.audiences or frozenset()
        with self._guard:
            text = self._kept.get(audiences)
            reached = text.change_no() if text else 0
            if text is None or reached > change_no or (reached < change_no and len(keys) <= REBUILT_BELOW):
                self._folder = self._folder or scratch_folder(self)
                self._made += 1
                text = TextIndex(self._folder / str(self._made), self._spec)
                text.build(store.iter_rows_as_of(keys, change_no), change_no=lambda: change_no)
            elif reached < change_no:
                touched = store.changed_since(reached, until=change_no)
                rows = store.iter_rows_as_of(sorted(set(touched).intersection(keys)), change_no)
                text.update(touched, rows, change_no=change_no)
            self._kept[audiences] = text
            self._kept.move_to_end(audiences)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
            return text
