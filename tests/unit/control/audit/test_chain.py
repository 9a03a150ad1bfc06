"""The chain of the audit, without a database."""

import pytest

from stackroom.control.audit.reading import FIRST_HASH, HASHED_COLUMNS, ChainCheck, Head, hash_of, parse_head
from stackroom.control.database.tables import audit
from stackroom.errors import InputError

pytestmark = pytest.mark.row("Z13")


def row(number: int, previous: str) -> tuple[object, ...]:
    values = (number, 1, "call", "ada", "http", "tools/call", "search", "{}", "ok", None, 5, 6, "")
    return (*values, hash_of(previous, values))


def test_every_column_is_hashed() -> None:
    assert (*HASHED_COLUMNS, "hash") == tuple(audit.c.keys())


def test_a_hash_is_the_same_for_ever() -> None:
    values = (1, 1_794_744_000_000_000, "c", "ada", "http", "tools/call", "s", '{"q":"ä"}', "ok", None, 1234, 0, "")
    assert hash_of(FIRST_HASH, values) == "95ced2b17f2fc4d2ba1ecc5e081ed5d1555e37a5b40b471b0dbc3d594cfd5b8d"


def test_values_that_stand_in_other_columns_hash_differently() -> None:
    assert hash_of("", ("ab", "c")) != hash_of("", ("a", "bc"))
    assert hash_of("", ("1",)) != hash_of("", (1,))
    assert hash_of("", (None,)) != hash_of("", ("null",))
    assert hash_of("", (b"x",)) != hash_of("", ("x",))


def test_a_chain_is_followed_over_pages() -> None:
    first = row(1, FIRST_HASH)
    second = row(2, str(first[-1]))
    check = ChainCheck(expect=Head(1, str(first[-1])))
    check.follow([first])
    check.follow([second])
    assert check.end(Head(2, str(second[-1]))) is None
    assert check.last == Head(2, str(second[-1]))


def test_a_head_is_read_as_it_was_printed() -> None:
    head = Head(12, "ab" * 32)
    assert parse_head(f" {head}\n") == head
    for wrong in ("12", f"{'9' * 5_000}:{'ab' * 32}"):
        with pytest.raises(InputError, match="NUMBER:HASH"):
            parse_head(wrong)
