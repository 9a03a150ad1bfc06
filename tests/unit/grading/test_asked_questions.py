"""Questions in plain words of `benchmarks/`: asked of every surface, and judged by the records."""

from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from benchmarks.asked_questions import (
    Verdict,
    ask_plain_questions,
    build_surfaces,
    load_plain_questions,
)

from stackroom.assembly.app import App
from stackroom.settings import Settings

QUESTIONS = """catalogue = "anime"
questions = [{query = "Cowboy Bebop", kind = "names", first = ["mal-1"], filters = {year = 1998}},
             {query = "Cowboy Bebop", exclude = {type = ["TV"]}}, {query = "zzyzx", none = true}]"""


@pytest.mark.row("N2")
def test_questions_in_plain_words_are_asked_of_every_surface_and_judged(
    plain_home: Path, tmp_path: Path
) -> None:
    (tmp_path / "anime.toml").write_text(QUESTIONS, encoding="utf-8")
    (asked,) = load_plain_questions(tmp_path)
    with closing(App(Settings(home=plain_home))) as app:
        judged = list(ask_plain_questions(app, asked, build_surfaces(app, "anime")))
    assert {one.surface for one in judged} == {"search", "search_anime", "terminal"}
    assert {one.verdict for one in judged if one.kind == "names"} == {Verdict.RIGHT}
    assert Counter(one.verdict for one in judged) == {Verdict.RIGHT: 6, Verdict.WRONG: 3}
    assert {one.query for one in judged if one.contradictions} == {"Cowboy Bebop"}
    assert sum(bool(one.contradictions) for one in judged) == 3
