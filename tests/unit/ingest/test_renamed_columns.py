"""A spec follows the columns of its table, and what somebody wrote into it stays."""

from stackroom.catalogue.compiler import LoadedSpec
from stackroom.ingest.renamed_columns import with_columns

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


def test_a_renamed_column_is_a_path_of_its_field_and_nothing_else_changes() -> None:
    loaded = LoadedSpec.of(SPEC, origin="a test")
    renamed = {"origin": "Country of origin", "points": "score"}
    assert with_columns(loaded, renamed).declaration == SPEC.replace(
        "search = true\n", 'search = true\npath = "Country of origin"\n'
    ).replace('type = "int"\n', 'type = "int"\npath = "score"\n')
