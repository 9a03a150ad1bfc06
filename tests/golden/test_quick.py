"""The table of what a quick run leaves out names files that exist."""

from support.quick import QUICK, SLOW, TESTS


def test_every_file_that_a_quick_run_leaves_out_exists() -> None:
    assert [place for place in (*QUICK, *SLOW) if not (TESTS / place).exists()] == []
