"""The terminal: every command's help, and commands, plain and with --json."""

import json
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from golden_answers.recorder import Recorder, World, body_of

BOTH_WAYS = (
    "list",
    "search anime 'melancholy journey through space' --limit 2",
    "search 'how warm should red wine be' --limit 2",
    "search anime 'how many films from the 90s, not horror' --limit 1",
    "search anime 'giant robots' --type MOVIE,OVA --year 1980..2005 --not-tags comedy --limit 2",
    "search wines '*' --country Spain",
    "search wines 'zqxjk vbnwpt'",
    "explain anime 'space pirates'",
    "explain anime 'space pirates' mal-1",
    "recommend anime 'Cowbow Bebop' --wishes 'post-2010, not horror, under 26 episodes' --limit 2",
    "recommend wines --wishes 'under $20, not from France' --limit 2",
    "similar wines/A1 --limit 2",
    "similar 'Cowboy Bebop' --limit 2",
    "get anime 'cowboy bebop'",
    "get wines A1",
    "browse anime --limit 4",
    "browse anime --by type --of episodes --tags space",
    "browse anime --by year/decade,type --of episodes --sort mean --limit 3",
    "browse wines --of price --sort asc --limit 3",
    "browse anime --field season",
    "browse anime --search spce",
    "rejects wines",
    "packages",
    "spec show wines",
    "model list",
    "map wines",
    "embed wines --status",
    "rag query 'how is a round decided'",
    "install",
)
"""Commands that change nothing, each also with --json."""
PLAIN = (
    "",
    "--version",
    "search anime robots --tag mecha",
    "search anime robots --year old",
    "search nothing robots",
    "search anime ''",
    "search anime robots --limit 51",
    "get anime zqxjk",
    "get anime",
    "similar wines/Z9",
    "recommend anime 'zqxjk vbnwpt'",
    "browse wines --by colour",
    "browse wines --of name",
    "nothing",
    "serach anime robots",
    "list --nothing",
    "spec check {tables}/wines.csv",
    "spec infer {tables}/survey.csv",
    "spec infer {tables}/wines.csv --title bin --drop grape",
    "spec show nothing",
    "install cursor anime --print",
    "install claude-desktop --print",
    "install codex --url https://stackroom.example.org --token stk_t_x --print",
    "install nothing",
    "add {tables}/nothing.csv",
    "add {tables}/survey.csv --plan --yes",
    "add {tables}/wines.csv --plan",
    "remove nothing",
    "rename wines anime",
    "undo nothing",
    "user list",
    "audit tail",
    "token list",
    "job show backup",
    "model pull nothing",
    "pack verify {tables}",
    "restore",
    "update",
    "rollback wines",
    "move wines --to here",
    "rag health",
    "rag check",
)
EXPORTED = (
    ("wines.csv", "export wines --to wines.csv"),
    ("wines.json", "export wines --to wines.json --country Spain"),
    ("wines.xlsx", "export wines --to wines.xlsx --sort -price"),
    ("papers.bib", "export papers physics --to papers.bib"),
    ("papers.parquet", "export papers --to papers.parquet --publish_year 2000.."),
    ("groups.csv", "export anime --to groups.csv --by year/decade --of episodes"),
    ("wines.csv", "export wines --to wines.csv"),
    ("wines.csv", "export wines 'shellfish' --to wines.csv --force"),
    ("wines.pdf", "export wines --to wines.pdf"),
    ("papers.json", "paper-table papers --to papers.sqlite"),
)
"""Commands that write a file, which is recorded too."""
CHANGING = (
    "add {tables}/survey.csv --yes --name survey",
    "add {tables}/survey.csv --yes --name survey --json",
    "search survey '*' --limit 2",
    "describe survey --title 'What people said' --editable",
    "describe survey --summary '' --json",
    "describe survey",
    "spec show survey",
    "rename survey answers",
    "remove answers --json",
    "list",
    "undo answers",
    "undo survey",
    "eval wines --questions 30",
    "pack build wines {pack} --licence CC0-1.0",
    "pack verify {pack}",
    "pack publish {pack} {place}",
    "init bottles --from {place}",
    "init wines --from {place}",
    "rejects survey --json",
    "user add ada --role admin --one-time",
    "user add rita --password-stdin",
    "user add rita --password-stdin",
    "user add tim --role king --one-time",
    "user add eve --role editor --grant ViewAnalytics --catalogue wines --one-time --json",
    "user list",
    "user list --json",
    "user show rita",
    "user show rita --json",
    "user show nothing",
    "user grant rita ViewAnalytics RequestContent",
    "user revoke rita ViewAnalytics",
    "user grant rita Everything",
    "user role rita editor user",
    "user catalogues rita wines anime --json",
    "user disable rita",
    "user enable rita --json",
    "user role ada none",
    "user passwd rita --one-time --revoke-tokens",
    "user delete ada --yes",
    "role add staff --allow AccessCatalog --read-per-minute 50",
    "role change staff --write-per-minute 5 --json",
    "role list",
    "role list --json",
    "role delete staff",
    "role delete admin",
    "token add laptop --user ada",
    "token add phone --user rita --scope AccessCatalog --catalogue wines --expires never --json",
    "token list",
    "token list --user rita --json",
    "token revoke nothing",
    "access restrict wines --user rita --role editor",
    "access list",
    "access list --json",
    "access open wines",
    "access restrict nothing",
    "job list",
    "job list --json",
    "job show backup --json",
    "job schedule backup '30 2 * * *'",
    "job schedule backup often",
    "job disable backup",
    "job enable backup --json",
    "job run prune_logs",
    "job run nothing",
    "job history",
    "job history prune_logs --json",
    "job output prune_logs",
    "job trigger backup",
    "job cancel backup",
    "audit tail -n 50",
    "audit tail -n 5 --json",
    "audit tail --outcome refused",
    "audit tail --since soon",
    "audit verify",
    "audit verify --expect 1:00",
    "doctor",
    "doctor --json",
    "backup --to {backups}",
    "restore {backups}",
    "remove bottles",
)
"""Commands that change the library, in this order."""
CHILD = Path(__file__).with_name("help_child.py")
SECRET = re.compile(r"^\s*[A-Za-z0-9_-]{20,60}\s*$", re.MULTILINE)


