"""Tables made at random: every row becomes a record, or the proposal said why it would not."""

import csv
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stackroom.assembly.locations import open_rows
from stackroom.assembly.proposal import Proposal, propose
from stackroom.errors import InputError
from stackroom.ingest.mapping import build_mapping, require_valid

pytestmark = pytest.mark.row("N1")

CELLS = st.one_of(
    st.just(""),
    st.sampled_from(
        ["NA", "n/a", "-", "yes", "no", "July 1963", "26-Oct-12", "31/12/2019", "91 min", "€105M", "40-46%"]
    ),
    st.sampled_from(["['a' 'b']", "a|b|c", "x, y", '[{"name": "q"}]', "1,234", "1.5", "2019", "http://x.example/1"]),
    st.integers(-5, 9999).map(str),
    st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), max_size=12),
)
NAMES = st.sampled_from(
    ["id", "name", "title", "year", "price", "notes", "tags", "country", "url", "", "Größe", "1891"]
)


@st.composite
def tables(draw: st.DrawFn) -> list[list[str]]:
    """Return a header and rows; some rows are repeated or empty, some are too short or too long."""
    header = draw(st.lists(NAMES, min_size=1, max_size=6, unique=True))
    rows = draw(st.lists(st.lists(CELLS, min_size=len(header), max_size=len(header)), min_size=1, max_size=14))
    copies = draw(st.lists(st.sampled_from(rows), max_size=3))
    broken = draw(st.lists(st.lists(CELLS, min_size=1, max_size=len(header) + 2), max_size=2))
    return [header, *draw(st.permutations([*rows, *copies, *broken]))]


def write_table(folder: Path, table: Sequence[Sequence[str]]) -> str:
    path = folder / "table.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(table)
    return str(path)


def lost_rows(location: str, proposal: Proposal) -> list[str]:
    """Return why each row that makes no new record makes none, by the mapping that a build uses."""
    mapping = build_mapping(proposal.loaded.spec)
    reasons, seen = [], set()
    for row in open_rows(None, location).iter_rows():
        if row.problem:
            reasons.append("not readable")
            continue
        try:
            (record,) = mapping.records_of(row.values)
            require_valid(record, proposal.loaded.spec)
        except InputError as error:
            reasons.append(error.message)
            continue
        if record.id in seen:
            reasons.append("earlier row")
        seen.add(record.id)
    return reasons


@given(table=tables())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_row_of_a_random_table_is_a_record_or_the_proposal_says_why_not(table: list[list[str]]) -> None:
    with TemporaryDirectory() as folder:
        location = write_table(Path(folder), table)
        try:
            proposal = propose(open_rows(None, location), name="table")
        except InputError:
            return  # nothing can be built of it, which is said
        lost = lost_rows(location, proposal)
    said = "; ".join(proposal.rows_left_out)
    assert sum(int(one.split()[0]) for one in proposal.rows_left_out) == len(lost)
    assert [reason for reason in lost if reason not in said] == []
