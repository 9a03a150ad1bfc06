"""Rows from folders of Markdown, text, HTML, PDF and DOCX: text when it is asked for, reasons where
there is none.
"""

import hashlib
import io
import os
import sys
import zipfile
from pathlib import Path

import pypdf
import pytest
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from stackroom.errors import InputError
from stackroom.sources import folder_rows
from stackroom.sources.folder_rows import FolderRows
from stackroom.sources.port import SourceRow

pytestmark = pytest.mark.row("T10")

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
LATEST_DATE = 1_700_000_000


def make_pdf(*pages: str, password: str = "", title: str = "") -> bytes:
    writer = pypdf.PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in pages:
        page = writer.add_blank_page(width=300, height=300)
        shown = DecodedStreamObject()
        shown.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode())
        fonts = DictionaryObject({NameObject("/F1"): font})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        page[NameObject("/Contents")] = writer._add_object(shown)
    if title:
        writer.add_metadata({"/Title": title})
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def make_docx(body: str, *, styles: str = "", title: str = "") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(
            "word/document.xml", f"<w:document {W}><w:body>{body}</w:body></w:document>"
        )
        if styles:
            archive.writestr("word/styles.xml", f"<w:styles {W}>{styles}</w:styles>")
        if title:
            dc = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
            archive.writestr("docProps/core.xml", f"<c {dc}><dc:title>{title}</dc:title></c>")
    return file.getvalue()


def paragraph(text: str, *, style: str = "", more: str = "") -> str:
    styled = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{styled}{more}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def rows(folder: Path) -> list[SourceRow]:
    return list(FolderRows(folder).iter_rows())


def only(folder: Path, name: str, content: str | bytes) -> SourceRow:
    write(folder, name, content)
    (row,) = rows(folder)
    return row


def reason(row: SourceRow) -> str:
    with pytest.raises(InputError) as refused:
        dict(row.values)
    return refused.value.message


def test_a_row_has_the_file_and_what_it_says(tmp_path: Path) -> None:
    path = write(tmp_path, "recipes/bread.md", "# Bread\n\nFlour and water.\n")
    os.utime(path, (LATEST_DATE, LATEST_DATE))
    (row,) = rows(tmp_path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert (row.place, row.digest, row.problem) == ("recipes/bread.md", digest, None)
    assert row.values == {
        "path": "recipes/bread.md",
        "text": "# Bread\n\nFlour and water.\n",
        "format": "markdown",
        "modified": "2023-11-14",
        "checksum": digest,
    }


def test_a_file_of_a_time_that_no_calendar_has_is_read_without_a_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Calendar:
        @staticmethod
        def fromtimestamp(_modified_at: float, _zone: object) -> None:
            raise ValueError("year 33658 is out of range")

    monkeypatch.setattr(folder_rows, "datetime", Calendar)
    row = only(tmp_path, "a.md", "text")
    assert (row.problem, row.values["text"], "modified" in row.values) == (None, "text", False)


def test_files_come_in_order_and_what_is_hidden_junk_or_of_another_kind_does_not(
    tmp_path: Path,
) -> None:
    for name in (
        "b.txt",
        "a/z.md",
        "a/B.HTML",
        ".git/x.md",
        ".hidden.md",
        "node_modules/p/readme.md",
        "photo.jpg",
    ):
        write(tmp_path, name, "text")
    write(tmp_path, "~$letter.docx", "lock")
    source = FolderRows(tmp_path)
    assert [row.place for row in source.iter_rows()] == ["b.txt", "a/B.HTML", "a/z.md"]
    assert [row.place for row in source.iter_rows(start=2)] == ["a/z.md"]
    assert source.count_rows() == 3
    assert source.is_whole
    assert source.name == str(tmp_path)


def test_links_to_folders_are_not_followed_so_a_loop_ends(tmp_path: Path) -> None:
    write(tmp_path, "a/one.md", "text")
    (tmp_path / "a" / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "self.md").symlink_to(tmp_path / "self.md")
    (tmp_path / "gone.md").symlink_to(tmp_path / "nothing.md")
    (tmp_path / "linked.md").symlink_to(tmp_path / "a" / "one.md")
    assert [row.place for row in rows(tmp_path)] == ["linked.md", "a/one.md"]


def test_a_link_that_leads_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    secret = write(tmp_path, "secret.md", "not yours")
    write(tmp_path, "shared/a/one.md", "text")
    (tmp_path / "shared" / "out.md").symlink_to(secret)
    (tmp_path / "shared" / "within.md").symlink_to("a/one.md")
    (tmp_path / "door").symlink_to(tmp_path / "shared", target_is_directory=True)
    for folder in ("shared", "door"):
        found = {row.place: row for row in rows(tmp_path / folder)}
        assert {place: row.problem for place, row in found.items()} == {
            "out.md": "a symbolic link that leads out of the folder",
            "within.md": None,
            "a/one.md": None,
        }
        assert not found["out.md"].values
        assert found["within.md"].values["text"] == "text"


def test_a_link_to_where_nobody_may_look_is_refused_and_does_not_stop_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "notes/one.md", "text")
    (tmp_path / "notes" / "out.md").symlink_to(tmp_path / "locked" / "out.md")
    is_file = Path.is_file

    def look(path: Path) -> bool:
        if path.name == "out.md":
            raise PermissionError(13, "Permission denied")
        return is_file(path)

    monkeypatch.setattr(Path, "is_file", look)
    found = [(row.place, row.problem) for row in rows(tmp_path / "notes")]
    assert found == [("one.md", None), ("out.md", "a symbolic link that leads out of the folder")]


