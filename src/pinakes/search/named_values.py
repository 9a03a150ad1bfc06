"""Values that a query names, as in "melancholy slice of life": records that have them answer better than others."""

from collections.abc import Sequence

import numpy as np

from pinakes.catalogue.spec import CatalogueSpec
from pinakes.model.record import Key
from pinakes.search.candidates import Floats
from pinakes.search.values import field_values
from pinakes.shelf.port import ShelfReader
from pinakes.shelf.terms import term_of


def share_of_named(
    reader: ShelfReader, spec: CatalogueSpec, text: str, keys: Sequence[Key], *, fields: Sequence[str]
) -> Floats:
    """Return for each record the share of the values named by the text that it has; zeros where none is named."""
    named = 0
    shares = np.zeros(len(keys))
    for field in fields:
        matches = field_values(reader, spec, field).named_in(text)
        wanted = {term_of(match.value) for match in matches}
        if wanted and keys:
            named += len(wanted)
            shares += [len(wanted & there) for there in reader.terms(field, keys)]
    return shares / named if named else shares
