"""Settings of collections, and folders that cannot be addresses."""

from pathlib import Path

import pytest

from stackroom.errors import InputError
from stackroom.settings import Settings, load_settings


def load(home: Path, file: str = "", **environment: str) -> Settings:
    (home / "stackroom.toml").write_text(file, encoding="utf-8")
    return load_settings({"STACKROOM_HOME": str(home), **environment})


@pytest.mark.row("T7")
@pytest.mark.parametrize(
    ("environment", "place", "is_given"),
    [
        ({}, "./vector_dbs", False),
        ({"base_db_path": "/data/vectors"}, "/data/vectors", True),
        ({"base_db_path": "s3://bucket/lancedb"}, "s3://bucket/lancedb", True),
        ({"base_db_path": "az://container/lancedb"}, "az://container/lancedb", True),
        ({"GCS_BUCKET_NAME": "thoth-data", "GCP_PROJECT_ID": "thoth"}, "gs://thoth-data/lancedb", True),
        ({"GCS_BUCKET_NAME": "thoth-data", "base_db_path": "./local"}, "gs://thoth-data/lancedb", True),
        ({"GCS_BUCKET_NAME": "thoth-data", "base_db_path": "gs://thoth-data/x"}, "gs://thoth-data/x", True),
    ],
)
def test_the_database_of_the_collections_is_where_the_usual_variables_say(
    tmp_path: Path, environment: dict[str, str], place: str, is_given: bool
) -> None:
    collections = load(tmp_path, **environment).collections
    assert (collections.place, collections.is_given) == (place, is_given)


def test_the_file_names_the_collections_too(tmp_path: Path) -> None:
    file = '[collections]\nbase_db_path = "gs://b-1/x"\nnames = ["handbook", "dnd"]\nrefresh_s = 60\n'
    collections = load(tmp_path, file).collections
    assert (collections.place, collections.names, collections.refresh_s) == ("gs://b-1/x", ("handbook", "dnd"), 60)


@pytest.mark.row("T7")
@pytest.mark.parametrize(
    ("environment", "problem"),
    [
        ({"base_db_path": "https://minio.example/b"}, "is s3://BUCKET/PATH, and the server of it is named by AWS_END"),
        ({"base_db_path": "s3:///path"}, "names no bucket; a folder, or gs://BUCKET/PATH"),
        ({"base_db_path": "ftp://host/x"}, "has the scheme 'ftp', which is not supported"),
        ({"base_db_path": "s3://key:secret@bucket/x"}, "credentials go into environment variables"),
        ({"base_db_path": " "}, "is empty"),
        ({"GCS_BUCKET_NAME": "gs://bucket"}, "is not the name of a bucket; write it alone"),
        ({"GCS_BUCKET_NAME": "one", "base_db_path": "s3://two/x"}, "GCS_BUCKET_NAME is one; set one of them"),
        ({"STACKROOM_COLLECTIONS_REFRESH_S": "-1"}, "is less than 0"),
        ({"STACKROOM_MODELS": "s3://bucket/models"}, "is an address; a file or folder of this machine is needed"),
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
