"""Where specs are found."""

from pathlib import Path

import pytest

from stackroom.catalogue.compiler import load_spec
from stackroom.errors import NotFoundError
from stackroom.packages import PACKAGES


def test_the_five_catalogues_ship() -> None:
    assert {"anime", "documents", "judoka", "music", "papers"} <= set(PACKAGES.names)


@pytest.mark.parametrize("name", PACKAGES.names)
def test_every_built_in_spec_compiles_and_can_be_searched_filtered_and_embedded(name: str) -> None:
    spec = PACKAGES.get(name).spec
    assert spec.name == name
    assert spec.title_field in (*spec.searched_fields, *spec.fields_searched_as_names)
    assert spec.column_fields
    assert spec.embed is not None


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
