"""Rows from CSV and TSV as they are found: many delimiters, encodings, quotes and accidents."""

import gzip
import random
from pathlib import Path
from typing import Any

import pytest

from stackroom.errors import InputError
from stackroom.sources import csv_rows
from stackroom.sources.csv_rows import CsvRows
from stackroom.sources.location import ReadOptions
from stackroom.sources.port import SourceRow, describe_notes
from stackroom.zstd import zstd

pytestmark = pytest.mark.row("N1")

TABLE = "id,title,note\n1,Käse,ß\n2,日本,\n"


def source(folder: Path, content: bytes | str, name: str = "a.csv") -> CsvRows:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return CsvRows(path)


def read(folder: Path, content: bytes | str, name: str = "a.csv") -> list[SourceRow]:
    return list(source(folder, content, name).iter_rows())


def values(folder: Path, content: bytes | str, name: str = "a.csv") -> list[Any]:
    rows = read(folder, content, name)
    assert [row.problem for row in rows] == [None] * len(rows)
    return [row.values for row in rows]


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.tab.zst"])
def test_the_delimiter_is_told_by_the_lines_whatever_the_name(
    tmp_path: Path, delimiter: str, name: str
) -> None:
    text = "".join(f'{number}{delimiter}"a, b; c | d"{delimiter}x y\n' for number in range(300))
    content = f"id{delimiter}title{delimiter}note\n{text}".encode()
    packed = {"gz": gzip.compress, "zst": zstd.compress}.get(name.rpartition(".")[2], bytes)(
        content
    )
    rows = values(tmp_path, packed, name)
    assert rows[7] == {"id": "7", "title": "a, b; c | d", "note": "x y"}
    assert len(rows) == 300


def test_a_text_full_of_another_delimiter_does_not_mislead(tmp_path: Path) -> None:
    rows = values(tmp_path, "id;price;text\n1;1,50;a, b, c\n2;2,50;a, b, c\n3;3,25;a, b, c\n")
    assert rows[0] == {"id": "1", "price": "1,50", "text": "a, b, c"}


def test_a_delimiter_stated_by_a_spreadsheet_is_believed(tmp_path: Path) -> None:
    rows = read(tmp_path, "sep=;\r\nid;a,b\r\n1;x,y\r\n")
    assert [(row.place, row.values) for row in rows] == [("line 3", {"id": "1", "a,b": "x,y"})]


def test_a_table_of_one_column_has_no_delimiter(tmp_path: Path) -> None:
    assert values(tmp_path, "title\nBread\nSalt\n") == [{"title": "Bread"}, {"title": "Salt"}]


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
def test_unicode_is_read_with_and_without_a_mark(tmp_path: Path, encoding: str, mark: str) -> None:
    rows = values(tmp_path, f"{mark}{TABLE}".encode(encoding))
    assert rows == [
        {"id": "1", "title": "Käse", "note": "ß"},
        {"id": "2", "title": "日本", "note": ""},
    ]


def test_lines_that_are_not_utf_8_are_read_as_windows_1252_which_is_noted_and_the_others_stay_right(
    tmp_path: Path,
) -> None:
    content = "id,title\n1,日本\n".encode() + "2,Café “x” €5\n".encode("cp1252") + b"3,\x81odd\n"
    rows = source(tmp_path, content)
    assert [row.values["title"] for row in rows.iter_rows()] == ["日本", "Café “x” €5", "\ufffdodd"]
    assert rows.notes == (
        (
            "2 lines are not UTF-8 and read as Windows-1252 (first: line 3: '2,Café “x” €5');"
            " another encoding: --encoding NAME"
        ),
        "1 line has letters that cannot be decoded (first: line 4)",
    )


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
    table = source(tmp_path, WRITINGS[encoding].encode(encoding))
    assert [row.values for row in table.iter_rows()] == [dict(zip(names, cells, strict=True))]
    assert encoding.startswith("utf") or "--encoding NAME" in table.notes[0]
    given = CsvRows(tmp_path / "a.csv", ReadOptions(encoding=encoding))
    assert [row.values for row in given.iter_rows()] == [row.values for row in table.iter_rows()]
    assert given.notes == ()


