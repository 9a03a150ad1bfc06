"""A pytest plugin: slow files come first, so that no process of a run is left with one when the others are done."""

import pytest

from support.quick import TESTS, is_slow


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the tests by whether a quick run would leave out their files; else they stay as they are."""
    items.sort(key=lambda item: not is_slow(item.path.relative_to(TESTS)))
