"""Where specs are found."""

from pathlib import Path

import pytest

from stackroom.catalogue.compiler import load_spec
from stackroom.errors import NotFoundError
from stackroom.packages import PACKAGES


def test_a_built_in_catalogue_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(NotFoundError) as refused:
        PACKAGES.get("anmie")
    assert "(did you mean 'anime'?)" in refused.value.message
    assert "judoka" in refused.value.message


def test_a_spec_of_ones_own_is_read_from_a_file_and_equals_the_built_in_one(tmp_path: Path) -> None:
    built_in = PACKAGES.get("papers").loaded
    path = tmp_path / "catalogue.toml"
    path.write_text(built_in.declaration, encoding="utf-8")
    assert load_spec(path).spec == built_in.spec
