"""Row A7: preferences in plain English become filters, exclusions and a nudged taste, and say what
was understood.

The sentences and what each must become are in `preferences.toml`, beside this file.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackroom.model.scope import AllOf, AnyOf, Condition, NoneOf, Range
from stackroom.text.preference_pieces import Checks, Leaning, Nudge, PreferenceVocabulary, Tone
from stackroom.text.preferences import Preferences, UnderstoodWords, understand
from support.work import count_calls

TABLES: Final = tomllib.loads(Path(__file__).with_name("preferences.toml").read_text("utf-8"))
SENTENCES, TOLD = TABLES["sentence"], TABLES["understood"]
TAGS: Final = (
    *(
        "sci-fi",
        "slice of life",
        "horror",
        "romance",
        "comedy",
        "ecchi",
        "gore",
        "mecha",
        "harem",
        "isekai",
    ),
    *("mystery", "thriller", "fantasy", "school", "space", "kids"),
)
FOR_KIDS: Final = Tone(
    "for children and families",
    Leaning("tags", meant=("kids",), away=("thriller",), never=("gore", "horror")),
)
DARK: Final = Tone(
    "dark, grim and serious", Leaning("tags", near=("horror", "thriller"), away=("comedy",))
)
ANIME: Final = PreferenceVocabulary(
    time_field="year",
    units={
        **dict.fromkeys(("episode", "episodes", "ep", "eps"), "episodes"),
        **dict.fromkeys(("minute", "minutes"), "duration"),
    },
    multiples=dict.fromkeys(("cour", "cours"), ("episodes", 13)),
    choices={
        **dict.fromkeys(("movie", "movies", "film", "films"), ("type", "MOVIE")),
        **dict.fromkeys(("tv", "series", "tv series"), ("type", "TV")),
        **dict.fromkeys(("ova", "ovas"), ("type", "OVA")),
        **dict.fromkeys(("finished", "completed"), ("status", "FINISHED")),
    },
    seasons={
        "spring": ("season", "SPRING"),
        "summer": ("season", "SUMMER"),
        **dict.fromkeys(("fall", "autumn"), ("season", "FALL")),
    },
    tags={**{tag: tag for tag in TAGS}, "scifi": "sci-fi", "high school": "school"},
    tag_field="tags",
    moods={
        **dict.fromkeys(("for kids", "for children", "family-friendly"), FOR_KIDS),
        **dict.fromkeys(("dark", "darker"), DARK),
        **dict.fromkeys(
            ("in space", "set in space"), Tone("set in space", Leaning("tags", meant=("space",)))
        ),
    },
    fillers=frozenset(("anime", "animes")),
    unchecked=frozenset(
        ("great soundtrack", "good animation", "great animation", "filler", "subtitles")
    ),
    long_field=("episodes", 13, 40),
    totals=dict.fromkeys(("hour", "hours"), ("episodes × duration", 60)),
    lengths=dict.fromkeys(("episode", "episodes"), ("duration", 15, 40)),
    this_year=2026,
)
MUSIC: Final = PreferenceVocabulary(
    time_field="released",
    units={"bpm": "tempo"},
    choices={"live": ("kind", "live"), "studio album": ("kind", "album")},
    tags={"drum & bass": "drum and bass", "r&b": "r&b", "jazz": "jazz"},
    tag_field="genre",
)
FRAGMENTS: Final = (
    *(
        "not",
        "no",
        "without",
        "less",
        "only",
        "must have",
        "like",
        "similar to",
        "but",
        "and",
        "or",
        ",",
        ".",
        ";",
    ),
    *(
        "horror",
        "comedy",
        "movie",
        "dark",
        "short",
        "recent",
        "in",
        "with",
        "about",
        "set in",
        "zorbly",
        "the",
        "more",
    ),
    *(
        "after 2015",
        "2005-2010",
        "the 90s",
        "under 13 episodes",
        "at least 24",
        "last three years",
        "between",
        "12",
    ),
    *(
        '"',
        "'",
        "’",
        "🙂",
        "\0",
        "\n",
        "İ",
        "99999999999999999999",
        "-",
        "–",
        "<=",
        "non-",
        "'80s",
        "one",
        "cour",
    ),
)
HARD_SENTENCES: Final = (
    *(
        "a ",
        "q ",
        "12 ",
        "not ",
        "like ",
        "I like ",
        "with zorb and ",
        "no horror, ",
        "after  2015 ",
        "one or ",
    ),
    *(
        " ",
        "'",
        '"',
        "-",
        ",",
        ".,/",
        "x",
        "x-",
        "🙂",
        "\0",
        "between 2010 and ",
        "the last ",
        "only comedy or ",
    ),
)

MOST_CALLS: Final = 100_000


def condition(written: Mapping[str, Any]) -> Condition:
    """Return the condition that a table of the file spells."""
    if "range" in written:
        return Range(written["range"], written.get("at_least"), written.get("at_most"))
    kinds = {"any": AnyOf, "all": AllOf, "none": NoneOf}
    name = next(name for name in kinds if name in written)
    made: Condition = kinds[name](written[name], tuple(written["of"]))
    return made


@pytest.mark.parametrize("sentence", SENTENCES, ids=[sentence["say"] for sentence in SENTENCES])
def test_a_sentence_becomes_exactly_what_the_table_says(sentence: Mapping[str, Any]) -> None:
    preferences = understand(sentence["say"], ANIME)
    assert preferences.conditions == tuple(condition(written) for written in sentence["conditions"])
    for key in ("towards", "away_from", "like", "unlike", "not_understood"):
        if key in sentence:
            assert getattr(preferences, key) == tuple(sentence[key]), key


@pytest.mark.parametrize("told", TOLD, ids=[told["say"] for told in TOLD])
def test_what_was_understood_is_told_in_the_words_of_the_sentence(told: Mapping[str, Any]) -> None:
    assert understand(told["say"], ANIME).understood == tuple(
        UnderstoodWords(*words) for words in told["words"]
    )


@pytest.mark.parametrize(
    ("sentence", "wishes"),
    [
        ("more comedy", [Nudge("towards", "comedy", Checks(field="tags", sought=("comedy",)))]),
        ("less horror", [Nudge("away from", "horror", Checks(field="tags", avoided=("horror",)))]),
        (
            "darker",
            [
                Nudge(
                    "towards",
                    DARK.phrase,
                    Checks(field="tags", near=("horror", "thriller"), disliked=("comedy",)),
                )
            ],
        ),
        (
            "not too dark",
            [
                Nudge(
                    "away from", DARK.phrase, Checks(field="tags", disliked=("horror", "thriller"))
                )
            ],
        ),
        (
            "set in a high school",
            [Nudge("towards", "set in high school", Checks(field="tags", sought=("school",)))],
        ),
        (
            "about a horror carnival",
            [Nudge("towards", "horror carnival", Checks(field="tags", near=("horror",)))],
        ),
        ("fewer movies", [Nudge("away from", "movie", Checks(field="type", avoided=("MOVIE",)))]),
        ("bittersweet", [Nudge("towards", "bittersweet and nostalgic")]),
    ],
)
def test_a_wish_names_the_values_by_which_the_catalogue_can_check_it(
    sentence: str, wishes: Sequence[Nudge]
) -> None:
    assert understand(sentence, ANIME).wishes == tuple(wishes)


@pytest.mark.row("A7")
def test_a_limit_on_a_field_that_no_record_has_is_not_understood() -> None:
    bare = replace(ANIME, empty_fields=frozenset({"duration"}))
    for sentence in ("short episodes", "under 30 minutes"):
        preferences = understand(sentence, bare)
        assert preferences.conditions == ()
        assert preferences.not_understood == (sentence,)


def test_what_only_a_description_can_honour_is_marked() -> None:
    said = understand("bittersweet, darker, post-2020", ANIME).understood
    assert [one.by_vector for one in said] == [True, False, False]


def test_conditions_come_in_the_order_in_which_they_were_said() -> None:
    conditions = understand(
        "not horror, a movie, under 90 minutes, after 2015, no gore", ANIME
    ).conditions
    assert [type(one) for one in conditions] == [NoneOf, AnyOf, Range, Range]
    assert conditions[0] == NoneOf("tags", ("horror", "gore"))


def test_another_catalogue_is_understood_by_its_own_vocabulary() -> None:
    preferences = understand(
        "live jazz from the 60s, at least 120 bpm, no drum & bass, no R&B", MUSIC
    )
    assert preferences.conditions == (
        AnyOf("kind", ("live",)),
        Range("released", 1960, 1969),
        Range("tempo", at_least=120),
        NoneOf("genre", ("drum and bass", "r&b")),
    )
    assert preferences.towards == ("jazz",)
    assert [one.meaning for one in preferences.understood][-2:] == [
        "not tagged drum and bass",
        "not tagged r&b",
    ]


def test_a_catalogue_that_names_no_fields_reports_what_it_cannot_filter_by() -> None:
    preferences = understand("after 2015, under 13 episodes, short, darker", PreferenceVocabulary())
    assert preferences.conditions == ()
    assert preferences.towards == ("dark, grim and serious",)
    assert preferences.not_understood == ("after 2015", "under 13 episodes", "short")


def test_a_catalogue_without_tags_to_filter_by_is_only_pushed_away_from_them() -> None:
    vocabulary = PreferenceVocabulary(tags={"horror": "horror", "comedy": "comedy"})
    preferences = understand("not horror, must be comedy", vocabulary)
    assert (preferences.conditions, preferences.towards, preferences.away_from) == (
        (),
        ("comedy",),
        ("horror",),
    )


def test_the_year_that_recent_counts_from_is_given_by_the_caller() -> None:
    vocabulary = PreferenceVocabulary(time_field="year", this_year=2000)
    assert understand("recent", vocabulary).conditions == (Range("year", at_least=1995),)


def test_what_comes_after_two_thousand_characters_is_not_read() -> None:
    assert understand(" " * 2_000 + "not horror", ANIME) == Preferences()


@settings(deadline=None)
@given(
    st.one_of(
        st.text(max_size=300), st.lists(st.sampled_from(FRAGMENTS), max_size=40).map(" ".join)
    )
)
def test_any_text_is_answered_in_words_that_it_contains(sentence: str) -> None:
    preferences = understand(sentence, ANIME)
    for words in (*(one.text for one in preferences.understood), *preferences.not_understood):
        assert words
        assert words in sentence


@settings(deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=40).map(" ".join))
def test_there_is_never_more_than_one_condition_of_a_kind_on_a_field(sentence: str) -> None:
    conditions = understand(sentence, ANIME).conditions
    assert len({(type(one), one.field) for one in conditions}) == len(conditions)


@pytest.mark.parametrize("unit", HARD_SENTENCES)
def test_ten_thousand_characters_made_to_be_slow_are_understood_with_little_work(unit: str) -> None:
    sentence = (unit * 10_000)[:10_000]
    assert count_calls(lambda: understand(sentence, ANIME)) < MOST_CALLS


def test_a_word_for_a_fixed_number_is_the_catalogue_s_own() -> None:
    vocabulary = PreferenceVocabulary(multiples={"dozen": ("eggs", 12)})
    assert understand("two dozen", vocabulary).conditions == (Range("eggs", 13, 24),)
    assert understand("two cours", vocabulary).conditions == ()
