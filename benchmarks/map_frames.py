"""Frames a second of the map while it is panned: 20,000 points, WebGL2 in software or a plain
canvas.

    PYTHONPATH=src:tests python benchmarks/map_frames.py http://127.0.0.1:8765 CATALOGUE
        [--points 20000] [--canvas]

The server is a running one with a catalogue that has a map. With `--points`, its map is replaced in
the browser by one of so many random points in clusters, so that any catalogue will do. The map is
panned by a pointer that moves at every frame, for some seconds; a frame counts when the map was
drawn or moved in it. `idle` is what the machine manages while nothing moves: where it is below 60,
the machine is busy with something else. Chromium renders by SwiftShader, on the CPU: on a machine
with a graphics card the figure is higher. With `--canvas` it has no WebGL, as browsers are where
there is no graphics card.
"""

import argparse
import base64
import json
import os
from typing import Any

import numpy as np
from playwright.sync_api import Page, Route, sync_playwright

from support.browsing import launch, start_visit

PANNED_S = 5.0
PAN = """
async (seconds) => {
  const idle = await (async () => {
    const began = performance.now();
    let frames = 0;
    for (; performance.now() - began < 1500; frames++) await new Promise(requestAnimationFrame);
    return frames / 1.5;
  })();
  const stage = document.querySelector(".map-stage"), box = stage.getBoundingClientRect();
  const middle = [box.left + box.width / 2, box.top + box.height / 2];
  const tell = (name, clientX, clientY) =>
    stage.dispatchEvent(new PointerEvent(name, {pointerId: 7, bubbles: true, clientX, clientY}));
  tell("pointerdown", ...middle);
  const began = performance.now(), before = Number(stage.dataset.frames);
  const gaps = [];
  let last = began;
  while (performance.now() - began < seconds * 1000) {
    const turn = (performance.now() - began) / 300;
    tell("pointermove", middle[0] + 180 * Math.cos(turn), middle[1] + 120 * Math.sin(turn));
    await new Promise(requestAnimationFrame);
    gaps.push(performance.now() - last);
    last = performance.now();
  }
  tell("pointerup", ...middle);
  gaps.sort((one, other) => one - other);
  return {
    frames: Number(stage.dataset.frames) - before, seconds: (performance.now() - began) / 1000,
    gap_p95_ms: gaps[Math.floor(gaps.length * .95)], renderer: stage.dataset.renderer,
    idle_frames_a_second: idle,
  };
}
"""


def random_map(count: int) -> dict[str, Any]:
    """Return a map of points in clusters, with eight colours and forty labels."""
    chooser = np.random.default_rng(1)
    middles = chooser.normal(scale=9_000, size=(60, 2))
    places = np.clip(
        middles[chooser.integers(0, 60, count)] + chooser.normal(scale=1_200, size=(count, 2)),
        -32_767,
        32_767,
    )
    codes = chooser.integers(0, 9, count).astype(np.uint8)
    labels = [
        {"text": f"label {one}", "field": "tags", "x": int(x), "y": int(y), "level": one // 14}
        for one, (x, y) in enumerate(middles[:40])
    ]
    values = [{"value": f"value {one}", "count": count // 8} for one in range(8)]
    return {
        "catalogue": "points",
        "state": "ready",
        "count": count,
        "unplaced": 0,
        "ids": [f"point-{one}" for one in range(count)],
        "places": base64.b64encode(places.astype("<i2").tobytes()).decode(),
        "labels": labels,
        "colours": [{"field": "tags", "label": "Tags"}],
        "colour": {
            "field": "tags",
            "label": "Tags",
            "ordered": False,
            "values": values,
            "codes": base64.b64encode(codes.tobytes()).decode(),
        },
    }


def measure(
    page: Page, origin: str, catalogue: str, points: int | None, zoom: int
) -> dict[str, Any]:
    """Pan the map of a catalogue, and return the frames."""
    if points:
        answer = json.dumps(random_map(points))

        def fulfil(route: Route) -> None:
            route.fulfill(body=answer, content_type="application/json")

        page.route("**/v1/tools/map", fulfil)
    page.goto(f"{origin}/c/{catalogue}?view=map")
    page.wait_for_selector(".map-stage[data-frames]")
    for _ in range(zoom):
        page.get_by_role("button", name="Zoom in").click()
    page.wait_for_timeout(500)
    found: dict[str, Any] = page.evaluate(PAN, PANNED_S)
    return {
        **found,
        "frames_a_second": round(found["frames"] / found["seconds"], 1),
        "zoomed": zoom,
    }


def main() -> None:
    """Measure the whole map, and a part of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("origin")
    parser.add_argument("catalogue")
    parser.add_argument("--points", type=int)
    parser.add_argument("--canvas", action="store_true")
    asked = parser.parse_args()
    with sync_playwright() as playwright:
        browser = launch(playwright, has_webgl=not asked.canvas)
        page = start_visit(browser, asked.origin).page
        for zoom in (0, 3):
            print(
                json.dumps(measure(page, asked.origin, asked.catalogue, asked.points, zoom)),
                flush=True,
            )
        browser.close()
    print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} CPUs")


if __name__ == "__main__":
    main()
