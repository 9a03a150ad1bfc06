"""Rows from CSV and TSV as they are found: many delimiters, encodings, quotes and accidents."""

import random
from pathlib import Path
from typing import Any

import pytest

from stackroom.errors import InputError
from stackroom.sources import csv_rows
from stackroom.sources.csv_rows import CsvRows
from stackroom.sources.location import ReadOptions
from support.reading import opened_as, told

pytestmark = pytest.mark.row("N1")

TABLE = "id,title,note\n1,Käse,ß\n2,日本,\n"


READ: dict[str, tuple[str | bytes, str]] = {
    "a text full of another delimiter does not mislead": (
        "id;price;text\n1;1,50;a, b, c\n2;2,50;a, b, c\n3;3,25;a, b, c\n",
        (
            "line 2: id='1', price='1,50', text='a, b, c'\n"
            "line 3: id='2', price='2,50', text='a, b, c'\n"
            "line 4: id='3', price='3,25', text='a, b, c'"
        ),
    ),
    "a delimiter stated by a spreadsheet is believed": (
        "sep=;\r\nid;a,b\r\n1;x,y\r\n",
        "line 3: id='1', a,b='x,y'",
    ),
    "a table of one column has no delimiter": (
        "title\nBread\nSalt\n",
        "line 2: title='Bread'\nline 3: title='Salt'",
    ),
    "lines that are not UTF-8 are read as Windows-1252, and the others stay right": (
        "id,title\n1,日本\n".encode() + "2,Café “x” €5\n".encode("cp1252") + b"3,\x81odd\n",
        (
            "line 2: id='1', title='日本'\nline 3: id='2', title='Café “x” €5'\n"
            "line 4: id='3', title='�odd'\n"
            "NOTE 2 lines are not UTF-8 and read as Windows-1252 (first: line 3: "
            "'2,Café “x” €5'); another encoding: --encoding NAME\n"
            "NOTE 1 line has letters that cannot be decoded (first: line 4)"
        ),
    ),
    "a quoted cell may have lines, and the place is where the row starts": (
        'id,text\n\n1,"one\ntwo\r\n\n, ""four"""\n2,x\n',
        ("line 3: id='1', text='one\\ntwo\\r\\n\\n, \"four\"'\nline 7: id='2', text='x'"),
    ),
    "lines end in a carriage return": (
        "id,text\r1,a\r2,b",
        "line 2: id='1', text='a'\nline 3: id='2', text='b'",
    ),
    "spaces before a quote do not undo it": (
        'id, text, more\n1, "a, b", c\n',
        "line 2: id='1', text='a, b', more='c'",
    ),
    "columns of one name and of none are told apart": (
        "a,a,,a_2,a\n1,2,3,4,5\n",
        "line 2: a='1', a_3='2', column_3='3', a_2='4', a_4='5'",
    ),
    "a row with more cells than the header says so": (
        "id,title,note\n1,a,b\n2,few\n3,a,b,many\n4,a,b\n",
        (
            "line 2: id='1', title='a', note='b'\nline 3: id='2', title='few', note=''\n"
            "line 4: PROBLEM 4 cells where the header has 3\n"
            "line 5: id='4', title='a', note='b'\n"
            "NOTE 1 row without the last cells completed with empty ones (first: line 3)"
        ),
    ),
    "words for a missing value are emptied and counted, but not where they are codes or names": (
        "code,name,size\nNA,None,NA\nDE,Ann,7\nFR,Bob,-\nGB,Eva,9\n",
        (
            "line 2: code='NA', name='None', size=None\n"
            "line 3: code='DE', name='Ann', size='7'\n"
            "line 4: code='FR', name='Bob', size=None\n"
            "line 5: code='GB', name='Eva', size='9'\n"
            "NOTE cells read as missing: size 2 ('NA', line 2)"
        ),
    ),
    "empty cells at the end are forgiven": (
        "id,title\n1,a,,\n2,b, \n",
        "line 2: id='1', title='a'\nline 3: id='2', title='b'",
    ),
    "lines without anything in them are no rows": (
        "\n\nid,title\n1,a\n,\n \n2,b\n,\n",
        "line 4: id='1', title='a'\nline 7: id='2', title='b'",
    ),
    "a NUL byte costs neither the file nor its line": (
        b"id,title\n1,a\n2,b\0c\n3,\0d\n",
        (
            "line 2: id='1', title='a'\nline 3: id='2', title='bc'\n"
            "line 4: id='3', title='d'\n"
            "NOTE NUL bytes were removed from 2 lines (first: line 3)"
        ),
    ),
    "a header of one column is no title": (
        "title\nBread and butter, salted\nSalt\nPepper\n",
        (
            "line 2: PROBLEM 2 cells where the header has 1\nline 3: title='Salt'\n"
            "line 4: title='Pepper'"
        ),
    ),
    "a header without a first name is no title": (
        ",title\n0,Bread\n1,Salt\n",
        "line 2: column_1='0', title='Bread'\nline 3: column_1='1', title='Salt'",
    ),
    "a header with a first name alone is no title": (
        "name,,\nAnna,1,2\nBert,3,4\n",
        (
            "line 2: name='Anna', column_2='1', column_3='2'\n"
            "line 3: name='Bert', column_2='3', column_3='4'\n"
            "NOTE 2 columns have no name; if the header has two lines: --header-rows 2"
        ),
    ),
    "a header that may have two lines is asked about with the right option": (
        "name,price,,place,\nBread,net,gross,town,street\nCake,low,high,Ulm,Gasse\n",
        (
            "line 2: name='Bread', price='net', column_3='gross', place='town', "
            "column_5='street'\n"
            "line 3: name='Cake', price='low', column_3='high', place='Ulm', "
            "column_5='Gasse'\n"
            "NOTE 2 columns have no name; if the header has two lines: --header-rows 2"
        ),
    ),
    "a header has two lines where that is given": (
        "name,price,,place,\nBread,net,gross,town,street\nCake,low,high,Ulm,Gasse\n",
        (
            "line 3: name Bread='Cake', price net='low', price gross='high', place "
            "town='Ulm', place street='Gasse'"
        ),
    ),
    "a second line that says the same of all columns belongs to the header": (
        "id,Do you smoke?,Age,Income\n,Response,Response,Response\n1,No,7,low\n2,Yes,7,low\n",
        (
            "line 3: id='1', Do you smoke?='No', Age='7', Income='low'\n"
            "line 4: id='2', Do you smoke?='Yes', Age='7', Income='low'\n"
            "NOTE the header has a second line: 'Response Response Response'; "
            "--header-rows 1 reads it as a row"
        ),
    ),
    "a first column of years needs no name": (
        ",milk,tea\n1975,3,4\n1976,5,6\n",
        "line 2: year='1975', milk='3', tea='4'\nline 3: year='1976', milk='5', tea='6'",
    ),
    "a file without a header is read with an option": (
        "1,2.5\n2,3.5\n",
        "line 1: column_1='1', column_2='2.5'\nline 2: column_1='2', column_2='3.5'",
    ),
    "titles are a number of lines where that is given": (
        "a,b\n1,2\nid,title\n7,Heat\n",
        "line 4: id='7', title='Heat'",
    ),
    "rows that end with their last value are completed": (
        "id,title,note\n1,a,x\n2,b\n3\n4,c,y\n5,d\n",
        (
            "line 2: id='1', title='a', note='x'\nline 3: id='2', title='b', note=''\n"
            "line 4: id='3', title='', note=''\nline 5: id='4', title='c', note='y'\n"
            "line 6: id='5', title='d', note=''\n"
            "NOTE 3 rows without the last cells completed with empty ones (first: line 3)"
        ),
    ),
    "quotes within a quoted cell are kept as well as they can be": (
        'id,text\n1,"He said "hi" to me"\n2,5" disk\n3,"x" \n',
        (
            "line 2: id='1', text='He said hi\" to me\"'\n"
            "line 3: id='2', text='5\" disk'\nline 4: id='3', text='x '"
        ),
    ),
    "a quote closed only by the next one costs one row": (
        'id,text\n1,"open\n2,b\n3,"quoted"\n4,d\n',
        (
            "line 2: PROBLEM unbalanced quote\nline 3: id='2', text='b'\n"
            "line 4: id='3', text='quoted'\nline 5: id='4', text='d'"
        ),
    ),
}
OPTIONS = {
    "a header has two lines where that is given": {"header_rows": 2},
    "a file without a header is read with an option": {"header_rows": 0},
    "titles are a number of lines where that is given": {"skip": 2},
}