def test_an_encoding_that_is_not_known_is_refused_and_so_is_text_of_which_none_can_be_told(
    tmp_path: Path,
) -> None:
    source(tmp_path, "id,title\n1,a\n")
    with pytest.raises(
        InputError, match=r"no encoding 'Shift-JS' \(did you mean 'Shift-JIS'\?\); known ones are"
    ):
        list(CsvRows(tmp_path / "a.csv", ReadOptions(encoding="Shift-JS")).iter_rows())
    with pytest.raises(InputError, match=r"a\.csv: the text is not UTF-8, and .*: --encoding NAME"):
        read(tmp_path, b"id,name\n" + bytes(random.Random(3).choices(range(0x80, 0x100), k=400)))


def test_utf_16_that_ends_in_half_a_character_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.csv: starts as UTF-16 and is not valid UTF-16"):
        read(tmp_path, TABLE.encode("utf-16")[:-1])


def test_a_quoted_cell_may_have_lines_and_the_place_is_where_the_row_starts(tmp_path: Path) -> None:
    rows = read(tmp_path, 'id,text\n\n1,"one\ntwo\r\n\n, ""four"""\n2,x\n')
    assert [row.place for row in rows] == ["line 3", "line 7"]
    assert rows[0].values == {"id": "1", "text": 'one\ntwo\r\n\n, "four"'}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_in_any_way(tmp_path: Path, end: str) -> None:
    assert values(tmp_path, f"id,text{end}1,a{end}2,b") == [
        {"id": "1", "text": "a"},
        {"id": "2", "text": "b"},
    ]


def test_spaces_before_a_quote_do_not_undo_it(tmp_path: Path) -> None:
    assert values(tmp_path, 'id, text, more\n1, "a, b", c\n') == [
        {"id": "1", "text": "a, b", "more": "c"}
    ]


def test_columns_of_one_name_and_of_none_are_told_apart(tmp_path: Path) -> None:
    (row,) = values(tmp_path, "a,a,,a_2,a\n1,2,3,4,5\n")
    assert row == {"a": "1", "a_3": "2", "column_3": "3", "a_2": "4", "a_4": "5"}


def test_a_row_with_more_cells_than_the_header_says_so_and_the_others_are_read(
    tmp_path: Path,
) -> None:
    rows = read(tmp_path, "id,title,note\n1,a,b\n2,few\n3,a,b,many\n4,a,b\n")
    assert [row.problem for row in rows] == [None, None, "4 cells where the header has 3", None]
    assert [row.place for row in rows] == ["line 2", "line 3", "line 4", "line 5"]


def test_words_for_a_missing_value_are_emptied_and_counted_but_not_where_they_are_codes_or_names(
    tmp_path: Path,
) -> None:
    table = source(tmp_path, "code,name,size\nNA,None,NA\nDE,Ann,7\nFR,Bob,-\nGB,Eva,9\n")
    first, _, third, _ = (row.values for row in table.iter_rows())
    assert (first, third["size"]) == ({"code": "NA", "name": "None", "size": None}, None)
    assert describe_notes(table.notes) == ["cells read as missing: size 2 ('NA', line 2)"]


def test_empty_cells_at_the_end_are_forgiven(tmp_path: Path) -> None:
    assert values(tmp_path, "id,title\n1,a,,\n2,b, \n") == [
        {"id": "1", "title": "a"},
        {"id": "2", "title": "b"},
    ]


def test_lines_without_anything_in_them_are_no_rows(tmp_path: Path) -> None:
    rows = read(tmp_path, "\n\nid,title\n1,a\n,\n \n2,b\n,\n")
    assert [(row.place, row.values["id"]) for row in rows] == [("line 4", "1"), ("line 7", "2")]


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff", " \r\n,,\r\n"])
def test_an_empty_file_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(InputError, match=r"a\.csv: the file is empty"):
        read(tmp_path, content)


