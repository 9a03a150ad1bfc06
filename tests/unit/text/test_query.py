"""A query's words into weighted terms."""

from stackroom.text.analyser import MAX_CHARS, MAX_TERMS, SYNONYM_WEIGHT, analyse_query

SYNONYMS = {"mecha": ("giant robot",), "giant robot": ("mecha",), "sci-fi": ("science fiction",)}


def terms(text: str) -> dict[str, float]:
    return dict(analyse_query(text, synonyms={}).terms)


def test_function_words_are_dropped() -> None:
    assert terms("what's a film about the robots of the sea") == {"film": 1.0, "robot": 1.0, "sea": 1.0}


def test_function_words_are_kept_when_there_is_nothing_else() -> None:
    assert set(terms("what if")) == {"what", "if"}
    assert set(terms("Now and Then")) == {"now", "and", "then"}


def test_a_repeated_word_weighs_more() -> None:
    assert terms("dragon dragons robot") == {"dragon": 2.0, "robot": 1.0}


def test_terms_keep_the_order_of_the_words() -> None:
    assert list(terms("zebra apple mango")) == ["zebra", "appl", "mango"]


def test_only_the_first_two_thousand_characters_are_read() -> None:
    assert "needl" not in terms("x" * MAX_CHARS + " needle")
    assert "needl" in terms("x" * (MAX_CHARS - 10) + " needle")


def test_at_most_sixty_four_terms_are_asked_for() -> None:
    many = analyse_query(" ".join(f"word{number}" for number in range(200)), synonyms=SYNONYMS)
    assert len(many.terms) == MAX_TERMS
    assert many.terms[0] == ("word0", 1.0)


def test_synonyms_are_added_with_less_weight() -> None:
    found = dict(analyse_query("mecha", synonyms=SYNONYMS).terms)
    assert found == {"mecha": 1.0, "giant": SYNONYM_WEIGHT, "robot": SYNONYM_WEIGHT}


def test_a_synonym_of_two_words_is_seen_in_the_query() -> None:
    assert ("mecha", SYNONYM_WEIGHT) in analyse_query("a Giant Robot story", synonyms=SYNONYMS).terms


def test_punctuation_does_not_hide_a_synonym() -> None:
    assert ("scienc", SYNONYM_WEIGHT) in analyse_query("drama, sci-fi!", synonyms=SYNONYMS).terms


def test_a_word_that_was_written_keeps_its_weight_when_it_is_also_a_synonym() -> None:
    assert dict(analyse_query("mecha robot", synonyms=SYNONYMS).terms)["robot"] == 1.0


def test_text_without_words_asks_for_nothing() -> None:
    assert analyse_query(" \x00 ?! ", synonyms=SYNONYMS).terms == ()