@pytest.mark.parametrize("name", READ)
def test_a_file_is_read_as_it_is_meant(tmp_path: Path, name: str) -> None:
    content, rows = READ[name]
    assert told(opened_as(tmp_path, "a.csv", content, **OPTIONS.get(name, {}))) == rows


WRITINGS = {
    "shift_jis": "名前,町,紹介\n竹の庭,京都,静かな庭で抹茶を楽しめる\n",
    "euc_jp": "名前,町,紹介\n竹の庭,京都,静かな庭で抹茶を楽しめる\n",
    "gb18030": "名称,城市,简介\n静园茶馆,杭州,湖边的小茶馆适合下午安静地看书\n",
    "big5": "名稱,城市,簡介\n靜園茶館,臺北,湖邊的小茶館適合下午安靜地看書\n",
    "euc_kr": "이름,도시,소개\n조용한 정원,부산,바다가 보이는 작은 찻집입니다\n",
    "cp1251": "имя,город,рассказ\nТихая гавань,Мурманск,Маяк стоит на скале у моря\n",
    "koi8_r": "имя,город,рассказ\nТихая гавань,Мурманск,Маяк стоит на скале у моря\n",
    "cp1250": "nazwa,miasto,opis\nPączki,Łódź,Świeże pączki każdego ranka obok dworca\n",
    "iso8859_2": (
        "název,město,popis\nKavárna Říp,Plzeň,Tichá kavárna s výhledem na řeku a čerstvé koláče\n"
    ),
    "cp1253": "όνομα,πόλη,κείμενο\nΤο παλιό λιμάνι,Χανιά,Βόλτα δίπλα στη θάλασσα το βράδυ\n",
    "cp1254": "ad,şehir,açıklama\nSakin Bahçe,İzmir,Deniz kıyısında küçük bir çay bahçesi\n",
    "cp1255": "שם,עיר,תיאור\nהגן השקט,חיפה,בית קפה קטן ליד הים\n",
    "cp1256": "الاسم,المدينة,الوصف\nالحديقة الهادئة,بيروت,مقهى صغير قرب البحر\n",
    "cp874": "ชื่อ,เมือง,คำอธิบาย\nสวนเงียบ,เชียงใหม่,ร้านกาแฟเล็กริมแม่น้ำ\n",
    "latin-1": (
        "nom,ville,texte\nCafé des Élèves,Nîmes,Petit café près de la gare où l'on déjeune\n"
    ),
    "mac_roman": (
        "nom,ville,texte\nCafé des Élèves,Nîmes,Petit café près de la gare où l'on déjeune\n"
    ),
    "utf-16-le": "名前,町,紹介\n竹の庭,京都,静かな庭で抹茶を楽しめる\n",
    "utf-16-be": "имя,город,рассказ\nТихая гавань,Мурманск,Маяк стоит на скале у моря\n",
}