def record_terminal(recorder: Recorder, world: World) -> None:
    """Record commands: those that change nothing two at a time, then the others in order."""
    calm = [*PLAIN, *BOTH_WAYS, *(f"{command} --json" for command in BOTH_WAYS)]
    with ThreadPoolExecutor(2) as pool:
        for command, answer in zip(
            calm, pool.map(lambda command: _answer(world, command), calm), strict=True
        ):
            recorder.note("terminal", "local", command.split(" ")[0], {"command": command}, answer)
    for told in _all_helps(world):
        recorder.note("terminal", "local", "--help", {"command": told["command"]}, told["text"])
    for name, command in EXPORTED:
        answer = _answer(world, command)
        path = world.folder / name
        answer["file"] = _content(path) if path.exists() else None
        recorder.note("terminal", "local", command.split(" ")[0], {"command": command}, answer)
    for command in CHANGING:
        answer = _answer(world, command)
        recorder.note(
            "terminal", "local", " ".join(command.split(" ")[:2]), {"command": command}, answer
        )


def _answer(world: World, command: str) -> dict[str, Any]:
    places = {
        "tables": str(world.tables),
        "pack": str(world.folder / "pack"),
        "place": str(world.folder / "releases"),
        "backups": str(world.folder / "backups"),
    }
    done = world.run(
        *(part.format(**places) for part in shlex.split(command)), given="golden-correct-horse\n"
    )
    out: Any = SECRET.sub("<a secret>", done.stdout)
    if command.endswith("--json"):
        try:
            out = json.loads(done.stdout)
        except ValueError:
            out = done.stdout
    return {"code": done.returncode, "out": out, "err": done.stderr}


def _content(path: Path) -> Any:
    content = path.read_bytes()
    is_text = not content.startswith((b"PK", b"PAR1"))
    return body_of("text/plain" if is_text else "", content)


def _all_helps(world: World) -> list[dict[str, str]]:
    """Return the help of every command."""
    child = [str(world.stackroom.with_name("python")), str(CHILD), str(world.stackroom)]
    done = subprocess.run(
        child, env=world.environment, cwd=world.folder, capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]
