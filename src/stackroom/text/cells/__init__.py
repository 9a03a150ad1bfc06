"""Parsing of table cells: empty cells, numbers, dates, lists and texts, in the many ways that tables write them.

A cell is parsed by its form alone; `ingest.values` converts it to the type of its field. Every function returns None
for a text that it cannot read, and raises nothing.
"""

from stackroom.text.cells.dates import (
    date_order_of,
    find_date,
    find_epoch,
    find_year,
    first_day,
    last_day,
    precision_of,
)
from stackroom.text.cells.values import (
    Quantity,
    canonical_unit,
    find_literal,
    find_written_list,
    has_name,
    in_unit,
    is_nothing,
    list_in,
    name_of_item,
    number_and_unit,
    plain_text,
    read_boolean,
    read_number,
    read_quantity,
    same_unit,
    spellings_of,
    text_of,
    unwrapped,
)

__all__ = [
    "Quantity",
    "canonical_unit",
    "date_order_of",
    "find_date",
    "find_epoch",
    "find_literal",
    "find_written_list",
    "find_year",
    "first_day",
    "has_name",
    "in_unit",
    "is_nothing",
    "last_day",
    "list_in",
    "name_of_item",
    "number_and_unit",
    "plain_text",
    "precision_of",
    "read_boolean",
    "read_number",
    "read_quantity",
    "same_unit",
    "spellings_of",
    "text_of",
    "unwrapped",
]