@pytest.mark.parametrize("encoding", WRITINGS)
def test_the_encoding_of_a_file_is_found_said_with_a_line_and_can_be_given(
    tmp_path: Path, encoding: str
) -> None:
    names, cells = (line.split(",") for line in WRITINGS[encoding].splitlines())
    found = opened_as(tmp_path, "a.csv", WRITINGS[encoding].encode(encoding))
    given = CsvRows(tmp_path / "a.csv", ReadOptions(encoding=encoding))
    for source in (found, given):
        assert [row.values for row in source.iter_rows()] == [dict(zip(names, cells, strict=True))]
    assert encoding.startswith("utf") or "--encoding NAME" in str(found.notes[0])
    assert given.notes == ()


FILMS = "id,title,year,genre\n" + "".join(f"{n},Film {n},{1990 + n},drama\n" for n in range(9))
NO_TEXT = random.Random(3).choices(range(0x80, 0x100), k=400)

REFUSED: list[tuple[str | bytes, dict[str, Any], str]] = [
    *((content, {}, "the file is empty") for content in ("", "\n\n", "\ufeff", " \r\n,,\r\n")),
    *(
        (content, {}, "the file has a header and no rows")
        for content in ("id,title", "id,title\n", "id,title\n\n,\n")
    ),
    ("1,2.5\n2,3.5\n", {}, "expected column names; these are numbers"),
    ("1,2.5\n2,3.5\n", {}, "for a file without a header: --header-rows 0"),
    (b"id,name\n" + bytes(NO_TEXT), {}, "the text is not UTF-8, and .*: --encoding NAME"),
    (TABLE.encode("utf-16")[:-1], {}, "starts as UTF-16 and is not valid UTF-16"),
    (b"PK\x03\x04\x14\x00\x06\x00\x08\x00", {}, r"line \d+: NUL byte"),
    (TABLE.encode("utf-32"), {}, r"line \d+: NUL byte"),
    (random.Random(1).randbytes(50_000), {}, r"line \d+: NUL byte"),
    (f"Films\n{FILMS}", {"skip": 0}, "4 cells where the header has 1"),
    (f"Films,dramas,comedies\n{FILMS}", {}, "line 11: .* the header has 3; .*: --skip 1"),
]


@pytest.mark.parametrize(("content", "options", "says"), REFUSED)
def test_a_file_that_cannot_be_read_is_refused_by_name(
    tmp_path: Path, content: str | bytes, options: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputError, match=rf"a\.csv.*{says}"):
        told(opened_as(tmp_path, "a.csv", content, **options))


