"""Addresses of records: `CATALOGUE/ID` as the generic tools' ids, `pinakes://CATALOGUE/ID` as resources."""

from urllib.parse import quote, unquote

from pinakes.model.record import RecordId

SCHEME = "pinakes://"


def address_of(catalogue: str, record_id: RecordId) -> str:
    """Return the id by which the generic tools know a record."""
    return f"{catalogue}/{record_id}"


def uri_of(catalogue: str, record_id: RecordId) -> str:
    """Return a record's address as a resource."""
    return f"{SCHEME}{catalogue}/{quote(record_id, safe='/')}"


def parse_address(address: str) -> tuple[str, RecordId] | None:
    """Return the catalogue and the id of an address in either form, None where it is neither."""
    is_uri = address.startswith(SCHEME)
    catalogue, slash, record_id = address.removeprefix(SCHEME).partition("/")
    if not catalogue or not slash or not record_id:
        return None
    return catalogue, RecordId(unquote(record_id) if is_uri else record_id)
