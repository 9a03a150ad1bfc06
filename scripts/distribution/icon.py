"""The icon of the server's page as a PNG, which bundles need: a tile with three lines of a list."""

import struct
import zlib

import numpy as np
import numpy.typing as npt

GRID = 32
"""The icon is drawn on a grid of this many units."""
GREEN, WHITE = (15, 118, 110), (255, 255, 255)
CORNER = 7.0
LINES = ((8.0, 24.0, 9.0), (8.0, 24.0, 16.0), (8.0, 17.0, 23.0))
"""Left end, right end and height of each line."""
HALF_STROKE = 1.5

Pixels = npt.NDArray[np.float64]


def draw_icon(size: int = 512) -> bytes:
    """Return the icon as a square PNG with this many pixels on a side."""
    middle = (np.arange(size) + 0.5) * GRID / size
    x, y = np.meshgrid(middle, middle)
    unit = size / GRID
    tile = _cover(_outside_tile(x, y), unit)
    line = np.max([_cover(_outside_line(x, y, *one), unit) for one in LINES], axis=0)
    colour = [
        np.round(green * (1 - line) + white * line)
        for green, white in zip(GREEN, WHITE, strict=True)
    ]
    return _png(np.stack([*colour, np.round(255 * tile)], axis=-1).astype(np.uint8))


def _outside_tile(x: Pixels, y: Pixels) -> Pixels:
    """Return the distance of each point from the tile with round corners; negative inside."""
    half = GRID / 2
    away = [np.abs(one - half) - (half - CORNER) for one in (x, y)]
    beyond = np.hypot(np.maximum(away[0], 0), np.maximum(away[1], 0))
    return beyond + np.minimum(np.maximum(*away), 0) - CORNER


def _outside_line(x: Pixels, y: Pixels, left: float, right: float, height: float) -> Pixels:
    """Return the distance of each point from a line with round ends."""
    return np.hypot(x - np.clip(x, left, right), y - height) - HALF_STROKE


def _cover(distance: Pixels, unit: float) -> Pixels:
    """Return how much of each pixel is covered, from 0 to 1."""
    return np.clip(0.5 - distance * unit, 0, 1)


def _png(pixels: npt.NDArray[np.uint8]) -> bytes:
    height, width, _ = pixels.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)
    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, body) for name, body in parts)


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