def test_an_encoding_that_is_not_known_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no encoding 'Shift-JS' \(did you mean 'Shift-JIS'\?\)"):
        told(opened_as(tmp_path, "a.csv", TABLE, encoding="Shift-JS"))


@pytest.mark.parametrize(
    ("above", "below", "left_out"),
    [
        ("tmdb_5000_movies\n", "", "line 1, above the header"),
        ("Films of the world\n\nas of March 2024\n", "", "lines 1 to 3, above the header"),
        ("Films of the world,,,\n,,,\n", "", "line 1, above the header"),
        ("Films, dramas\n", "", "line 1, above the header"),
        ("", "\nSource: the ministry\n* without series,,,\n", "lines 12 to 13, below the table"),
    ],
)
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_titles_above_the_header_and_footnotes_are_left_out_and_it_is_said(
    tmp_path: Path, above: str, below: str, left_out: str, delimiter: str
) -> None:
    framed = [part.replace(",,,", delimiter * 3) for part in (above, below)]
    source = opened_as(tmp_path, "a.csv", FILMS.replace(",", delimiter).join(framed))
    *rows, note = told(source).splitlines()
    whole = told(opened_as(tmp_path, "b.csv", FILMS)).splitlines()
    assert [row.partition(": ")[2] for row in rows] == [row.partition(": ")[2] for row in whole]
    assert note.startswith(f"NOTE {left_out}, left out: '")
    assert note.endswith("'; --skip 0 reads all lines" if above else "'")


def test_a_cell_may_be_as_long_as_a_book(tmp_path: Path) -> None:
    book = "word " * 400_000
    first, _ = opened_as(tmp_path, "a.csv", f'id,text\n1,"{book}"\n2,{book}\n').iter_rows()
    assert first.values["text"] == book


def test_a_quote_that_is_never_closed_costs_one_row_and_not_the_rest_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = "".join(f"{number},b\n" for number in range(1_000))
    content = f'id,text\n1,a\n2,"open\n{later}'
    for longest in (csv_rows.ROW_LINES, 10):
        monkeypatch.setattr(csv_rows, "ROW_LINES", longest)
        rows = list(opened_as(tmp_path, "a.csv", content).iter_rows())
        assert [row.place for row in rows if row.problem] == ["line 3"]
        assert "unbalanced quote" in (rows[1].problem or "")
        assert (len(rows), rows[-1].place) == (1_002, "line 1003")


def test_a_file_of_nothing_but_open_quotes_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_rows, "REREAD_LINES", 1_000)
    with pytest.raises(InputError, match=r"a\.csv, line \d+: too many unbalanced quotes"):
        told(opened_as(tmp_path, "a.csv", "id,text,more\n" + 'z",",\n' * 500))


def test_quotes_in_a_table_of_tabs_may_be_text(tmp_path: Path) -> None:
    content = 'id\ttitle\n1\t"Rome\n2\tOpen City"\n3\t"Quoted"\n4\t"Last\n'
    rows = opened_as(tmp_path, "a.tsv", content).iter_rows()
    assert [row.values["title"] for row in rows] == ['"Rome', 'Open City"', "Quoted", '"Last']
    assert told(opened_as(tmp_path, "a.tsv", "title\nA, b\n")) == "line 2: title='A, b'"


def test_no_bytes_whatever_are_an_unforeseen_error(tmp_path: Path) -> None:
    chance = random.Random(7)
    alphabet = [b'"', b",", b"\n", b"\r", b"\t", b";", b"a", b" ", b"\xff", "é".encode(), b"1"]
    for _ in range(300):
        content = b"h,i\n" + b"".join(chance.choices(alphabet, k=chance.randrange(60)))
        try:
            rows = list(opened_as(tmp_path, "a.csv", content).iter_rows())
        except InputError:
            continue
        assert all(row.problem or set(row.values) for row in rows)


def test_a_small_table_is_opened_once_for_two_readings_unless_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = opened_as(tmp_path, "a.csv", 'title,note\n"A\nB",NA\n\nB,x,y\n')
    assert rows.count_rows() is None
    before, losses = told(rows), rows.measure_losses()
    assert rows.count_rows() == 2
    with monkeypatch.context() as patched:
        patched.delattr(csv_rows, "open_decompressed")
        assert (told(rows), rows.measure_losses()) == (before, losses)
    opened_as(tmp_path, "a.csv", "title\nA\nB\n")
    assert told(rows) == told(rows) == "line 2: title='A'\nline 3: title='B'"