@pytest.mark.parametrize("content", ["id,title", "id,title\n", "id,title\n\n,\n"])
def test_a_header_alone_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(InputError, match=r"a\.csv: the file has a header and no rows"):
        read(tmp_path, content)


def test_numbers_are_no_header(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"a\.csv, line 1: expected column names; these are numbers"
    ):
        read(tmp_path, "1,2.5\n2,3.5\n")


@pytest.mark.parametrize(
    "content",
    [
        b"PK\x03\x04\x14\x00\x06\x00\x08\x00",
        "id,title\n1,a\n".encode("utf-32"),
        random.Random(1).randbytes(50_000),
    ],
)
def test_what_is_no_text_is_refused_by_name_and_line(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError, match=r"a\.csv, line \d+: NUL byte"):
        read(tmp_path, content)


def test_a_nul_byte_costs_neither_the_file_nor_its_line(tmp_path: Path) -> None:
    rows = source(tmp_path, b"id,title\n1,a\n2,b\0c\n3,\0d\n")
    assert [row.values["title"] for row in rows.iter_rows()] == ["a", "bc", "d"]
    assert rows.notes == ("NUL bytes were removed from 2 lines (first: line 3)",)


FILMS = "id,title,year,genre\n" + "".join(f"{n},Film {n},{1990 + n},drama\n" for n in range(9))


@pytest.mark.parametrize(
    ("above", "lines"),
    [
        ("tmdb_5000_movies\n", "line 1"),
        ("Films of the world\n\nas of March 2024\n", "lines 1 to 3"),
        ("Films of the world,,,\n,,,\n", "line 1"),
        ("Films, dramas\n", "line 1"),
    ],
)
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_titles_above_the_header_are_left_out_and_it_is_said(
    tmp_path: Path, above: str, lines: str, delimiter: str
) -> None:
    film = {"id": "0", "title": "Film 0", "year": "1990", "genre": "drama"}
    table = source(tmp_path, above.replace(",,,", delimiter * 3) + FILMS.replace(",", delimiter))
    rows = list(table.iter_rows())
    assert (len(rows), rows[0].values, rows[0].problem) == (9, film, None)
    (note,) = table.notes
    assert note.startswith(f"{lines}, above the header, left out: '")
    assert note.endswith("'; --skip 0 reads all lines")


def test_titles_are_a_number_of_lines_where_that_is_given(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"a,b,c,d\n1,2,3,4\n{FILMS}")
    assert next(CsvRows(path, ReadOptions(skip=2)).iter_rows()).values["title"] == "Film 0"
    path.write_text(f"Films\n{FILMS}")
    with pytest.raises(InputError, match="4 cells where the header has 1"):
        next(CsvRows(path, ReadOptions(skip=0)).iter_rows())
    assert (
        next(CsvRows(path, ReadOptions(skip=0, header_rows=0)).iter_rows()).values["column_1"]
        == "Films"
    )


def test_a_header_that_fits_no_row_is_asked_about_with_the_right_option(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"line 11: 4 cells where the header has 3; if there are .*: --skip 1"
    ):
        read(tmp_path, f"Films,dramas,comedies\n{FILMS}")
    assert len(list(CsvRows(tmp_path / "a.csv", ReadOptions(skip=1)).iter_rows())) == 9


@pytest.mark.parametrize(
    "content",
    [
        "title\nBread\nSalt\n",
        ",title\n0,Bread\n1,Salt\n",
        "name,,\nAnna,1,2\nBert,3,4\n",
        "title\nBread and butter, salted\nSalt\nPepper\n",
    ],
)
def test_a_header_is_not_taken_for_a_title(tmp_path: Path, content: str) -> None:
    table = source(tmp_path, content)
    assert next(table.iter_rows()).place == "line 2"
    assert not any("left out" in note for note in table.notes)


