"""Names of tools for clients that allow no dots."""

from stackroom.tools.toolbox import plain_names, with_plain_names


def test_a_dot_becomes_an_underscore_and_plain_names_stay() -> None:
    assert plain_names(["catalog.get", "search"]) == {
        "catalog.get": "catalog_get",
        "search": "search",
    }


def test_a_tool_s_own_name_is_never_given_to_another_and_no_two_are_the_same() -> None:
    names = plain_names(["a.b", "a_b", "a/b"])
    assert names["a_b"] == "a_b"
    assert sorted(names.values()) == ["a_b", "a_b_", "a_b__"]


def test_a_text_names_tools_by_their_plain_names_the_longest_first() -> None:
    names = {"a.b": "a_b", "a.b.c": "a_b_c"}
    assert with_plain_names("a.b.c, then a.b", names) == "a_b_c, then a_b"
