"""The catalogue that downloaded albums are added to, and who may have them."""

from pathlib import Path

from stackroom.api import Action, ForbiddenError, InputError, NotFoundError
from stackroom.api.server import LOCAL_USER, Author, IngestRequest, ServerContext
from stackroom_catalogues.music.downloads.queue import Download
from stackroom_catalogues.music.tags import read_tags

NAME = "music"  # name of the catalogue, and of its folder in the library, where there is none yet


class AlbumCatalogue:
    """The catalogue that downloaded albums are added to, and the rights that a user needs for
    that.
    """

    def __init__(self, context: ServerContext, folder: Path) -> None:
        self._context = context
        self._folder = folder

    def find_name(self) -> str | None:
        """Return the catalogue built from the music folder, else one of music; None where there is
        none.
        """
        folder = self._folder.resolve()
        found = self._context.list_catalogues()
        own = [one for one in found if folder in (Path(place).resolve() for place in one.sources)]
        named = [one for one in found if one.name == NAME]
        return next((one.name for one in (*own, *named, *found)), None)

    def get_name(self) -> str:
        """Return the name of the catalogue, whether it exists yet or not."""
        return self.find_name() or NAME

    def find_refusal(self, download: Download) -> str | None:
        """Return why a user may no longer have a download; None where they could request it
        today.
        """
        if download.user == LOCAL_USER.name:
            return None
        try:
            principal = self._context.get_principal(download.user)
        except (NotFoundError, ForbiddenError) as error:
            return f"it was requested by a user who may not have it any more: {error.message}"
        if Action.REQUEST_CONTENT not in principal.actions:
            return (
                f"user '{download.user}', who requested it, no longer has the permission"
                f" {Action.REQUEST_CONTENT}"
            )
        if not principal.visibility.sees_catalogue(self.get_name()):
            return (
                f"user '{download.user}', who requested it, may no longer see the catalogue that"
                " albums are added to"
            )
        return None

    @staticmethod
    def find_problem(file: Path) -> str | None:
        """Return why a downloaded file is not audio, since a server may send a page under its name;
        None where it is.
        """
        if file.stat().st_size == 0:
            return "it is empty"
        try:
            read_tags(file)
        except InputError as error:
            return error.message
        return None

    def add_album(self, album: Path, download: Download) -> str | None:
        """Refresh the catalogue from the music folder; return which files of the album it left out.

        An album that was deleted from the catalogue comes back, since it was requested again. To
        add one twice is to add it once; a refresh that reads no file raises.
        """
        below = album.relative_to(self._folder)
        request = IngestRequest(
            author=Author(principal=download.user, call_id=download.call_id or ""),
            asks_for=lambda place: place.startswith(f"{below.as_posix()}/"),
        )
        report = self._context.refresh(self.get_name(), str(self._folder), request)
        rejects = report.rejects
        left_out = [one for one in rejects if Path(one[0]).is_relative_to(below)]
        if not left_out:
            return None
        place, reason = left_out[0]
        return (
            f"not in the catalogue: {len(left_out)} of its files, such as '{Path(place).name}':"
            f" {reason}"
        )

    def record_download(self, download: Download) -> None:
        """Record a finished download for analytics."""
        self._context.events.record_download(
            download.user, str(download.id), download.received_bytes, catalogue=self.get_name()
        )
