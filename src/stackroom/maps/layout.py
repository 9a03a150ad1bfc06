"""The layout of points in the plane: t-SNE over the nearest neighbours of each, in numpy alone.

Each point is attracted by its neighbours, all of the same weight, and repelled by every point. Steps begin with
stronger attraction, which forms the clusters, and go on without it, which spreads them. The same points and the same
start give the same layout.
"""

import numpy as np

from stackroom.maps.neighbours import Points, Rows, nearest_others
from stackroom.maps.repulsion import Numbers, repulsion_for
from stackroom.shelf.port import Checkpoint, never_stop

NEIGHBOURS = 15
EARLY_STEPS = 50
LATE_STEPS = 200
FEW = 100
FEW_STEPS_SHARE = 0.5
"""Up to `FEW` points find their places in half the steps."""
EXAGGERATION = 12.0
EARLY_MOMENTUM = 0.5
LATE_MOMENTUM = 0.8
LONGEST_STEP = 5.0
START_SPREAD = 0.01
JITTER = 0.0001
"""Points that are the same begin a little apart."""
LEAST_RATE = 50.0
SEED = 20260131


def lay_out(points: Points, *, start: Points | None = None, checkpoint: Checkpoint = never_stop) -> Points:
    """Return a place in the plane for each point; `start` has former places, which a new layout resembles."""
    count = len(points)
    if count <= 2:
        return np.array([[0, 0], [1, 0]], dtype=np.float32)[:count]
    neighbours = nearest_others(points, min(NEIGHBOURS, max(1, (count - 1) // 3)), checkpoint=checkpoint)
    begun = _starting_places(points[:, :2] if start is None else start)
    return _moved(begun, neighbours, checkpoint)


def _starting_places(places: Points) -> Points:
    spread = float(places.std()) or 1.0
    jitter = np.random.default_rng(SEED).normal(scale=JITTER, size=(len(places), 2))
    begun = np.zeros((len(places), 2))
    begun[:, : places.shape[1]] = (places - places.mean(axis=0)) / spread * START_SPREAD
    return (begun + jitter).astype(np.float32)


def _moved(places: Points, neighbours: Rows, checkpoint: Checkpoint) -> Points:
    count = len(places)
    x, y = places[:, 0].copy(), places[:, 1].copy()
    speed_x, speed_y = np.zeros_like(x), np.zeros_like(y)
    repulsion = repulsion_for(count)
    share = FEW_STEPS_SHARE if count <= FEW else 1.0
    early = round(EARLY_STEPS * share)
    for step in range(early + round(LATE_STEPS * share)):
        is_early = step < early
        attraction = EXAGGERATION if is_early else 1.0
        rate = max(count, LEAST_RATE) / attraction
        momentum = EARLY_MOMENTUM if is_early else LATE_MOMENTUM
        pulled_x, pulled_y = _attraction(x, y, neighbours)
        pushed = repulsion.at(x, y)
        speed_x = momentum * speed_x - 4 * rate * (attraction * pulled_x - pushed.x)
        speed_y = momentum * speed_y - 4 * rate * (attraction * pulled_y - pushed.y)
        too_fast = np.maximum(np.hypot(speed_x, speed_y) / LONGEST_STEP, 1)
        speed_x, speed_y = (speed_x / too_fast).astype(np.float32), (speed_y / too_fast).astype(np.float32)
        x, y = _centred(x + speed_x), _centred(y + speed_y)
        checkpoint()
    return np.stack([x, y], axis=1)


def _attraction(x: Numbers, y: Numbers, neighbours: Rows) -> tuple[Numbers, Numbers]:
    """Return the attraction at each point, by its neighbours and by those whose neighbour it is."""
    count, each = neighbours.shape
    others = neighbours.ravel()
    dx, dy = np.repeat(x, each) - x[others], np.repeat(y, each) - y[others]
    nearness = 1 / (1 + dx * dx + dy * dy)
    share = 1 / (2 * count * each)
    pulled = []
    for one in (dx * nearness, dy * nearness):
        own = one.reshape(count, each).sum(axis=1)
        pulled.append(((own - np.bincount(others, one, count)) * share).astype(np.float32))
    return pulled[0], pulled[1]


def _centred(values: Numbers) -> Numbers:
    moved: Numbers = (values - values.mean()).astype(np.float32)
    return moved
