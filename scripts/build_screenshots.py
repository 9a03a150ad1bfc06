"""Takes the pictures of the page for README and docs (`make screenshots`): every view as it is, with the samples.

A library with the samples is made in build/screenshots, unless `--library FOLDER` names one; it is not changed.
`--only NAME` takes one picture.
"""

import argparse
import base64
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Error, Page, expect, sync_playwright

from support.browsing import launch
from support.processes import ServerProcess

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "pictures"
LIBRARY = ROOT / "build" / "screenshots" / "library"
DESK = (1200, 760)
PHONE = (390, 780)
SCALE = 1.25
TO_WEBP = """async (picture) => {
  const image = new Image();
  image.src = `data:image/png;base64,${picture}`;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height);
  canvas.getContext("2d").drawImage(image, 0, 0);
  const bytes = new Uint8Array(await (await canvas.convertToBlob({type: "image/webp", quality: .66})).arrayBuffer());
  return btoa(Array.from(bytes, (one) => String.fromCharCode(one)).join(""));
}"""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """One picture: where it is taken, and what is done before."""

    path: str
    do: Callable[[Page], None] = lambda _page: None
    size: tuple[int, int] = DESK
    scheme: str = "light"


def open_map(page: Page) -> None:
    """Wait until the points are drawn."""
    expect(page.locator("main canvas").first).to_be_visible()
    page.wait_for_timeout(1500)


def like_some(page: Page) -> None:
    """Like two records, and say what is wanted."""
    for place in (0, 1):
        page.get_by_role("button", name="Like").nth(place).click()
    page.goto(f"{origin_of(page)}/taste/anime")
    page.get_by_role("textbox").first.fill("calm, in space, not horror")
    expect(page.locator("article.hit").first).to_be_visible()
    page.wait_for_timeout(600)


def play_album(page: Page) -> None:
    """Open the first album, and play it where its sound is in the library."""
    page.locator("main a[href^='/music/album?']").first.click()
    play = page.get_by_role("button", name="Play", exact=True).first
    expect(play).to_be_visible()
    if play.is_enabled():
        play.click()
    page.wait_for_timeout(1200)


def origin_of(page: Page) -> str:
    """Return the address of the server that a page is of."""
    return str(page.evaluate("location.origin"))


SPACE = "/c/anime?q=a+melancholy+journey+through+space"
PICTURES = {
    "explore": Picture(path=SPACE),
    "record": Picture(path=f"{SPACE}&open=anime/mal-329"),
    "map": Picture(path=f"{SPACE}&view=map", do=open_map, scheme="dark"),
    "taste": Picture(path="/c/anime?q=space", do=like_some),
    "music": Picture(path="/music/albums", do=play_album),
    "phone": Picture(path=SPACE, size=PHONE),
}


def build_library(folder: Path) -> None:
    """Build the samples, once."""
    if not (folder / "catalogues").is_dir():
        subprocess.run(
            [sys.executable, "-m", "stackroom", "init"], env={**os.environ, "STACKROOM_HOME": str(folder)}, check=True
        )


def take(browser: Browser, server: ServerProcess, picture: Picture) -> bytes:
    """Return a picture as WebP."""
    width, height = picture.size
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if picture.scheme == "dark" else "light",
        device_scale_factor=SCALE,
        reduced_motion="reduce",
    )
    context.set_default_timeout(8_000)
    page = context.new_page()
    page.goto(f"{server.url}{picture.path}")
    page.wait_for_load_state("networkidle")
    picture.do(page)
    page.evaluate("document.activeElement?.blur()")
    taken = page.screenshot()
    page.goto("about:blank")
    encoded = page.evaluate(TO_WEBP, base64.b64encode(taken).decode())
    context.close()
    return base64.b64decode(encoded)


def save(browser: Browser, server: ServerProcess, name: str, folder: Path) -> bool:
    """Take a picture into a folder; say how large it is, or why there is none."""
    try:
        taken = take(browser, server, PICTURES[name])
    except (AssertionError, Error) as error:
        print(f"{name}: {str(error).splitlines()[0]}", file=sys.stderr)
        return False
    path = folder / f"{name}.webp"
    path.write_bytes(taken)
    print(f"{len(taken):8,} bytes  {path}", flush=True)
    return True


def main() -> None:
    """Take the pictures, and say how large each is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, default=None, help="a library with the samples and their vectors")
    parser.add_argument("--only", choices=[*PICTURES], action="append", help="take this picture; may be repeated")
    parser.add_argument("--into", type=Path, default=TARGET, help="the folder of the pictures")
    asked = parser.parse_args()
    if asked.library is None:
        build_library(LIBRARY)
    asked.into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = Path(folder) / "library"
        shutil.copytree(asked.library or LIBRARY, home, symlinks=True)
        server, browser = ServerProcess(home, "--no-accounts"), launch(playwright, has_webgl=True)
        try:
            missing = [name for name in asked.only or PICTURES if not save(browser, server, name, asked.into)]
        finally:
            browser.close()
            server.stop()
    if missing:
        sys.exit(f"not taken: {', '.join(missing)}")


if __name__ == "__main__":
    main()
