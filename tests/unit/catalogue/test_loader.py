"""Where specs are found."""

import pytest

from stackroom.errors import NotFoundError
from stackroom.packages import PACKAGES


def test_a_built_in_catalogue_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(NotFoundError) as refused:
        PACKAGES.get("anmie")
    assert "(did you mean 'anime'?)" in refused.value.message
    assert "judoka" in refused.value.message