def test_footnotes_below_the_table_are_left_out_and_it_is_said(tmp_path: Path) -> None:
    table = source(tmp_path, f"{FILMS}\nSource: the ministry of films\n* without series,,,\n")
    rows = list(table.iter_rows())
    assert [row.problem for row in rows] == [None] * 9
    assert table.notes == (
        "lines 12 to 13, below the table, left out: 'Source: the ministry of films'",
    )


def test_a_sparse_row_is_no_footnote_and_neither_is_one_within_the_table(tmp_path: Path) -> None:
    table = source(tmp_path, f"{FILMS}Source: it\n99,Last,2000,drama\n100,,,\nZeta,,,\n")
    rows = list(table.iter_rows())
    assert [row.values["id"] for row in rows[9:]] == ["Source: it", "99", "100", "Zeta"]
    assert table.notes == (
        "1 row without the last cells completed with empty ones (first: line 11)",
    )


def test_a_header_that_may_have_two_lines_is_asked_about_with_the_right_option(
    tmp_path: Path,
) -> None:
    content = (
        "name,price,,place,\nBread,net,gross,town,street\n"
        "Cake,low,high,Ulm,Gasse\nTart,low,low,Ulm,Weg\n"
    )
    table = source(tmp_path, content)
    assert len(list(table.iter_rows())) == 3
    assert table.notes == ("2 columns have no name; if the header has two lines: --header-rows 2",)
    rows = CsvRows(tmp_path / "a.csv", ReadOptions(header_rows=2)).iter_rows()
    assert list(next(rows).values) == [
        "name Bread",
        "price net",
        "price gross",
        "place town",
        "place street",
    ]


def test_a_second_line_that_says_the_same_of_all_columns_belongs_to_the_header(
    tmp_path: Path,
) -> None:
    table = source(
        tmp_path,
        "id,Do you smoke?,Age,Income\n,Response,Response,Response\n1,No,7,low\n2,Yes,7,low\n",
    )
    assert [list(row.values) for row in table.iter_rows()] == [
        ["id", "Do you smoke?", "Age", "Income"]
    ] * 2
    assert table.notes == (
        (
            "the header has a second line: 'Response Response Response'; --header-rows 1 reads it"
            " as a row"
        ),
    )


def test_a_first_column_of_years_needs_no_name(tmp_path: Path) -> None:
    assert values(tmp_path, ",milk,tea\n1975,3,4\n1976,5,6\n")[0] == {
        "year": "1975",
        "milk": "3",
        "tea": "4",
    }


def test_a_file_without_a_header_is_read_with_an_option(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1,2.5\n2,3.5\n")
    with pytest.raises(InputError, match="for a file without a header: --header-rows 0"):
        list(CsvRows(path).iter_rows())
    assert [row.values for row in CsvRows(path, ReadOptions(header_rows=0)).iter_rows()] == [
        {"column_1": "1", "column_2": "2.5"},
        {"column_1": "2", "column_2": "3.5"},
    ]


def test_rows_that_end_with_their_last_value_are_completed(tmp_path: Path) -> None:
    table = source(tmp_path, "id,title,note\n1,a,x\n2,b\n3\n4,c,y\n5,d\n")
    assert [row.values["note"] for row in table.iter_rows()] == ["x", "", "", "y", ""]
    assert table.notes == (
        "3 rows without the last cells completed with empty ones (first: line 3)",
    )


def test_a_cell_may_be_as_long_as_a_book(tmp_path: Path) -> None:
    book = "word " * 400_000
    assert values(tmp_path, f'id,text\n1,"{book}"\n2,{book}\n')[0]["text"] == book


def test_quotes_within_a_quoted_cell_are_kept_as_well_as_they_can_be(tmp_path: Path) -> None:
    rows = values(tmp_path, 'id,text\n1,"He said "hi" to me"\n2,5" disk\n3,"x" \n')
    assert [row["text"].strip() for row in rows] == ['He said hi" to me"', '5" disk', "x"]


def test_a_quote_that_is_never_closed_costs_one_row_and_not_the_rest_of_the_file(
    tmp_path: Path,
) -> None:
    later = "".join(f"{number},b\n" for number in range(1_000))
    rows = read(tmp_path, f'id,text\n1,a\n2,"open\n{later}')
    assert [row.place for row in rows if row.problem] == ["line 3"]
    assert "unbalanced quote" in (rows[1].problem or "")
    assert len(rows) == 1_002
    assert rows[-1].place == "line 1003"


def test_a_quote_closed_only_by_the_next_one_costs_one_row(tmp_path: Path) -> None:
    rows = read(tmp_path, 'id,text\n1,"open\n2,b\n3,"quoted"\n4,d\n')
    assert [(row.place, bool(row.problem)) for row in rows] == [
        ("line 2", True),
        ("line 3", False),
        ("line 4", False),
        ("line 5", False),
    ]


def test_a_quote_never_closed_is_given_up_after_so_many_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_rows, "ROW_LINES", 10)
    rows = read(tmp_path, 'id,text\n1,"open\n' + "2,b\n" * 50 + '3,"c"\n')
    assert [row.place for row in rows if row.problem] == ["line 2"]
    assert len(rows) == 52


