"""A pytest plugin: slow files come first, so that no process of a run is left with one when the
others are done.
"""

from collections import Counter

import pytest

QUICK = ("unit", "golden", "property", "tables")
"""Folders whose tests start no server."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put files of tests that start servers first, and among the others those with many tests."""
    sizes = Counter(item.path for item in items)
    items.sort(
        key=lambda item: (
            not set(QUICK).isdisjoint(item.path.parts),
            -sizes[item.path],
            str(item.path),
        )
    )
