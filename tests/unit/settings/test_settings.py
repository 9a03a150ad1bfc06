"""Settings: defaults, then the file, then the environment; sections of packages, and the place of
collections.
"""

from pathlib import Path
from typing import Any

import pytest

from stackroom.errors import InputError
from stackroom.settings import (
    ENVIRONMENT,
    Settings,
    SettingsSection,
    load_settings,
    read_section,
    setting,
)


def load(home: Path, file: str = "", **environment: str) -> Settings:
    (home / "stackroom.toml").write_text(file, encoding="utf-8")
    return load_settings({"STACKROOM_HOME": str(home), **environment})


def test_without_a_file_or_variables_everything_is_local(tmp_path: Path) -> None:
    settings = load_settings({"STACKROOM_HOME": str(tmp_path)})
    assert settings == Settings(home=tmp_path)
    assert (settings.embedding.kind, settings.rerank.url) == ("local", "")
    assert settings.catalogues_folder == tmp_path / "catalogues"
    assert settings.models_folder == tmp_path / "models"


def test_without_a_home_the_library_is_in_the_platform_s_data_folder() -> None:
    home = load_settings({}).home
    assert home.is_absolute()
    assert home.name == "stackroom"


def test_the_file_changes_the_defaults_and_the_environment_changes_the_file(tmp_path: Path) -> None:
    file = (
        '[embedding]\nkind = "ollama"\nmodel = "from-file"\ndimension = 768\n[rerank]\ntimeout_s'
        " = 1\n"
    )
    settings = load(tmp_path, file, STACKROOM_EMBED_MODEL="from-environment")
    assert settings.embedding.kind == "ollama"
    assert settings.embedding.model == "from-environment"
    assert settings.embedding.dimension == 768
    assert settings.rerank.timeout_s == 1.0
    assert isinstance(settings.rerank.timeout_s, float)


@pytest.mark.row("A12")
def test_a_server_s_address_can_be_given(tmp_path: Path) -> None:
    given = {"STACKROOM_EMBED_KIND": "infinity", "STACKROOM_EMBED_URL": "http://example.org:1/"}
    assert load(tmp_path, **given).embedding.url == "http://example.org:1"


def section_of(settings: Settings, section: str) -> Any:
    """Return the section of this name in the file."""
    return getattr(settings, section.rpartition(".")[2]) if section else settings


@pytest.mark.parametrize("variable", ENVIRONMENT)
def test_every_variable_reaches_the_setting_it_names(tmp_path: Path, variable: str) -> None:
    section, key = ENVIRONMENT[variable]
    default = getattr(section_of(Settings(home=tmp_path), section), key)
    words = {
        "kind": "tei",
        "device": "cpu",
        "log_level": "DEBUG",
        "log_format": "json",
        "tool_names": "plain",
        "public_url": "https://a.example",
        "hub_url": "https://hub.example",
    }
    lists = {"connect": "https://a.example,http://b.example:8000"}
    texts = lists.get(key, "RS256,ES256")
    by_type = {
        bool: str(not default),
        int: "12",
        float: "3.0",
        tuple: texts,
        str: words.get(key, "given"),
    }
    given = by_type[type(default)]
    held = getattr(section_of(load(tmp_path, **{variable: given}), section), key)
    assert (",".join(held) if isinstance(held, tuple) else str(held)) == given


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        ("embeding = 1", r"unknown key 'embeding' \(did you mean 'embedding'\?\)"),
        (
            '[embedding]\nmodle = "x"',
            r"unknown setting 'embedding.modle' \(did you mean 'model'\?\)",
        ),
        ('[embedding]\nkind = "infinty"', r"no 'infinty' \(did you mean 'infinity'\?\)"),
        ('[embedding]\ndimension = "many"', "'embedding.dimension': 'many' is not a whole number"),
        ("[embedding]\nbatch_size = 0", "'embedding.batch_size': 0 is less than 1"),
        ("[embedding]\ntimeout_s = nan", "'embedding.timeout_s': nan is not a finite number"),
        ('[embedding]\nmodel = ["x"]', r"'embedding.model': \['x'\] is not a text"),
        ("[server]\nport = 80.5", "'server.port': 80.5 is not a whole number"),
        ("[server]\nport = true", "'server.port': True is not a number"),
        ("[embedding", "stackroom.toml"),
        ("[server]\nport = 70000", "'server.port': 70000 is more than 65535"),
        ("[server]\nallowed_hosts = 7", "'server.allowed_hosts': 7 is not a list of texts"),
        (
            '[server]\npublic_url = "a.example"',
            "'server.public_url': 'a.example' does not begin with http",
        ),
        (
            "[mcp.rate_limit]\nread_per_minut = 1",
            r"'mcp.rate_limit.read_per_minut' \(did you mean 'read_per_minute'",
        ),
        ("embedding = 7", r"setting 'embedding': 7 is not a section; write \[embedding\]"),
        ("[log_level]\na = 1", "log_level"),
        ('[embedding]\ntimeout_s = "soon"', "'embedding.timeout_s': 'soon' is not a number"),
    ],
)
def test_what_is_wrong_in_the_file_is_said_with_what_would_be_right(
    tmp_path: Path, file: str, problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        load(tmp_path, file)


def test_a_file_that_is_no_text_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "stackroom.toml").write_bytes(b'# caf\xe9\nlog_level = "INFO"\n')
    with pytest.raises(InputError, match=r"stackroom\.toml: not UTF-8 text"):
        load_settings({"STACKROOM_HOME": str(tmp_path)})


