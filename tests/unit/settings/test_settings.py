"""Settings: defaults, then the file, then the environment."""

from pathlib import Path
from typing import Any

import pytest

from pinakes.errors import InputError
from pinakes.settings import ENVIRONMENT, Settings, load_settings


def load(home: Path, file: str = "", **environment: str) -> Settings:
    (home / "pinakes.toml").write_text(file, encoding="utf-8")
    return load_settings({"PINAKES_HOME": str(home), **environment})


def test_without_a_file_or_variables_everything_is_local(tmp_path: Path) -> None:
    settings = load_settings({"PINAKES_HOME": str(tmp_path)})
    assert settings == Settings(home=tmp_path)
    assert (settings.embedding.kind, settings.rerank.url) == ("local", "")
    assert settings.catalogues_folder == tmp_path / "catalogues"
    assert settings.models_folder == tmp_path / "models"


def test_without_a_home_the_library_is_in_the_platform_s_data_folder() -> None:
    home = load_settings({}).home
    assert home.is_absolute()
    assert home.name == "pinakes"


def test_the_file_changes_the_defaults_and_the_environment_changes_the_file(tmp_path: Path) -> None:
    file = '[embedding]\nkind = "ollama"\nmodel = "from-file"\ndimension = 768\n[rerank]\ntimeout_s = 1\n'
    settings = load(tmp_path, file, PINAKES_EMBED_MODEL="from-environment")
    assert settings.embedding.kind == "ollama"
    assert settings.embedding.model == "from-environment"
    assert settings.embedding.dimension == 768
    assert settings.rerank.timeout_s == 1.0
    assert isinstance(settings.rerank.timeout_s, float)


def test_an_empty_variable_is_as_good_as_none(tmp_path: Path) -> None:
    assert load(tmp_path, '[embedding]\nkind = "tei"', PINAKES_EMBED_KIND="").embedding.kind == "tei"


@pytest.mark.row("A12")
@pytest.mark.parametrize(
    ("kind", "url", "path"),
    [
        ("infinity", "http://localhost:7997", "/embeddings"),
        ("ollama", "http://localhost:11434", "/v1/embeddings"),
        ("tei", "http://localhost:8080", "/v1/embeddings"),
        ("openai", "https://api.openai.com", "/v1/embeddings"),
    ],
)
def test_a_known_kind_of_server_is_looked_for_at_its_usual_place(
    tmp_path: Path, kind: str, url: str, path: str
) -> None:
    embedding = load(tmp_path, PINAKES_EMBED_KIND=kind).embedding
    assert (embedding.url, embedding.path) == (url, path)


@pytest.mark.row("A12")
def test_a_server_s_address_can_be_given(tmp_path: Path) -> None:
    given = {"PINAKES_EMBED_KIND": "infinity", "PINAKES_EMBED_URL": "http://example.org:1/"}
    assert load(tmp_path, **given).embedding.url == "http://example.org:1"


@pytest.mark.parametrize("variable", ENVIRONMENT)
def test_every_variable_reaches_the_setting_it_names(tmp_path: Path, variable: str) -> None:
    section, key = ENVIRONMENT[variable]
    numbers = {"dimension": "12", "batch_size": "8", "depth": "9", "timeout_s": "3"}
    given = {"kind": "tei", "log_level": "debug", "offline": "true", "lower_case": "false", **numbers}.get(key, "given")
    settings: Any = load(tmp_path, **{variable: given})
    held = getattr(getattr(settings, section) if section else settings, key)
    assert str(held).lower() in (given, f"{given}.0")


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        ("embeding = 1", r"unknown key 'embeding' \(did you mean 'embedding'\?\)"),
        ('[embedding]\nmodle = "x"', r"unknown setting 'embedding.modle' \(did you mean 'model'\?\)"),
        ('[rerank]\nurll = "x"', r"'rerank.urll' \(did you mean 'url'\?\)"),
        ('[embedding]\nkind = "infinty"', r"no 'infinty' \(did you mean 'infinity'\?\)"),
        ('[embedding]\ndimension = "many"', "'embedding.dimension': 'many' is not int"),
        ("[embedding", "pinakes.toml"),
    ],
)
def test_what_is_wrong_in_the_file_is_said_with_what_would_be_right(tmp_path: Path, file: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        load(tmp_path, file)


def test_a_variable_that_is_no_number_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"embedding.timeout_s.*'soon' is not float"):
        load(tmp_path, PINAKES_EMBED_TIMEOUT_S="soon")


@pytest.mark.parametrize("file", ["embedding = 7", 'rerank = "x"', "[log_level]\na = 1"])
def test_a_section_that_is_a_value_and_a_value_that_is_a_section_are_refused(tmp_path: Path, file: str) -> None:
    with pytest.raises(InputError):
        load(tmp_path, file)
