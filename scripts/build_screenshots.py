"""Takes the pictures of the page for README and docs (`make screenshots`): each view on desk and
phone, light and dark.

A library with the samples and a catalogue of drawn flowers is made in build/screenshots, unless
`--library FOLDER` names one; it is not changed. `--only NAME` takes the pictures of one view.
"""

import argparse
import csv
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from math import cos, pi, sin
from pathlib import Path

from PIL import Image, ImageDraw
from playwright.sync_api import Browser, BrowserContext, Error, Page, expect, sync_playwright

from support.browsing import launch
from support.llm_providers import KEY, ScriptedModel, serve_model
from support.llm_streams import Call, Reply
from support.processes import ServerProcess

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "pictures"
LIBRARY = ROOT / "build" / "screenshots" / "library"
SIZES = {"": (1200, 760), "-phone": (390, 780)}
SCHEMES = {"": "light", "-dark": "dark"}
QUALITY = 58
LONGEST_WAIT_MS = 120_000
MOST_FACES = 24
SETTLE_MS = 1_500
"""How long a view has for what comes last: covers, labels of the map, bars."""
SPACE = "/c/anime?q=a+melancholy+journey+through+space"


@dataclass(frozen=True, kw_only=True)
class View:
    """A view: where it is, and what is done before its picture is taken."""

    path: str
    do: Callable[[Page], None] = lambda _page: None


def open_map(page: Page) -> None:
    """Wait until the points are drawn."""
    expect(page.locator("main canvas").first).to_be_visible()
    page.wait_for_timeout(SETTLE_MS)


def like_some(page: Page) -> None:
    """Like two records, and say what is wanted."""
    for place in (0, 1):
        page.get_by_role("button", name="Like").nth(place).click()
    page.goto(f"{page.evaluate('location.origin')}/taste/anime")
    page.get_by_role("textbox").first.fill("calm, in space, not horror")
    expect(page.locator("article.hit").first).to_be_visible()


def play_track(page: Page) -> None:
    """Play the first track, so that the player is in the picture."""
    page.get_by_role("list", name="Ready to play").get_by_role("button", name="Play").first.click()
    expect(page.get_by_role("region", name="Player")).to_be_visible()


def talk(page: Page) -> None:
    """Ask the scripted model, and wait for its answer."""
    page.get_by_label("Your message").fill("Something calm about work in space, please")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Both are about people at work")).to_be_visible()


def add_table(page: Page) -> None:
    """Build a catalogue of a small table; show the one that there is, if it was built before."""
    table = (
        "title,author,year\nThe"
        " Tempest,Shakespeare,1611\nVolpone,Jonson,1606\nMacbeth,Shakespeare,1606\n"
    )
    choose = page.get_by_text("Drop a table here")
    expect(choose).to_be_visible()
    if page.get_by_role("link", name="plays.csv").count():
        page.get_by_role("link", name="plays.csv").click()
    else:
        page.locator("input[type=file]").set_input_files(
            [{"name": "plays.csv", "mimeType": "text/csv", "buffer": table.encode()}]
        )
    expect(page.get_by_role("heading", name="plays is ready")).to_be_visible()


def wait_for_pictures(page: Page) -> None:
    """Wait until every picture in sight is there."""
    shown = page.locator("img.face:visible")
    for place in range(min(shown.count(), MOST_FACES)):
        shown.nth(place).evaluate("(one) => one.complete || one.decode().catch(() => {})")


VIEWS = {
    "home": View(path="/"),
    "explore": View(path=SPACE),
    "gallery": View(path="/c/flowers?view=gallery"),
    "record": View(path=f"{SPACE}&open=anime/mal-329"),
    "map": View(path=f"{SPACE}&view=map", do=open_map),
    "taste": View(path="/c/anime?q=space", do=like_some),
    "music": View(path="/music", do=play_track),
    "chat": View(path="/c/anime", do=talk),
    "add": View(path="/add", do=add_table),
    "manage": View(path="/manage/flowers"),
}
ANSWER = (
    Reply(
        calls=(
            Call(
                name="search",
                args={"query": "calm work in space", "catalogue": "anime", "limit": 4},
            ),
        )
    ),
    Reply(
        text=(
            "**Planetes** and **Royal Space Force** come closest. Both are about people at work,"
            " and take their time: one collects debris in orbit, the other builds a first rocket"
            " with too little money."
        )
    ),
)

NAMES = [
    "Foxglove",
    "Bluebell",
    "Yarrow",
    "Teasel",
    "Betony",
    "Tansy",
    "Comfrey",
    "Chicory",
    "Borage",
    "Mallow",
    "Campion",
    "Cowslip",
    "Harebell",
    "Lupin",
    "Columbine",
    "Heather",
    "Clover",
    "Daisy",
    "Poppy",
    "Primrose",
    "Violet",
    "Thistle",
    "Meadowsweet",
    "Knapweed",
]
HABITATS = ("meadow", "shore", "woodland", "garden")
SEASONS = ("spring", "summer", "autumn")
BOTANISTS = ("Linnaeus", "Miller", "Salisbury")


