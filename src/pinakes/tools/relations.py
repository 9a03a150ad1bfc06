"""Whether records that name other records by id name such as are there."""

from pinakes.catalogue.spec import CatalogueSpec
from pinakes.model.record import RecordId
from pinakes.model.scope import KIND_FIELD, WHOLE, AnyOf, Scope
from pinakes.shelf.port import ShelfReader

SHOWN_IDS = 5


def check_relations(reader: ShelfReader, spec: CatalogueSpec) -> list[str]:
    """Return what of an editable catalogue is named by records and is not there, a problem a relation."""
    problems = []
    for relation in spec.relations if spec.editable else ():
        of_kind = Scope(conditions=(AnyOf(KIND_FIELD, (relation.kind,)),))
        named = [RecordId(one.value) for one in reader.facets(relation.field, scope=of_kind)]
        there = reader.find(named, scope=WHOLE)
        missing = sorted(one for one in named if one not in there)
        if missing:
            shown = ", ".join(f"'{one}'" for one in missing[:SHOWN_IDS])
            more = f" and {len(missing) - SHOWN_IDS} more" if len(missing) > SHOWN_IDS else ""
            problems.append(f"'{relation.field}' of {relation.kind} records names what is not there: {shown}{more}")
    return problems
