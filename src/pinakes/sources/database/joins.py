"""The rows of a table with the names of what its foreign keys lead to, as one statement: Book → Publisher → City.

`plan_joins` decides which names are joined and what their columns are called, `select_joined` writes the statement.
Each name is a scalar subquery, so that no row is doubled. Nothing here talks to a database.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice

from pinakes.sources.database.tables import KEY_NAME, Reference, Table

DEEPEST = 5
"""How many foreign keys are followed one after another."""
MOST_JOINED = 40
"""How many columns are joined to a table, the nearest ones first."""
MOST_CHAINS = 200
"""How many chains of one length are followed further."""

Quote = Callable[[str], str]
"""Quotes an identifier for a statement."""


Chain = tuple[Reference, ...]
"""Foreign keys that lead on from each other; the first is a column of the table that is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """A column that names the row at the end of a chain of foreign keys."""

    name: str
    chain: Chain
    naming: str


def plan_joins(table: Table, tables: Iterable[Table]) -> list[Join]:
    """Return the columns to join to a table: names of what its keys lead to, the nearest first."""
    by_name = {one.name: one for one in tables}
    chains = [one for one in _iter_chains(table, by_name) if by_name[one[-1].table].naming is not None][:MOST_JOINED]
    taken = {column.lower() for column in table.columns}
    joins: list[Join] = []
    for one in chains:
        name = next(name for name in _join_names(one, table, chains) if name not in taken)
        taken.add(name)
        joins.append(Join(name=name, chain=one, naming=by_name[one[-1].table].naming or ""))
    return joins


def select_joined(table: Table, joins: Sequence[Join], *, quote: Quote, quote_table: Quote) -> str:
    """Return a statement for all columns of a table and the joined ones, in this order, without an order of rows."""
    columns = [f"t.{quote(column)}" for column in table.columns]
    columns += [_joined(join, quote, quote_table) for join in joins]
    return f"SELECT {', '.join(columns)} FROM {quote_table(table.name)} AS t"


def _joined(join: Join, quote: Quote, quote_table: Quote) -> str:
    """Return nested subqueries; LIMIT, since not every database requires that a foreign key names one row."""
    value = f"t.{quote(join.chain[0].column)}"
    wanted = [*(reference.column for reference in join.chain[1:]), join.naming]
    for depth, (reference, column) in enumerate(zip(join.chain, wanted, strict=True), start=1):
        row = f"r{depth}"
        value = (
            f"(SELECT {row}.{quote(column)} FROM {quote_table(reference.table)} AS {row}"
            f" WHERE {row}.{quote(reference.key)} = {value} LIMIT 1)"
        )
    return value


def _iter_chains(table: Table, tables: Mapping[str, Table]) -> Iterator[Chain]:
    """Yield the chains of references, short ones first; a longer one visits no table twice."""
    chains: list[Chain] = [(reference,) for reference in table.references if reference.table in tables]
    for _ in range(DEEPEST):
        yield from chains
        longer = (
            (*one, reference)
            for one in chains
            for reference in tables[one[-1].table].references
            if reference.table in tables and reference.table not in {table.name, *(step.table for step in one)}
        )
        chains = list(islice(longer, MOST_CHAINS))


def _join_names(one: Chain, table: Table, chains: Sequence[Chain]) -> Iterator[str]:
    """Yield candidate names, best first: the table's where it is reached once, else that of the way to it."""
    yield from _near_names(one[0], table) if len(one) == 1 else _far_names(one, chains)
    plain = "_".join([one[0].column, *(_plain_name(step.table) for step in one)]).lower()
    yield plain
    yield from (f"{plain}_{number}" for number in count(2))


def _near_names(reference: Reference, table: Table) -> Iterator[str]:
    pointed_at = [table.name, *(other.table for other in table.references)]
    role = KEY_NAME.fullmatch(reference.column)
    if pointed_at.count(reference.table) == 1:
        yield _plain_name(reference.table)
    elif role:
        yield role[1].lower()


def _far_names(one: Chain, chains: Sequence[Chain]) -> Iterator[str]:
    last = _plain_name(one[-1].table)
    if sum(other[-1].table == one[-1].table for other in chains) == 1:
        yield last
    before = [_role(step) for step in one[:-1]]
    yield f"{before[-1]}_{last}"
    yield "_".join([*before, last])


def _role(reference: Reference) -> str:
    """Return what a foreign key is for: `home` of `home_id`, or the table that it points at."""
    role = KEY_NAME.fullmatch(reference.column)
    return role[1].lower() if role else _plain_name(reference.table)


def _plain_name(table: str) -> str:
    """Return the name of a table without its schema, in lower case."""
    return table.rpartition(".")[2].lower()
