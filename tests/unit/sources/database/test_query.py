"""Which queries are one SELECT without side effects."""

import pytest

from stackroom.errors import InputError
from stackroom.sources.database_rows import require_selection

pytestmark = pytest.mark.row("N1")


@pytest.mark.parametrize(
    "query",
    [
        " select * from t;  ",
        "-- why; not\nSELECT 1 -- end;\n",
        "/* delete; */ WITH x AS (SELECT 1) SELECT * FROM x",
        "(SELECT 1) UNION (SELECT 2)",
        "VALUES (1)",
        "SELECT 'a; DELETE FROM t; it''s', replace(a, 'into', 'x') FROM t",
        'SELECT a AS "insert; into" FROM t',
        "SELECT updated_at, deleted FROM t",
    ],
)
def test_a_selection_may_have_any_words_in_texts_names_and_comments(query: str) -> None:
    require_selection(query, place="here")


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("COPY t TO PROGRAM 'x'", "one SELECT"),
        ("EXPLAIN ANALYZE DELETE FROM t", "one SELECT"),
        ("SELECT * INTO other FROM t", "'INTO' does more"),
        ("SELECT 1 /*! INTO OUTFILE '/tmp/x' */", "one SELECT"),
        ("SELECT 1 /*M! ; */", "one SELECT"),
        ("SELECT 1 INTO OUTFILE '/tmp/x'", "'INTO' does more"),
        ("LOAD DATA INFILE 'x' INTO TABLE t", "one SELECT"),
    ],
)
def test_anything_else_is_refused(query: str, says: str) -> None:
    with pytest.raises(InputError, match=f"here: the query must .*{says}"):
        require_selection(query, place="here")
