"""Markup other than Markdown: headings and code become those of Markdown, and lines keep their numbers."""

import pytest

from pinakes.errors import InputError
from pinakes.sources.extract import Extracted, extract
from pinakes.text.chunks import split_passages

pytestmark = pytest.mark.row("T10")


def read(text: str, file_format: str) -> Extracted:
    found = extract(text.encode(), file_format)
    assert found.text.count("\n") == text.count("\n")
    return found


def headings(found: Extracted) -> list[tuple[str, ...]]:
    return [passage.headings for passage in split_passages(found.text)]


def lines(found: Extracted) -> list[str]:
    return [line.strip() for line in found.text.split("\n") if line.strip()]


def test_mdx_is_markdown_without_imports_exports_and_tags() -> None:
    found = read(
        "---\ntitle: Pay\ntags: [money]\n---\n\n"
        "import { Callout } from '../components/Callout'\nimport Box from 'box'\n\n"
        "export const meta = {\n  author: 'x',\n}\n\n# Salary\n\n"
        '{/* not yet\nthis */}\n<Callout title="Raises" type={warning}>\nYou get one in **May**.\n</Callout>\n\n'
        "import duties are paid by us.\n\n```jsx\nimport x from 'y'\n<Kept />\n```\n",
        "mdx",
    )
    assert (found.title, found.tags) == ("Pay", ("money",))
    assert lines(found) == [
        *("# Salary", "Raises", "You get one in **May**.", "import duties are paid by us."),
        *("```jsx", "import x from 'y'", "<Kept />", "```"),
    ]


def test_the_headings_of_restructuredtext_have_the_levels_of_their_underlines() -> None:
    found = read(
        "=====\nGuide\n=====\n\n.. _start:\n\nStart\n-----\n\nRun it::\n\n   # a comment\n\n"
        ".. code-block:: sh\n\n    run\n\nMore\n~~~~\n\nText.\n\nEnd\n---\n\nLast.\n",
        "rst",
    )
    assert [line for line in lines(found) if line.startswith("#")] == ["# Guide", "## Start", "### More", "## End"]
    assert ".. _start:" not in found.text
    assert headings(found)[-1] == ("Guide", "End")


def test_rules_and_tables_of_restructuredtext_are_no_headings() -> None:
    found = read("First.\n\n----\n\nSecond.\n\n====  ====\na     b\n====  ====\n1     2\n====  ====\n", "rst")
    assert headings(found) == [()]


def test_org_has_headings_code_a_title_and_tags_and_no_comments() -> None:
    found = read(
        "#+TITLE: Garden\n#+FILETAGS: :plants:home:\n# a comment\n\n* TODO Water :daily:\n:PROPERTIES:\n:ID: 7\n:END:\n"
        "Every morning.\n\n** Roses\n#+BEGIN_SRC sh\n# echo\n#+END_SRC\n",
        "org",
    )
    assert (found.title, found.tags) == ("Garden", ("plants", "home"))
    assert lines(found) == ["# Water", "Every morning.", "## Roses", "```", "# echo", "```"]


def test_asciidoc_has_headings_and_code() -> None:
    found = read(
        "= Manual\n:toc:\n\n// a comment\n== Install ==\n\n[source,sh]\n----\n== not a heading\n....\n----\n\n"
        "|===\n|a |b\n|===\n\n=== Linux\n\nText.\n",
        "asciidoc",
    )
    assert lines(found) == [
        *("# Manual", "## Install", "```", "== not a heading", "....", "```", "|a |b", "### Linux", "Text."),
    ]


def test_latex_has_headings_and_the_words_in_commands() -> None:
    found = read(
        "\\documentclass{article}\n\\title{On \\LaTeX}\n\\begin{document}\n\\maketitle\n\\section{Intro}\\label{a}\n"
        "A \\emph{very \\textbf{bold}} claim\\cite{x}. % a note\n"
        "\\begin{itemize}\n\\item 5\\,\\% of it\n\\end{itemize}\n"
        "\\end{document}\n",
        "latex",
    )
    assert lines(found) == ["## Intro", "A very bold claim.", "-  5\\,% of it"]


def test_rtf_is_its_paragraphs_without_fonts_and_pictures() -> None:
    found = extract(
        rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}{\*\generator Word}{\info{\title T}}"
        rb"\f0\fs24 The caf\'e9 costs \u8364?5 \{net\}.\par"
        b"\n"
        rb"\b Second\b0  line\emdash here.\par{\pict 89504e47}\uc2\u12354\'82\'a0!}",
        "rtf",
    )
    assert found.text == "The café costs €5 {net}.\n\nSecond line—here.\n\nあ!\n"
    with pytest.raises(InputError, match="not an RTF file"):
        extract(b"plain words", "rtf")


JAPANESE = "お問い合わせは人事部までお願いします。\r\n休暇は年に二十日です。"


@pytest.mark.parametrize("encoding", ["shift_jis", "cp932", "euc_jp", "iso2022_jp", "utf-8", "utf-16"])
def test_japanese_is_read_in_the_encodings_that_files_are_in(encoding: str) -> None:
    assert extract(JAPANESE.encode(encoding), "text").text == JAPANESE.replace("\r\n", "\n")


@pytest.mark.parametrize(
    "text",
    [
        "Größe, Maße und Gewicht: 100 µm ± 5 %",
        "Où est le café? C’est là-bas, près de l’hôtel.",
        "ÄÖÜß",
        "¡Señor! ¿Qué pasó con el niño?",
    ],
)
def test_western_european_text_is_not_taken_for_japanese(text: str) -> None:
    assert extract(text.encode("cp1252"), "text").text == text


@pytest.mark.parametrize(
    ("text", "encoding"), [("Отпуск согласуется с руководителем.", "cp1251"), ("假期需要经理批准。", "gb18030")]
)
def test_text_of_an_unknown_encoding_is_refused(text: str, encoding: str) -> None:
    with pytest.raises(InputError, match="not UTF-8, and its encoding is not known"):
        extract(text.encode(encoding), "text")
