"""Declaration into spec: the checks of meaning."""

import re

import pytest

from stackroom.catalogue.compiler import compile_text, parse_template
from stackroom.catalogue.spec import FieldRole, FilterKind, TemplatePart
from stackroom.errors import SpecError
from stackroom.packages import PACKAGES

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


@pytest.mark.parametrize(
    ("addition", "problem"),
    [
        ("[fields.Name]\ntype = 'text'", "'fields.Name': a field name starts with a lower-case letter"),
        ("[fields._x]\ntype = 'text'", "'fields._x': a field name"),
        ("[fields.n]\ntype = 'int'\nsearch = true", "'fields.n': a field of type int cannot be searched"),
        ("[fields.j]\ntype = 'json'\nsearch = true", "'fields.j': a field of type json cannot be searched"),
        ("[fields.t]\ntype = 'text'\nfilter = 'range'", "'fields.t': only int, float and date fields"),
        (
            "[fields.n]\ntype = 'int'\nfilter = 'any-of'",
            "'fields.n': a field of type int can be filtered by range only",
        ),
        ("[fields.j]\ntype = 'json'\nfilter = true", "'fields.j': a field of type json cannot be filtered"),
        ("[fields.n]\ntype = 'float'\nfacet = true", "'fields.n': a field of type float has no facets"),
        ("[fields.e]\ntype = 'enum'", "'fields.e': an enum lists its 'values'"),
        ("[fields.t]\ntype = 'text'\nat_least = 1", "'fields.t': 'at_least' and 'at_most' are for int and float"),
        ("[fields.d]\ntype = 'date'\nat_most = 1", "'fields.d': 'at_least' and 'at_most' are for int and float"),
        (
            "[fields.n]\ntype = 'int'\nat_least = 2\nat_most = 1.5",
            "'fields.n': 'at_least' is more than 'at_most': 2 to 1.5",
        ),
        ("[fields.n]\ntype = 'float'\nat_most = inf", "'fields.n.at_most': must be a finite number"),
        ("[fields.n]\ntype = 'float'\nat_least = nan", "'fields.n.at_least': must be a finite number"),
        ("[fields.n]\ntype = 'float'\nat_least = true", "'fields.n.at_least': must be a number"),
        ("[fields.t]\ntype = 'text'\nunit = 'min'", "'fields.t': 'unit' is for int and float, not text"),
        ("[fields.n]\ntype = 'int'\nunit = ' min'", "'fields.n': 'unit' is ' min'; expected the unit alone"),
        ("[fields.n]\ntype = 'int'\nunit = '7 min'", "'fields.n': 'unit' is '7 min'; expected the unit alone"),
        ("[fields.n]\ntype = 'float'\ntake = 'year'", "'fields.n': 'take' is for int, not float"),
        ("[fields.n]\ntype = 'int'\ntake = 'month'", "'fields.n.take': "),
        ("[fields.t]\ntype = 'text'\ndate_order = 'mdy'", "'fields.t': 'date_order' is for date, not text"),
        ("[fields.d]\ntype = 'date'\ndate_order = 'ymd'", "'fields.d.date_order': "),
        ("[fields.t]\ntype = 'text'\ntemplate = 'a'", "'fields.t': 'template' names no column, as in \"{departure}"),
        ("[fields.t]\ntype = 'text'\ntemplate = '{a'", "'fields.t': 'template' names no column"),
        ("[fields.n]\ntype = 'int'\ntemplate = '{a}'", "'fields.n': 'template' is for text, url, text[] and tag[]"),
        (
            "[fields.t]\ntype = 'text'\npath = 'b'\ntemplate = '{a}'",
            "'fields.t': 'template' takes the place of 'path'; remove one of them",
        ),
        ("[fields.u]\ntype = 'url'\nnames_file = true", "'fields.u': 'names_file' is for text"),
        ("[fields.b]\ntype = 'int'\nrole = 'body'", "'fields.b': role 'body' needs type text, not int"),
        ("[fields.b]\ntype = 'int'\nrole = 'picture'", "'fields.b': role 'picture' needs type text or url, not int"),
        ("[fields.t2]\ntype = 'text'\nrole = 'title'", "role 'title' is on more than one field: title, t2"),
        ("[fields.k]\ntype = 'text'\nkinds = ['albun']", "'fields.k.kinds': no kind 'albun'"),
        ("[relations.r]\nkind = 'x'\nfield = 'title'\nto = 'record'", "'relations.r': no kind 'x'"),
        ("[relations.r]\nkind = 'record'\nfield = 'titel'\nto = 'record'", "'relations.r.field': no field 'titel'"),
        (
            "[relations.r]\nkind = 'record'\nfield = 'year'\nto = 'record'",
            "'relations.r.field': ids are text or text[], not int",
        ),
        (
            "[relations.r]\nkind = 'record'\nfield = 'title'\nto = 'record'\ncopies = 'nmae'",
            "'relations.r.copies': no field 'nmae'",
        ),
        (
            "[relations.r]\nkind = 'record'\nfield = 'title'\nto = 'record'\ncopies = 'title'",
            "'relations.r.copies': titles are copied to a field of type text or text[] that is not itself the title",
        ),
        (
            "[relations.r]\nkind = 'record'\nfield = 'title'\nto = 'record'\ncopies = 'year'",
            "'relations.r.copies': titles are copied to a field of type text or text[]",
        ),
        ("[embed]\ntemplate = '{titel}'", "'embed.template': no field 'titel' (did you mean 'title'?)"),
        ("[embed]\ntemplate = 'title'", "'embed.template': it names no field"),
        ("[embed]\ntemplate = '{title'", "'embed.template': it names no field"),
        ("[preferences.units]\nyaer = ['years']", "'preferences.units': no field 'yaer' (did you mean 'year'?)"),
        (
            "[preferences.choices.from]\nbook = ['novel']",
            "'preferences.choices': no field 'from' (did you mean 'form'?)",
        ),
        ("[preferences.choices.form]\nboook = ['novel']", "'preferences.choices.form': no value 'boook'"),
        (
            "[preferences]\nlength = { field = 'pages', short_at_most = 1, long_at_least = 2 }",
            "'preferences.length.field': no field 'pages'",
        ),
        ("[recommend.related]\nfield = 'x'\npages = 'title'", "'recommend.related.field': no field 'x'"),
        ("[recommend.related]\nfield = 'title'\npages = 'x'", "'recommend.related.pages': no field 'x'"),
        ("[recommend.taxonomy]\nweight = 1\nfields = ['tags']", "'recommend.taxonomy.fields': no field 'tags'"),
        ("[recommend.format]\nweight = 1\nfields = ['x']", "'recommend.format.fields': no field 'x'"),
        ("[recommend.temporal]\nweight = 1\nfield = 'x'", "'recommend.temporal.field': no field 'x'"),
        ("[recommend.popularity]\nweight = 1\nfield = 'x'", "'recommend.popularity.field': no field 'x'"),
    ],
)
def test_a_declaration_without_sense_is_refused_with_the_place(addition: str, problem: str) -> None:
    assert problem in refusal(addition)