def test_a_file_of_nothing_but_open_quotes_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_rows, "REREAD_LINES", 1_000)
    with pytest.raises(InputError, match=r"a\.csv, line \d+: too many unbalanced quotes"):
        read(tmp_path, "id,text,more\n" + 'z",",\n' * 500)


def test_quotes_in_a_table_of_tabs_may_be_text(tmp_path: Path) -> None:
    content = (
        'id\ttitle\tyear\n1\t"Rome\t1945\n2\tOpen City"\t1946\n3\t"Quoted"\t1947\n4\t"Last\t1948\n'
    )
    rows = values(tmp_path, content, "a.tsv")
    assert [row["title"] for row in rows] == ['"Rome', 'Open City"', "Quoted", '"Last']


def test_rows_are_counted_once_they_were_read(tmp_path: Path) -> None:
    rows = source(tmp_path, 'id,text\n1,"a\nb"\n\n2,c\n')
    assert rows.count_rows() is None
    list(rows.iter_rows())
    assert rows.count_rows() == 2


def test_no_bytes_whatever_are_an_unforeseen_error(tmp_path: Path) -> None:
    chance = random.Random(7)
    alphabet = [b'"', b",", b"\n", b"\r", b"\t", b";", b"a", b" ", b"\xff", "é".encode(), b"1"]
    for _ in range(300):
        content = b"h,i\n" + b"".join(chance.choices(alphabet, k=chance.randrange(60)))
        try:
            rows = read(tmp_path, content)
        except InputError:
            continue
        assert all(row.problem or set(row.values) for row in rows)


@pytest.mark.data
def test_the_real_tables_are_read_to_their_last_rows(shared_data: Any) -> None:
    titles = CsvRows(shared_data / "anime" / "ratings-titles.tsv.zst")
    rows = list(titles.iter_rows())
    assert len(rows) == titles.count_rows()
    assert not any(row.problem for row in rows)
    assert {"name", "genre", "type", "episodes"} <= set(rows[0].values)


def test_a_small_table_is_opened_once_for_two_readings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = source(tmp_path, "title,note\nA,NA\nB,x,y\n")
    before, told, losses = list(rows.iter_rows()), rows.notes, rows.measure_losses()
    assert rows.count_rows() == 2
    monkeypatch.delattr(csv_rows, "open_decompressed")
    assert list(rows.iter_rows()) == before
    assert (rows.notes, rows.measure_losses()) == (told, losses)


def test_a_table_that_has_changed_since_the_first_reading_is_read_again(tmp_path: Path) -> None:
    rows = source(tmp_path, "title\nA\n")
    list(rows.iter_rows())
    (tmp_path / "a.csv").write_text("title\nA\nB\n")
    assert [row.values["title"] for row in rows.iter_rows()] == ["A", "B"]
    assert [row.values["title"] for row in rows.iter_rows()] == ["A", "B"]
