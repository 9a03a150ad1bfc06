"""Three clocks of the page, in a real Chromium on this machine: key to results, first frame of the
map, CSV of all.

    .venv/bin/python benchmarks/page.py --library HOME [--catalogue anime]
    .venv/bin/python benchmarks/page.py --url http://localhost:8000

Sentences are typed letter by letter into the box of a catalogue, each letter when the results of
the one before are shown. A sample is the time from the event of a key to the frame in which the
hits for the text are drawn: with the pause that the page waits for further keys, the request, the
search and the drawing. Beside it, the time of the same requests without a browser.

The map is opened by its address in a new tab, after a first one has filled the caches of browser
and server; a sample is the time from the navigation to its first frame, which Chromium draws
without a graphics card. The CSV is that of *Export*, read without a browser: until its first byte,
and until its last.

All of it controls for nothing but the machine; run it on one that does nothing else. The aims are
those for 20,666 records on two idle cores.
"""

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from playwright.sync_api import BrowserContext, Page, sync_playwright

SENTENCES = (
    "space adventure after 2010, not horror",
    "girls who play in a band",
    "time travel romance",
    "robots and the end of the world",
    "detective mysteries before 2000",
    "fulmetal alchemst",
    "a quiet story about grief",
    "cooking",
)
PATIENCE_S = 90
AIMS_MS = {
    "key to results in the page": 100,
    "first frame of the map": 2000,
    "CSV of all records": 3000,
}
"""The aims: for keys the p95, else the median."""
TIMES = 5
FIRST_FRAME = """
new MutationObserver((_changes, observer) => {
  if (!document.querySelector(".map-stage")?.dataset.frames) return;
  observer.disconnect();
  window.firstFrame = performance.now();
}).observe(document, {
  subtree: true, childList: true, attributes: true, attributeFilter: ["data-frames"],
});
"""
NOTE_RESULTS = """
() => {
  window.samples = [];
  let pressed = null, wasBusy = false;
  document.addEventListener("input", (event) => {
    pressed = event.timeStamp;
    wasBusy = false;
  }, true);
  new MutationObserver(() => {
    const isBusy = document.querySelector(".found")?.getAttribute("aria-busy") === "true";
    if (wasBusy && !isBusy && pressed !== null) {
      const began = pressed;
      pressed = null;
      requestAnimationFrame(() => window.samples.push(performance.now() - began));
    }
    wasBusy = isBusy;
  }).observe(document.body, {subtree: true, attributes: true, attributeFilter: ["aria-busy"]});
}
"""


def main() -> None:
    """Type, open the map, export, and print how long each took."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--library", help="a library to serve (STACKROOM_HOME)")
    parser.add_argument("--url", help="a server without accounts that runs already")
    parser.add_argument("--catalogue", default="anime")
    given = parser.parse_args()
    if bool(given.library) == bool(given.url):
        parser.error("give either --library or --url")
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
    if given.url:
        measure(given.url, given.catalogue)
    else:
        with served(given.library) as url:
            measure(url, given.catalogue)


def measure(url: str, catalogue: str) -> None:
    """Print how long requests take, and how long a person waits for results."""
    report("request for hits, without a browser", list(iter_requests(url, catalogue)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("google-chrome"),
            args=["--no-sandbox", "--disable-gpu"],
        )
        # to wait for functions
        context = browser.new_context(viewport={"width": 1440, "height": 900}, bypass_csp=True)
        page = context.new_page()
        page.goto(f"{url}/c/{catalogue}")
        report("key to results in the page", typed(page), judged=18)
        report("first frame of the map", mapped(context, f"{url}/c/{catalogue}?view=map"), judged=9)
        browser.close()
    first, last, size = zip(*(exported(url, catalogue) for _ in range(TIMES)), strict=True)
    report(f"first byte of the CSV ({size[0] / 1e6:.1f} MB)", first)
    report("CSV of all records", last, judged=9)


def iter_requests(url: str, catalogue: str) -> Iterator[float]:
    """Yield the milliseconds of the request for each beginning of each sentence."""
    for sentence in SENTENCES:
        for length in range(1, len(sentence) + 1):
            asked = {
                "query": sentence[:length].strip(),
                "catalogue": catalogue,
                "read_conditions": True,
                "include": ["tiles", "counts"],
                "limit": 24,
            }
            headers = {"Content-Type": "application/json"}
            request = Request(f"{url}/v1/tools/search", json.dumps(asked).encode(), headers)
            began = time.perf_counter()
            with urlopen(request) as reply:
                reply.read()
            yield (time.perf_counter() - began) * 1000


def typed(page: Page) -> list[float]:
    """Type every sentence, each letter when the results of the one before are shown; return the
    milliseconds.
    """
    box = page.get_by_role("searchbox").first
    page.wait_for_selector(".hit")
    page.evaluate(NOTE_RESULTS)
    for sentence in SENTENCES:
        box.fill("")
        page.wait_for_selector(".found[aria-busy=false]")
        page.wait_for_timeout(300)
        for letter in sentence:
            known = page.evaluate("window.samples.length")
            box.press_sequentially(letter)
            if letter != " ":
                page.wait_for_function("(known) => window.samples.length > known", arg=known)
    samples: list[float] = page.evaluate("window.samples")
    return samples


def mapped(context: BrowserContext, address: str) -> list[float]:
    """Open the map in new tabs of a browser that has shown it; return the milliseconds to its first
    frame.
    """
    context.add_init_script(FIRST_FRAME)
    samples = []
    for _ in range(TIMES + 1):
        page = context.new_page()
        page.goto(address)
        page.wait_for_function("window.firstFrame", timeout=PATIENCE_S * 1000)
        samples.append(float(page.evaluate("window.firstFrame")))
        page.close()
    return samples[1:]


def exported(url: str, catalogue: str) -> tuple[float, float, int]:
    """Export all records as CSV; return the milliseconds to the first byte and to the last, and the
    bytes.
    """
    asked = urlencode(
        {"format": "csv", "search": json.dumps({"catalogue": catalogue, "query": "*"})}
    )
    began = time.perf_counter()
    with urlopen(f"{url}/v1/export?{asked}") as reply:
        size = len(reply.read(1))
        first = time.perf_counter() - began
        while piece := reply.read(1 << 16):
            size += len(piece)
    return first * 1000, (time.perf_counter() - began) * 1000, size


def report(what: str, samples: Sequence[float], judged: int | None = None) -> None:
    """Print the percentiles of some milliseconds, and whether the one of this number of twentieths
    meets its aim.
    """
    cuts = statistics.quantiles(samples, n=20, method="inclusive")
    told = (
        f"{len(samples)} samples, p50 {cuts[9]:.0f} ms, p95 {cuts[18]:.0f} ms, most"
        f" {max(samples):.0f} ms"
    )
    aim = AIMS_MS[what] if judged is not None else None
    verdict = (
        f"; aim {aim} ms: {'met' if cuts[judged] <= aim else 'MISSED'}"
        if judged is not None and aim
        else ""
    )
    print(f"{what}: {told}{verdict}")


@contextmanager
def served(home: str) -> Iterator[str]:
    """Serve a library on a free port of this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "stackroom",
        "serve",
        "--http",
        "--no-accounts",
        "--port",
        str(port),
    ]
    process = subprocess.Popen(
        command,
        env={**os.environ, "STACKROOM_HOME": home},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(f"http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def wait_for(url: str) -> None:
    """Return when the server lists its catalogues."""
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            urlopen(f"{url}/v1/tools").close()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
        else:
            return


if __name__ == "__main__":
    main()
