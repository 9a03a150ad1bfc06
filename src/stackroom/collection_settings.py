"""Settings of collections: the LanceDB database that their tables are in, and how they are synced from it."""

import re

from pydantic import field_validator, model_validator

from stackroom.setting_types import Number, SettingsSection, Texts, setting

DEFAULT_FOLDER = "./vector_dbs"
BUCKET_FOLDER = "lancedb"
"""The path of the database in a bucket that is given by its name alone."""
SCHEMES = ("gs", "s3", "az")
ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)(.*)", re.DOTALL)
BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")
RIGHT = "a folder, or gs://BUCKET/PATH, s3://BUCKET/PATH or az://CONTAINER/PATH, is right"


def is_remote(place: str) -> bool:
    """Tell whether a database is not on this machine's disk."""
    return "://" in place and not place.startswith("file://")


def find_place_problem(place: str) -> str | None:
    """Return why no database can be at this place, as the end of a sentence that begins with it; None if it can."""
    if not place.strip():
        return f"is empty; {RIGHT}"
    address = ADDRESS.fullmatch(place)
    if address is None or address[1] == "file":
        return None
    scheme, bucket, _path = address.groups()
    if scheme in ("http", "https"):
        return (
            "is the address of a server; the database is s3://BUCKET/PATH, and the server of it is named by "
            "AWS_ENDPOINT_URL"
        )
    if scheme not in SCHEMES:
        return f"has the scheme '{scheme}', which is not supported; {RIGHT}"
    if "@" in bucket or ":" in bucket:
        return f"has more than a bucket before its path; credentials go into environment variables; {RIGHT}"
    return None if bucket else f"names no bucket; {RIGHT}"


class CollectionSettings(SettingsSection):
    """Collections in a LanceDB database, one table `NAME_documents` each, which servers sync into the library."""

    base_db_path: str = setting(DEFAULT_FOLDER, "base_db_path")
    """The database: a folder, or `gs://BUCKET/PATH`, `s3://BUCKET/PATH`, `az://CONTAINER/PATH`. The default is used
    if there is such a folder where the server starts."""
    gcs_bucket_name: str = setting("", "GCS_BUCKET_NAME")
    """A bucket of Google Cloud Storage, instead of `base_db_path`: the database is `gs://BUCKET/lancedb`."""
    gcp_project_id: str = setting("", "GCP_PROJECT_ID")
    """The project of that bucket; accepted and not used, since reading and writing need none."""
    names: Texts = setting((), "STACKROOM_COLLECTIONS")
    """The collections that are expected, separated by commas; empty: all that the database has."""
    model: str = setting("", "STACKROOM_COLLECTIONS_MODEL")
    """The model of the vectors in tables that do not say which it is."""
    refresh_s: Number = setting(300.0, "STACKROOM_COLLECTIONS_REFRESH_S", ge=0)
    """How many seconds after a look at the versions of the tables the next follows; 0: only one, at the start."""

    @field_validator("base_db_path")
    @classmethod
    def _require_place(cls, place: str) -> str:
        if (problem := find_place_problem(place)) is not None:
            raise ValueError(problem)
        return place

    @field_validator("gcs_bucket_name")
    @classmethod
    def _require_bucket(cls, bucket: str) -> str:
        if bucket and not BUCKET.fullmatch(bucket):
            raise ValueError("is not the name of a bucket; write it alone, without gs:// and without a path")
        return bucket

    @model_validator(mode="after")
    def _require_one_place(self) -> "CollectionSettings":
        address = ADDRESS.fullmatch(self.base_db_path)
        is_same = address is None or (address[1], address[2]) == ("gs", self.gcs_bucket_name)
        if self.gcs_bucket_name and not is_same:
            raise ValueError(
                f"base_db_path is {self.base_db_path}, but GCS_BUCKET_NAME is {self.gcs_bucket_name}; set one of them"
            )
        return self

    @property
    def place(self) -> str:
        """The folder or address of the database."""
        if self.gcs_bucket_name and not is_remote(self.base_db_path):
            return f"gs://{self.gcs_bucket_name}/{BUCKET_FOLDER}"
        return self.base_db_path

    @property
    def is_given(self) -> bool:
        """Whether the place is set, not the default."""
        return self.place != DEFAULT_FOLDER
