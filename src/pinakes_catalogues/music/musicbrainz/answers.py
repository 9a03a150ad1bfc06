"""The answers of MusicBrainz's web service, as far as they are read; anything else in them is ignored."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Text = Annotated[str, Field(max_length=2_000)]
ID = r"^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$"


class Answer(BaseModel):
    """A part of an answer."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class AliasAnswer(Answer):
    """Another name of an artist."""

    name: Text


class ArtistAnswer(Answer):
    """An artist that a search found."""

    id: str = Field(pattern=ID)
    name: Text
    disambiguation: Text = ""
    country: Text = ""
    aliases: list[AliasAnswer] = Field(default_factory=list)

    @property
    def label(self) -> str:
        """The name with what tells the artist from others, and the id."""
        told = ", ".join(filter(None, (self.disambiguation, self.country)))
        return f"{self.name}{f' ({told})' if told else ''} [{self.id}]"


class ArtistsAnswer(Answer):
    """The answer of a search for artists."""

    artists: list[ArtistAnswer] = Field(max_length=100)


class ReleaseGroupAnswer(Answer):
    """An album in all its editions."""

    id: str = Field(pattern=ID)
    title: Text
    kinds: list[Text] = Field(default_factory=list, alias="secondary-types")
    released: str = Field(default="", alias="first-release-date", max_length=40)

    @property
    def year(self) -> int | None:
        """The year of the first edition."""
        year = self.released[:4]
        return int(year) if year.isascii() and year.isdecimal() and len(year) == 4 and int(year) >= 1000 else None


class ReleaseGroupsAnswer(Answer):
    """A page of the albums of an artist."""

    count: int = Field(alias="release-group-count", ge=0)
    groups: list[ReleaseGroupAnswer] = Field(alias="release-groups", max_length=100)
