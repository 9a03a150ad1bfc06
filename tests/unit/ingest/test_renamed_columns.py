"""A spec follows the columns of its table, and what somebody wrote into it stays."""

from collections.abc import Mapping, Sequence

from stackroom.catalogue.compiler import LoadedSpec, compile_text
from stackroom.ingest.renamed_columns import LostColumns

SPEC = """\
# Mine.
name = "wines"
title = "Wines"
summary = "For tests."

# names a record
[fields.name]
type = "text"
role = "title"

# Ask Ann about these:

# 9 values
[fields."origin"]
type = "text" # a country
search = true

# tasted by
# several people
[fields.taste]
type = "text"
description = '''
[fields.taste] is
a text'''

# how many
[ fields.points ]
type = "int"

# The text whose meaning is compared.
[embed]
template = "{name}. {taste}"
"""


def adapted(*, renamed: Mapping[str, str] | None = None, gone: Sequence[str] = ()) -> str:
    loaded = LoadedSpec(spec=compile_text(SPEC, origin="a test"), declaration=SPEC)
    return LostColumns(renamed=renamed or {}, gone=gone).adapt(loaded).declaration


def test_a_renamed_column_is_a_path_of_its_field_and_nothing_else_changes() -> None:
    told = adapted(renamed={"origin": "Country of origin", "points": "score"})
    assert told == SPEC.replace(
        "search = true\n", 'search = true\npath = "Country of origin"\n'
    ).replace('type = "int"\n', 'type = "int"\npath = "score"\n')


def test_a_field_that_goes_takes_the_comment_above_it_and_no_other() -> None:
    before, _, after = SPEC.partition("# tasted by")
    assert adapted(gone=("taste",)) == before + after[after.index("# how many") :].replace(
        ". {taste}", ""
    )


def test_a_field_that_the_spec_needs_stays() -> None:
    assert adapted(gone=("name",)) == SPEC