def test_in_a_catalogue_that_can_be_edited_relations_have_a_filter_and_may_copy_titles() -> None:
    editable = SMALL.replace('summary = "For tests."', 'summary = "For tests."\neditable = true')
    related = "[fields.of]\ntype = 'text[]'\n{}[fields.names]\ntype = 'text[]'\n[relations.r]\nkind = 'record'\n"
    related += "field = 'of'\nto = 'record'\ncopies = 'names'"
    assert "'relations.r.field': 'of' needs a filter" in refusal(related.format(""), within=editable)
    compile_text(SMALL + related.format(""), origin="test")
    (relation,) = compile_text(editable + related.format("filter = true\n"), origin="test").relations
    assert (relation.field, relation.copies) == ("of", "names")


def test_a_declaration_without_a_title_field_is_refused() -> None:
    assert 'no field has role = "title"' in refusal("", within=SMALL.replace('role = "title"', ""))


def test_every_problem_is_told_at_once() -> None:
    message = refusal("[fields.e]\ntype = 'enum'\nrole = 'body'\n[embed]\ntemplate = '{x}'")
    assert all(part in message for part in ("an enum lists", "role 'body'", "no field 'x'"))


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
def test_a_filter_that_is_just_on_is_of_the_kind_that_suits_the_type(type_: str, kind: FilterKind) -> None:
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
    ("role", "kind"), [("people", "text[]"), ("place", "tag[]"), ("picture", "url"), ("link", "text")]
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
        ("music", "0d310c049873"),
    ],
)
def test_the_digest_of_declarations_without_later_keys_is_what_earlier_versions_wrote(
    package: str, digest: str
) -> None:
    assert PACKAGES.get(package).spec.digest.startswith(digest)


def test_what_is_shown_is_not_indexed_but_names_searched_apart_and_what_is_known_are() -> None:
    plain = SMALL + "[fields.plot]\ntype = 'text'\nsearch = {}\n{}"
    as_ever = compile_text(plain.format("{ fuzzy = true }", ""), origin="test").digest
    assert compile_text(plain.format("{ fuzzy = true }", "shown = false"), origin="test").digest == as_ever
    assert compile_text(plain.format("{ fuzzy = true, as_name = true }", ""), origin="test").digest != as_ever
    known = "[known]\nplot = { weight = 1, full = 100 }"
    assert compile_text(plain.format("{ fuzzy = true }", known), origin="test").digest != as_ever


def test_a_name_that_is_searched_apart_is_no_part_of_the_text() -> None:
    spec = compile_text(SMALL + "[fields.other]\ntype = 'text'\nsearch = { as_name = true }", origin="test")
    assert [field.name for field in spec.fields_searched_as_names] == ["other"]
    assert "other" not in [field.name for field in spec.searched_fields]


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ("[embed]\ntemplate = '{title}'\notherwise = '{plto}'", "'embed.otherwise': no field 'plto'"),
        ("[embed]\ntemplate = '{title}'\notherwise = 'nothing'", "'embed.otherwise': it names no field"),
        ("[search]\nnamed = ['plto']", "'search.named': no field 'plto'"),
        ("[known]\nplto = { weight = 1, full = 1 }", "'known.plto': no field 'plto'"),
        ("[fields.n]\ntype = 'int'\nsearch = { as_name = true }", "'fields.n': a field of type int cannot be searched"),
    ],
)
def test_a_later_key_that_names_nothing_is_refused_with_its_place(declared: str, told: str) -> None:
    with pytest.raises(SpecError, match=re.escape(told)):
        compile_text(SMALL + declared, origin="test")


def test_bounds_and_what_names_a_file_are_checked_and_not_indexed() -> None:
    plain = SMALL + "[fields.n]\ntype = 'int'\n{}[fields.file]\ntype = 'text'\n{}"
    spec = compile_text(plain.format("at_least = -1\nat_most = -1\n", "names_file = true"), origin="test")
    field = spec.fields["n"]
    assert (field.at_least, field.at_most, spec.fields["file"].names_file) == (-1, -1, True)
    assert spec.digest == compile_text(plain.format("", ""), origin="test").digest


def test_a_template_is_split_into_fields_with_the_text_before_each() -> None:
    assert parse_template("{title}. {tags}: {body}!") == (
        TemplatePart(joint="", field="title"),
        TemplatePart(joint=". ", field="tags"),
        TemplatePart(joint=": ", field="body"),
    )
