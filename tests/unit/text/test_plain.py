"""The words of a Markdown text."""

import pytest

from stackroom.text.chunks import MeasuredText
from stackroom.text.normalise import plain_text

pytestmark = pytest.mark.row("T10")


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("See [the *policy*](../a_(b).md#x) first.", "See the policy first."),
        ('![A cat](https://example.org/cat.png "Tom") sleeps', "A cat sleeps"),
        ("At https://example.org/a/b?c=d or <https://example.org>.", "At or ."),
        ('<div class="x">Two<br/>lines</div> of Vec<String>', "Two lines of Vec<String>"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "a b 1 2"),
        ("# Title\n\nC# is a language", "Title C# is a language"),
        (
            "## Heading\n\n**bold** and `code`, 3 - 2 = 1, snake_case",
            "Heading bold and `code`, 3 - 2 = 1, snake_case",
        ),
        ("<!-- hidden -->shown", "shown"),
    ],
)
def test_addresses_tags_and_signs_of_markup_are_no_words(written: str, words: str) -> None:
    assert plain_text(written) == words


def test_only_words_count_in_the_length_of_a_text() -> None:
    text = "[Read](https://example.org/a/very/long/address/of/a/page-with-many-words) it."
    assert MeasuredText(text).tokens(0, len(text)) == 4
