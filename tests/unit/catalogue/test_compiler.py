"""Declaration into spec: the checks of meaning."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from stackroom.catalogue.compiler import compile_text
from stackroom.catalogue.spec import FieldRole, FilterKind
from stackroom.errors import SpecError
from stackroom.packages import PACKAGES

REFUSALS: Final = tomllib.loads(Path(__file__).with_name("refusals.toml").read_text("utf-8"))[
    "refusal"
]
SMALL = """
name = "things"
title = "Things"
summary = "For tests."
[fields.title]
type = "text"
role = "title"
[fields.year]
type = "int"
[fields.form]
type = "enum"
values = ["book", "film"]
"""


def refusal(addition: str, *, within: str = SMALL) -> str:
    with pytest.raises(SpecError) as refused:
        compile_text(within + addition, origin="things.toml")
    assert refused.value.message.startswith("things.toml: ")
    return refused.value.message


@pytest.mark.parametrize("refused", REFUSALS, ids=[refused["says"] for refused in REFUSALS])
def test_a_declaration_without_sense_is_refused_with_the_place(refused: Mapping[str, str]) -> None:
    assert refused["says"] in refusal(refused["add"])


def test_in_a_catalogue_that_can_be_edited_relations_have_a_filter_and_may_copy_titles() -> None:
    editable = SMALL.replace('summary = "For tests."', 'summary = "For tests."\neditable = true')
    related = (
        "[fields.of]\ntype = 'text[]'\n{}[fields.names]\ntype = 'text[]'\n[relations.r]\nkind ="
        " 'record'\n"
    )
    related += "field = 'of'\nto = 'record'\ncopies = 'names'"
    assert "'relations.r.field': 'of' needs a filter" in refusal(
        related.format(""), within=editable
    )
    compile_text(SMALL + related.format(""), origin="test")
    (relation,) = compile_text(
        editable + related.format("filter = true\n"), origin="test"
    ).relations
    assert (relation.field, relation.copies) == ("of", "names")


def test_a_declaration_without_a_title_field_is_refused() -> None:
    assert 'no field has role = "title"' in refusal("", within=SMALL.replace('role = "title"', ""))


def test_a_near_miss_of_a_kind_is_named() -> None:
    kinds = "[kinds.album]\n[fields.k]\ntype = 'text'\nkinds = ['albun']"
    assert "no kind 'albun' (did you mean 'album'?)" in refusal(kinds)


@pytest.mark.parametrize(
    ("type_", "kind"),
    [
        ("text", FilterKind.EQUALS),
        ("text[]", FilterKind.ANY_OF),
        ("tag[]", FilterKind.ALL_OF),
        ("int", FilterKind.RANGE),
        ("date", FilterKind.RANGE),
    ],
)
def test_a_filter_that_is_just_on_is_of_the_kind_that_suits_the_type(
    type_: str, kind: FilterKind
) -> None:
    spec = compile_text(SMALL + f"[fields.x]\ntype = '{type_}'\nfilter = true", origin="test")
    assert spec.fields["x"].filter is kind


def test_synonyms_hold_both_ways() -> None:
    spec = compile_text(SMALL + '[synonyms]\nMecha = ["Giant Robot", "robot"]', origin="test")
    assert spec.synonyms == {
        "mecha": ("giant robot", "robot"),
        "giant robot": ("mecha", "robot"),
        "robot": ("mecha", "giant robot"),
    }


def test_the_digest_is_the_same_for_the_same_declaration_and_another_for_another() -> None:
    first, again = (compile_text(SMALL, origin=origin).digest for origin in ("a", "b"))
    assert first == again
    assert compile_text(SMALL + "search = true", origin="a").digest != first


@pytest.mark.parametrize(
    ("role", "kind"),
    [("people", "text[]"), ("place", "tag[]"), ("picture", "url"), ("link", "text")],
)
def test_a_role_that_only_answers_follow_leaves_the_index_valid(role: str, kind: str) -> None:
    plain = SMALL + f'[fields.x]\ntype = "{kind}"\nfilter = true\n'
    with_role = compile_text(plain + f'role = "{role}"', origin="a")
    assert with_role.digest == compile_text(plain, origin="a").digest
    assert with_role.field_with_role(FieldRole(role)) == with_role.fields["x"]


@pytest.mark.parametrize(
    ("package", "digest"),
    [
        ("papers", "186c7791ac78"),
        ("documents", "f128c56f03a0"),
        ("judoka", "e1432e2bfd89"),
        ("music", "c434c13cfa29"),
    ],
)
def test_the_digest_of_declarations_without_later_keys_is_what_earlier_versions_wrote(
    package: str, digest: str
) -> None:
    assert PACKAGES.get(package).spec.digest.startswith(digest)


def test_what_is_shown_is_not_indexed_but_names_searched_apart_and_what_is_known_are() -> None:
    plain = SMALL + "[fields.plot]\ntype = 'text'\nsearch = {}\n{}"
    as_ever = compile_text(plain.format("{ fuzzy = true }", ""), origin="test").digest
    assert (
        compile_text(plain.format("{ fuzzy = true }", "shown = false"), origin="test").digest
        == as_ever
    )
    assert (
        compile_text(plain.format("{ fuzzy = true, as_name = true }", ""), origin="test").digest
        != as_ever
    )
    known = "[known]\nplot = { weight = 1, full = 100 }"
    assert compile_text(plain.format("{ fuzzy = true }", known), origin="test").digest != as_ever


def test_bounds_and_what_names_a_file_are_checked_and_not_indexed() -> None:
    plain = SMALL + "[fields.n]\ntype = 'int'\n{}[fields.file]\ntype = 'text'\n{}"
    spec = compile_text(
        plain.format("at_least = -1\nat_most = -1\n", "names_file = true"), origin="test"
    )
    field = spec.fields["n"]
    assert (field.at_least, field.at_most, spec.fields["file"].names_file) == (-1, -1, True)
    assert spec.digest == compile_text(plain.format("", ""), origin="test").digest