def test_a_place_without_a_file_that_is_read_is_refused_with_the_kinds(tmp_path: Path) -> None:
    write(tmp_path, "photo.jpg", "x")
    with pytest.raises(InputError, match=r"\.md.*\.pdf.*\.docx"):
        FolderRows(tmp_path)
    with pytest.raises(InputError, match="no such file or folder"):
        FolderRows(tmp_path / "nothing")


def test_a_file_that_is_too_large_or_cannot_be_opened_comes_with_its_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "large.txt", "x" * 2_000_000)
    write(tmp_path, "small.txt", "x")
    monkeypatch.setattr(folder_rows, "MOST_BYTES", 1_000_000)
    large, small = rows(tmp_path)
    assert large.problem == "the file has 2 MB; the limit is 1 MB"
    assert small.problem is None


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="everything can be read here"
)
def test_a_folder_that_cannot_be_looked_into_ends_it_lest_its_files_be_taken_for_gone(
    tmp_path: Path,
) -> None:
    write(tmp_path, "a.md", "text")
    write(tmp_path, "locked/b.md", "text")
    (tmp_path / "locked").chmod(0)
    try:
        with pytest.raises(InputError, match="cannot be read"):
            rows(tmp_path)
    finally:
        (tmp_path / "locked").chmod(0o700)


def test_front_matter_gives_title_and_tags_and_every_line_keeps_its_number(tmp_path: Path) -> None:
    text = (
        "---\ntitle: \"On bread\"  \ntags: [baking, 'slow food']\nother:\n  deep: 1\n---\n\n#"
        " Bread\n"
    )
    values = only(tmp_path, "a.md", text).values
    assert (values["title"], values["tags"]) == ("On bread", ["baking", "slow food"])
    assert values["text"].split("\n") == ["", "", "", "", "", "", "", "# Bread", ""]


@pytest.mark.parametrize(
    ("stated", "title", "tags"),
    [
        *(
            (f"title: {mark}\n  On\n  bread\ntags: [one]", None, ["one"])
            for mark in (">", "|", ">-", "|2 # so")
        ),
        ("tags:\n  - one\n  - two # the second\ntitle: x", "x", ["one", "two"]),
    ],
)
def test_tags_may_be_a_list_of_items_and_a_value_over_several_lines_is_left_out(
    tmp_path: Path, stated: str, title: str | None, tags: list[str]
) -> None:
    values = only(tmp_path, "a.md", f"---\n{stated}\n---\ntext").values
    assert (values.get("title"), values["tags"]) == (title, tags)