@pytest.mark.row("Z14")
def test_flags_win_over_the_environment_which_wins_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "stackroom.toml").write_text(
        "[server]\nport = 1\n[mcp]\nenabled = false\n", encoding="utf-8"
    )
    home = {"STACKROOM_HOME": str(tmp_path)}
    assert load_settings(home).server.port == 1
    assert load_settings({**home, "PORT": "2"}).server.port == 2
    flags = {("server", "port"): 3, ("mcp", "enabled"): True}
    settings = load_settings({**home, "PORT": "2"}, flags=flags)
    assert (settings.server.port, settings.mcp.enabled) == (3, True)


@pytest.mark.row("Z14")
@pytest.mark.row("Z12")
def test_the_seed_s_sections_are_understood(tmp_path: Path) -> None:
    file = (
        "[mcp]\nenabled = true\n\n[mcp.rate_limit]\nread_per_minute = 7\nwrite_per_minute ="
        " 3\nsql_per_minute = 1\n"
    )
    settings = load(tmp_path, file)
    assert settings.mcp.enabled
    limits = settings.rate_limit
    assert (limits.read_per_minute, limits.write_per_minute, limits.sql_per_minute) == (7, 3, 1)
    default = load(tmp_path).rate_limit
    assert (default.read_per_minute, default.write_per_minute, default.sql_per_minute) == (
        120,
        30,
        10,
    )


def test_a_library_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").touch()
    with pytest.raises(
        InputError, match=r"STACKROOM_HOME: .*home is not a folder; the library must be one"
    ):
        load_settings({"STACKROOM_HOME": str(tmp_path / "home")})


class Weather(SettingsSection):
    """A section of a package that is not part of the engine."""

    station: str = setting("", "TEST_STATION")
    days: int = setting(3, "TEST_DAYS", ge=1)
    weather_key: str = setting("", "TEST_WEATHER_KEY")


def load_with_weather(home: Path, file: str, **environment: str) -> Settings:
    (home / "stackroom.toml").write_text(file, encoding="utf-8")
    return load_settings(
        {"STACKROOM_HOME": str(home), **environment},
        find_sections=lambda: ["weather", "weather_key"],
    )


@pytest.mark.row("Z14")
def test_a_package_reads_its_own_section_and_variables_win_over_it(tmp_path: Path) -> None:
    settings = load_with_weather(tmp_path, '[weather]\nstation = "EDDF"\ndays = 5', TEST_DAYS="7")
    assert read_section(settings, "weather", Weather) == Weather(station="EDDF", days=7)
    assert read_section(load(tmp_path), "weather", Weather) == Weather()


def test_a_package_reads_its_keys_outside_any_section(tmp_path: Path) -> None:
    settings = load_with_weather(tmp_path, 'offline = true\nweather_key = "k"')
    assert read_section(settings, "", Weather).weather_key == "k"