def add_flowers(home: Path) -> None:
    """Add a catalogue of drawn flowers, most of them with a picture."""
    folder = home.parent / "flowers"
    folder.mkdir(parents=True, exist_ok=True)
    chance, text = random.Random(7), io.StringIO()
    table = csv.writer(text)
    table.writerow(
        [
            "name",
            "habitat",
            "flowering_season",
            "author_names",
            "publish_year",
            "height_cm",
            "notes",
            "image",
        ]
    )
    for name in NAMES:
        picture = f"{name.lower()}.png" if chance.random() > 0.15 else ""
        if picture:
            draw_flower(chance).save(folder / picture)
        habitat, season, botanist = (
            chance.choice(HABITATS),
            chance.choice(SEASONS),
            chance.choice(BOTANISTS),
        )
        note = (
            f"{name} grows in the {habitat} and flowers in {season}. {botanist} described it first."
        )
        table.writerow(
            [
                name,
                habitat,
                season,
                botanist,
                chance.randint(1753, 1830),
                chance.randint(8, 180),
                note,
                picture,
            ]
        )
    (folder / "flowers.csv").write_text(text.getvalue(), encoding="utf-8")
    run(home, "add", str(folder / "flowers.csv"), "--yes")


def draw_flower(chance: random.Random) -> Image.Image:
    """Return a picture of a flower of any colour, before a sky and a meadow."""
    picture = Image.new("RGB", (400, 540), (170, 195, 205))
    pen = ImageDraw.Draw(picture)
    for line in range(300):
        pen.line(
            [(0, 240 + line), (400, 240 + line)],
            fill=(150 - line // 4, 185 - line // 6, 140 - line // 4),
        )
    petal = tuple(chance.randint(110, 240) for _ in range(3))
    for _ in range(chance.randint(3, 6)):
        x, y, radius = chance.randint(60, 340), chance.randint(90, 330), chance.randint(22, 44)
        pen.line([(x, y), (x + chance.randint(-18, 18), 540)], fill=(52, 92, 48), width=5)
        for leaf in range(6):
            turn = leaf * pi / 3
            middle = (x + radius * cos(turn), y + radius * sin(turn))
            pen.circle(middle, radius * 0.72, fill=petal)
        pen.circle((x, y), radius * 0.45, fill=(236, 200, 64))
    return picture


def run(home: Path, *command: str) -> None:
    """Run a command of Stackroom in a library."""
    environment = {**os.environ, "STACKROOM_HOME": str(home)}
    subprocess.run([sys.executable, "-m", "stackroom", *command], env=environment, check=True)


def build_library(folder: Path) -> None:
    """Build the samples, once."""
    if not (folder / "catalogues").is_dir():
        run(folder, "init")


def open_context(
    browser: Browser, model: ScriptedModel, size: tuple[int, int], scheme: str
) -> BrowserContext:
    """Return a browser that knows the scripted model; the chat is open only where its view is
    taken.
    """
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
        reduced_motion="reduce",
        locale="en-GB",
    )
    context.set_default_timeout(LONGEST_WAIT_MS)
    own = {
        "key": KEY,
        "model": "claude",
        "address": model.address_of("anthropic"),
        "protocol": "responses",
    }
    kept = json.dumps(json.dumps({"provider": "anthropic", "providers": {"anthropic": own}}))
    context.add_init_script(f"localStorage.setItem('ai_chat_config', {kept});")
    return context


def take(context: BrowserContext, origin: str, name: str, model: ScriptedModel) -> Image.Image:
    """Return the picture of a view."""
    view, page = VIEWS[name], context.new_page()
    if name == "chat":
        model.script(*ANSWER)
        page.add_init_script("localStorage.setItem('docks', JSON.stringify({chat: true}));")
    page.goto(f"{origin}{view.path}")
    page.wait_for_load_state("networkidle")
    view.do(page)
    wait_for_pictures(page)
    page.wait_for_timeout(SETTLE_MS)
    page.evaluate("document.activeElement?.blur()")
    taken = Image.open(io.BytesIO(page.screenshot()))
    page.close()
    return taken.convert("RGB")


def save_all(browser: Browser, server: ServerProcess, names: list[str], folder: Path) -> list[str]:
    """Take all pictures of these views; return those that could not be taken."""
    missing = []
    with serve_model() as model:
        for kind, size in SIZES.items():
            for shade, scheme in SCHEMES.items():
                for name in names:
                    context = open_context(browser, model, size, scheme)
                    path = folder / f"{name}{kind}{shade}.webp"
                    try:
                        take(context, server.url, name, model).save(path, quality=QUALITY, method=6)
                        print(f"{path.stat().st_size:8,} bytes  {path}", flush=True)
                    except (AssertionError, Error) as error:
                        print(f"{path.name}: {str(error).splitlines()[0]}", file=sys.stderr)
                        missing.append(path.name)
                    context.close()
    return missing


def main() -> None:
    """Take the pictures, and say how large each is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--library", type=Path, default=None, help="a library with the samples and their vectors"
    )
    parser.add_argument(
        "--only", choices=[*VIEWS], action="append", help="take this view; may be repeated"
    )
    parser.add_argument("--into", type=Path, default=TARGET, help="the folder of the pictures")
    asked = parser.parse_args()
    expect.set_options(timeout=LONGEST_WAIT_MS)
    if asked.library is None:
        build_library(LIBRARY)
    asked.into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = Path(folder) / "library"
        shutil.copytree(asked.library or LIBRARY, home, symlinks=True)
        add_flowers(home)
        server = ServerProcess(
            home, "--no-accounts", environment={"STACKROOM_WEB_CONNECT": "http://127.0.0.1:*"}
        )
        browser = launch(playwright, has_webgl=True)
        try:
            missing = save_all(browser, server, asked.only or [*VIEWS], asked.into)
        finally:
            browser.close()
            server.stop()
    if missing:
        sys.exit(f"not taken: {', '.join(missing)}")


if __name__ == "__main__":
    main()