@pytest.mark.parametrize(
    "text", ["---\n\nA rule, and prose.\n\n---\n\nmore", "---\nnever closed: x\n\ntext"]
)
def test_a_rule_at_the_beginning_is_no_front_matter(tmp_path: Path, text: str) -> None:
    assert only(tmp_path, "a.md", text).values["text"] == text


@pytest.mark.parametrize(
    "content",
    [
        "Käse – “gut”\nline".encode(),
        b"\xef\xbb\xbf" + "Käse – “gut”\nline".encode(),
        "Käse – “gut”\r\nline".encode("utf-16"),
        "Käse – “gut”\rline".encode("cp1252"),
    ],
)
def test_text_is_read_in_the_encodings_that_files_are_in(tmp_path: Path, content: bytes) -> None:
    assert only(tmp_path, "a.txt", content).values["text"] == "Käse – “gut”\nline"


def test_bytes_that_are_no_text_and_files_with_nothing_in_them_are_refused(tmp_path: Path) -> None:
    assert "not a text file" in reason(only(tmp_path, "a.txt", b"\x00\x01\x02"))
    assert "the file has no text" in reason(only(tmp_path, "a.txt", b" \n\n"))


def test_html_becomes_text_with_headings_lists_tables_and_code(tmp_path: Path) -> None:
    page = """<html><head><title>A &amp; B</title><style>p {}</style></head><body>
        <nav><a>Menu</a></nav><h1>Big <em>one</em></h1><p>First
        part.</p><ul><li>one<li><p>two</p></ul>
        <table><tr><th>a<th>b</th></tr><tr><td><p>1</p></td><td>2<br>3</td></tr></table>
        <pre># code
  indented</pre><h3>Deep</h3>last<script>alert("x")</script></body></html>"""
    values = only(tmp_path, "a.html", page).values
    assert (values["title"], values["format"]) == ("A & B", "html")
    assert (
        values["text"]
        == "# Big one\n\nFirst part.\n\n- one\n- two\n\n| a | b |\n| 1 | 2 3 |\n\n```\n# code\n "
        " indented\n```\n\n### Deep\n\nlast\n"
    )


def test_html_is_read_in_the_encoding_that_it_declares(tmp_path: Path) -> None:
    page = '<meta charset="shift_jis"><p>日本語</p>'.encode("shift_jis")
    assert only(tmp_path, "a.html", page).values["text"] == "日本語\n"


@pytest.mark.parametrize("declared", ["undefined", "hex", "no-such-encoding"])
def test_html_that_declares_what_is_no_encoding_is_read_all_the_same(
    tmp_path: Path, declared: str
) -> None:
    page = f'<meta charset="{declared}"><p>Käse</p>'.encode("cp1252")
    assert only(tmp_path, "a.html", page).values["text"] == "Käse\n"


@pytest.mark.parametrize(
    "malformed", ["<![ x ]>", "<![no such[x]]>", "<![if !IE]>", "<![CDATA[x]]>"]
)
def test_malformed_sections_of_html_are_passed_over(tmp_path: Path, malformed: str) -> None:
    assert (
        only(tmp_path, "a.html", f"<p>one</p>{malformed}<p>two</p>").values["text"]
        == "one\n\ntwo\n"
    )


def test_a_pdf_is_read_page_by_page(tmp_path: Path) -> None:
    values = only(
        tmp_path, "a.pdf", make_pdf("First page", "Second page", title="The paper")
    ).values
    assert values["text"].split("\n\f") == ["First page", "Second page"]
    assert (values["title"], values["format"]) == ("The paper", "pdf")
    by_program = make_pdf("text", title="Microsoft Word - x.doc")
    assert "title" not in only(tmp_path, "a.pdf", by_program).values