@pytest.mark.parametrize(
    ("file", "name", "problem"),
    [
        (
            "[weather]\nday = 5",
            "weather",
            r"unknown setting 'weather.day' \(did you mean 'days'\?\)",
        ),
        ("[weather]\ndays = 0", "weather", "setting 'weather.days': 0 is less than 1"),
        ("weather = 5", "weather", r"setting 'weather': 5 is not a section; write \[weather\]"),
        ("[weather_key]\na = 1", "", "setting 'weather_key': {'a': 1} is not a text"),
    ],
)
def test_mistakes_in_the_section_of_a_package_are_refused_like_those_of_the_engine(
    tmp_path: Path, file: str, name: str, problem: str
) -> None:
    settings = load_with_weather(tmp_path, file)
    with pytest.raises(InputError, match=problem):
        read_section(settings, name, Weather)


def test_a_section_that_no_package_declares_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unknown key 'wether' \(did you mean 'weather'\?\)"):
        load_with_weather(tmp_path, "[wether]")
    with pytest.raises(InputError, match=r"unknown key 'sever' \(did you mean 'server'\?\)"):
        load(tmp_path, "[sever]")


@pytest.mark.row("T7")
@pytest.mark.parametrize(
    ("environment", "place", "is_given"),
    [
        ({}, "./vector_dbs", False),
        ({"base_db_path": "/data/vectors"}, "/data/vectors", True),
        ({"base_db_path": "s3://bucket/lancedb"}, "s3://bucket/lancedb", True),
        ({"base_db_path": "az://container/lancedb"}, "az://container/lancedb", True),
        (
            {"GCS_BUCKET_NAME": "thoth-data", "GCP_PROJECT_ID": "thoth"},
            "gs://thoth-data/lancedb",
            True,
        ),
        (
            {"GCS_BUCKET_NAME": "thoth-data", "base_db_path": "./local"},
            "gs://thoth-data/lancedb",
            True,
        ),
        (
            {"GCS_BUCKET_NAME": "thoth-data", "base_db_path": "gs://thoth-data/x"},
            "gs://thoth-data/x",
            True,
        ),
    ],
)
def test_the_database_of_the_collections_is_where_the_usual_variables_say(
    tmp_path: Path, environment: dict[str, str], place: str, is_given: bool
) -> None:
    collections = load(tmp_path, **environment).collections
    assert (collections.place, collections.is_given) == (place, is_given)


@pytest.mark.row("T7")
@pytest.mark.parametrize(
    ("environment", "problem"),
    [
        (
            {"base_db_path": "https://minio.example/b"},
            "is s3://BUCKET/PATH, and the server of it is named by AWS_END",
        ),
        ({"base_db_path": "s3:///path"}, "names no bucket; a folder, or gs://BUCKET/PATH"),
        ({"base_db_path": "ftp://host/x"}, "has the scheme 'ftp', which is not supported"),
        ({"base_db_path": "s3://key:secret@bucket/x"}, "credentials go into environment variables"),
        ({"base_db_path": " "}, "is empty"),
        ({"GCS_BUCKET_NAME": "gs://bucket"}, "is not the name of a bucket; write it alone"),
        (
            {"GCS_BUCKET_NAME": "one", "base_db_path": "s3://two/x"},
            "GCS_BUCKET_NAME is one; set one of them",
        ),
        ({"STACKROOM_COLLECTIONS_REFRESH_S": "-1"}, "is less than 0"),
        (
            {"STACKROOM_MODELS": "s3://bucket/models"},
            "is an address; a file or folder of this machine is needed",
        ),
    ],
)
def test_a_place_that_cannot_work_is_refused_with_what_would_be_right(
    tmp_path: Path, environment: dict[str, str], problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        load(tmp_path, **environment)


@pytest.mark.row("T7")
@pytest.mark.parametrize("address", ["s3://bucket/lib", "gs://bucket", "az://container/lib"])
def test_a_library_at_an_address_is_refused_with_the_commands_that_work(address: str) -> None:
    with pytest.raises(InputError) as refused:
        load_settings({"STACKROOM_HOME": address})
    assert f"stackroom publish NAME {address}" in refused.value.message
    assert f"stackroom sync {address}" in refused.value.message
    assert f"base_db_path={address}" in refused.value.message
