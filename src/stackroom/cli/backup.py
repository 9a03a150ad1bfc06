"""`backup` and `restore`: a library as files with checksums, and back."""

from contextlib import suppress
from pathlib import Path

import click

from stackroom.background.background import list_server_tasks
from stackroom.cli.opening import open_app
from stackroom.cli.operations import find_control
from stackroom.cli.output import command, flag, json_option, print_answer, print_as_json
from stackroom.cli.private_files import keep_private
from stackroom.cli.progress import ProgressLine, progress_line
from stackroom.control.database.tables import utc_now
from stackroom.errors import ConflictError, NotFoundError, StorageError, did_you_mean
from stackroom.jobs.backup import (
    BACKUPS,
    CATALOGUES,
    MANIFEST,
    backups_folder,
    check_backup,
    find_backup,
    load_checksums,
    make_backup,
    plan_backup,
    restore_files,
    size_of_backup,
)
from stackroom.jobs.job import JobContext
from stackroom.settings import CONTROL_FILE, Settings, load_settings


class _Shown(JobContext):
    """Shows the progress of a back-up at the terminal."""

    def __init__(self, line: ProgressLine) -> None:
        super().__init__()
        self._line = line

    def progress(self, done: int, total: int | None = None, message: str = "") -> None:
        super().progress(done, total, message)
        self._line.hint(f"{done} of {total} {message}")


@command("backup")
@click.option("--to", metavar="FOLDER", help="A folder; by default backups in the library.")
@click.option(
    "--keep",
    type=click.IntRange(1),
    default=BACKUPS,
    help=f"How many are kept there; default: {BACKUPS}.",
)
@flag("--models", help="With the embedding models, which can be fetched again.")
@json_option
def backup_command(to: str | None, keep: int, models: bool) -> None:
    """Copy records, edits, accounts, audit, settings and uploaded tables to a folder, with
    checksums.
    """
    app = open_app()
    with find_control() as control, progress_line("backup") as line:
        plan = plan_backup(app, control, with_models=models)
        folder = backups_folder(to, app.settings)
        made = make_backup(plan, folder, at=utc_now(), keep=keep, context=_Shown(line))
    size_bytes = size_of_backup(made)
    if print_as_json(
        {
            "folder": str(made),
            "items": len(plan.items),
            "size_bytes": size_bytes,
            "notes": plan.notes,
        }
    ):
        return
    click.echo(f"{len(plan.items)} items, {size_bytes / 1_000_000:,.1f} MB, in {made}")
    for note in plan.notes:
        click.echo(f"note: {note}")


@command("restore")
@click.argument("place", metavar="[FROM]", required=False)
@click.option("--catalogue", metavar="NAME", help="Only this catalogue, whose name must be free.")
@flag("--accounts", help="Only accounts and audit; the present ones are kept beside them.")
@json_option
def restore_command(place: str | None, catalogue: str | None, accounts: bool) -> None:
    """Bring the back-up FROM into the library; by default the newest one of the folder where its
    back-ups are kept.
    """
    settings = load_settings()
    if catalogue is None and (servers := list_server_tasks(settings.home)):
        raise ConflictError(
            f"a server runs on this library ({servers[0].place}): stop it first, or restore one"
            " catalogue (--catalogue)"
        )
    keep_private(settings.home)
    backup = find_backup(place, settings)
    if problems := check_backup(backup):
        raise StorageError(
            f"the back-up is damaged, and nothing was restored: {'; '.join(problems[:3])}"
        )
    names = _names_of(backup, settings, catalogue=catalogue, accounts=accounts)
    restore_files(backup, settings.home, names)
    text = f"restored from {backup.name}: {', '.join(names)}; check it: stackroom doctor"
    print_answer({"backup": backup.name, "restored": names}, text)


def _names_of(
    backup: Path, settings: Settings, *, catalogue: str | None, accounts: bool
) -> list[str]:
    """Return what is restored, sorted; the present accounts are moved away for those in the
    back-up.
    """
    files = load_checksums(backup)
    known = sorted({name.split("/")[1] for name in files if name.startswith(f"{CATALOGUES}/")})
    if catalogue is not None:
        if catalogue not in known:
            hint = did_you_mean(catalogue, known)
            raise NotFoundError(
                f"no catalogue '{catalogue}' in the back-up{hint}; it has: {', '.join(known)}"
            )
        return [f"{CATALOGUES}/{catalogue}"]
    if accounts:
        if CONTROL_FILE not in files:
            problem = (
                "the back-up has no accounts; PostgreSQL is restored by its own tools, such as"
                " pg_restore"
            )
            raise NotFoundError(problem)
        for suffix in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                path = settings.home / f"{CONTROL_FILE}{suffix}"
                path.replace(path.with_name(f"{CONTROL_FILE}.before-restore{suffix}"))
        return [CONTROL_FILE]
    parts = sorted(path.name for path in backup.iterdir() if path.name != MANIFEST)
    for name in parts:
        with suppress(OSError):
            (settings.home / name).rmdir()  # one without anything in it
    if present := [name for name in parts if (settings.home / name).exists()]:
        raise ConflictError(
            f"{settings.home} has {', '.join(present)} already: restore into an empty library"
            " (STACKROOM_HOME), or a part: --catalogue NAME, --accounts"
        )
    return parts
