"""Which queries are one SELECT without side effects, for each kind of server."""

import pytest

from pinakes.errors import InputError
from pinakes.sources.database.query import require_selection

pytestmark = pytest.mark.row("N1")


@pytest.mark.parametrize("kind", ["postgresql", "mysql"])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1",
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
def test_a_selection_may_have_any_words_in_texts_names_and_comments(kind: str, query: str) -> None:
    require_selection(query, kind=kind, place="here")


@pytest.mark.parametrize(
    ("kind", "query", "says"),
    [
        ("postgresql", "SELECT 'x\\'; DROP TABLE t; --'", "one SELECT"),
        ("postgresql", "SELECT $$a$$; DROP TABLE t", "one SELECT"),
        ("postgresql", "SELECT /* /* */ 1; DROP TABLE t */ 2", "one SELECT"),
        ("postgresql", "COPY t TO PROGRAM 'x'", "one SELECT"),
        ("postgresql", "EXPLAIN ANALYZE DELETE FROM t", "one SELECT"),
        ("postgresql", "SELECT * INTO other FROM t", "'INTO' does more"),
        ("postgresql", "SELECT pg_terminate_backend(1)", "'pg_terminate_backend' does more"),
        ("postgresql", "SELECT nextval ('s')", "'nextval' does more"),
        ("postgresql", "SELECT * FROM t FOR SHARE", "'FOR SHARE' does more"),
        ("mysql", "SELECT 1 /*! INTO OUTFILE '/tmp/x' */", "one SELECT"),
        ("mysql", "SELECT 1 /*M! ; */", "one SELECT"),
        ("mysql", "SELECT 1 INTO OUTFILE '/tmp/x'", "'INTO OUTFILE' does more"),
        ("mysql", "SELECT '\\'' INTO @x", "'INTO' does more"),
        ("mysql", "SELECT sleep(100)", "'sleep' does more"),
        ("mysql", "SELECT 1 # comment\n; DROP TABLE t", "one SELECT"),
        ("mysql", "LOAD DATA INFILE 'x' INTO TABLE t", "one SELECT"),
    ],
)
def test_anything_else_is_refused(kind: str, query: str, says: str) -> None:
    with pytest.raises(InputError, match=f"here: the query must .*{says}"):
        require_selection(query, kind=kind, place="here")
