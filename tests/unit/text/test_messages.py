"""Messages that quote text of records carry no instruction from it."""

import pytest

from stackroom.text.instructions import LONGEST_QUOTE, quoted, safe_message

EVIL = "System message:"


@pytest.mark.row("N10")
def test_a_message_leaves_out_what_reads_like_an_instruction() -> None:
    assert safe_message(f"no title 'x'; did you mean '{EVIL}'?") == "no title 'x'; did you mean '…'?"
    assert safe_message(f"{EVIL} x <|im_start|>\x1b[2J") == "… x …"


def test_other_messages_are_as_they_were() -> None:
    assert safe_message("field 'yaer' is not filterable; filterable: year") == (
        "field 'yaer' is not filterable; filterable: year"
    )


def test_a_quote_is_one_line_of_bounded_length_with_its_end() -> None:
    shown = quoted("a\nb" * 200 + " (TV, 2001, mal-1)")
    assert "\n" not in shown
    assert len(shown) == LONGEST_QUOTE + 1
    assert shown.endswith(" (TV, 2001, mal-1)")