def test_a_pdf_that_is_locked_damaged_or_has_pictures_only_is_refused(tmp_path: Path) -> None:
    assert "encrypted" in reason(only(tmp_path, "a.pdf", make_pdf("secret", password="secret")))
    assert "has images and no text" in reason(only(tmp_path, "a.pdf", make_pdf("")))
    whole = make_pdf("text")
    for content in (
        b"",
        b"hello",
        whole[:200],
        whole.replace(b"/Pages", b"/Pogos"),
        bytes(reversed(whole)),
    ):
        assert "PDF" in reason(only(tmp_path, "a.pdf", content)) or "no text" in reason(
            rows(tmp_path)[0]
        )


def test_a_docx_becomes_text_with_headings_lists_and_tables(tmp_path: Path) -> None:
    item = '<w:numPr><w:ilvl w:val="0"/></w:numPr>'
    cells = "".join(f"<w:tc>{paragraph(text)}</w:tc>" for text in ("a", "b"))
    body = (
        paragraph("The title", style="Title")
        + paragraph("Say &amp; do.")
        + paragraph("Chapter", style="Heading2")
        + paragraph("Kapitel", style="berschrift3")
        + paragraph("one", more=item)
        + paragraph("two", more=item)
        + f"<w:tbl><w:tr>{cells}</w:tr></w:tbl>"
        + "<w:p><w:r><w:t>left</w:t><w:tab/><w:t>right</w:t><w:br/><w:t>below</w:t></w:r></w:p>"
        + "<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>"
        + f"<w:sdt><w:sdtContent>{paragraph('controlled')}</w:sdtContent></w:sdt>"
    )
    styles = '<w:style w:styleId="berschrift3"><w:name w:val="heading 3"/></w:style>'
    values = only(tmp_path, "a.docx", make_docx(body, styles=styles, title="Core")).values
    assert (values["title"], values["format"]) == ("Core", "docx")
    assert values["text"] == (
        "# The title\n\nSay & do.\n\n## Chapter\n\n### Kapitel\n\n- one\n- two\n\n| a | b |\n\n"
        "left\tright\nbelow\n\ncontrolled\n"
    )


def test_a_table_within_a_cell_is_read_once(tmp_path: Path) -> None:
    cells = f"<w:tc>{paragraph('in')}</w:tc><w:tc>{paragraph('side')}</w:tc>"
    inner = f"<w:tbl><w:tr>{cells}</w:tr></w:tbl>"
    row = f"<w:tr><w:tc>{paragraph('out')}{inner}</w:tc><w:tc>{paragraph('next')}</w:tc></w:tr>"
    controlled = f"<w:sdt><w:sdtContent>{row}</w:sdtContent></w:sdt>"
    text = only(tmp_path, "a.docx", make_docx(f"<w:tbl>{row}{controlled}</w:tbl>")).values["text"]
    assert text == "| out in side | next |\n| out in side | next |\n"


@pytest.mark.parametrize("depth", [3_000, 20_000])
def test_a_docx_of_parts_within_parts_without_end_is_refused(tmp_path: Path, depth: int) -> None:
    deep = "<w:r>" * depth + "</w:r>" * depth
    refusal = reason(only(tmp_path, "a.docx", make_docx(f"<w:p>{deep}</w:p>")))
    assert (
        refusal == "not a readable DOCX: its elements are nested too deeply; save it as plain text"
    )


def test_a_docx_that_is_damaged_or_is_something_else_is_refused(tmp_path: Path) -> None:
    whole = make_docx(paragraph("text"))
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("hello.txt", "x")
    for content in (b"", b"hello", whole[:50], other.getvalue(), make_docx("<w:p>")):
        assert reason(only(tmp_path, "a.docx", content)).startswith(
            ("not a DOCX: ", "not a readable DOCX")
        )
    assert "the file has no text" in reason(only(tmp_path, "a.docx", make_docx("")))
