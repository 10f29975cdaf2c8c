"""Trials of the lid's hand detection: hands at random poses, and cycles without one (claim H7)."""

from typing import NamedTuple

import numpy as np

from mbs_core.control.lid import Tuning
from mbs_core.control.lid_map import lid_map
from mbs_core.control.lid_plant import Lids, spread

MOVING = 5e-3        # m/s of the rods, of 65e-3 at most; slower only on 1 mm of the 67 mm: stops and levitation
OPENING_S, CLOSING_S = 3.8, 4.0


class Found(NamedTuple):
    """Hands met: their pose (r1, m), delay to the alarm (s, inf if none came), and whether the alarm came before the hand."""

    pose: np.ndarray
    delay: np.ndarray
    early: np.ndarray


def hands(count, force, seed=1, table=None, tuning=None, anywhere=False) -> Found:
    """Let a hand push with `force` (N) against the lid's edge from a random pose on, once each, half of them while it closes.

    Each device has masses off by up to 10 % and friction by up to 30 %. Poses are uniform over the stroke; unless `anywhere`,
    the lid moves there (rods faster than MOVING, so that friction leaves no doubt) and is not on a stop.
    """
    table, c, chance = table or lid_map(), tuning or Tuning(), np.random.default_rng(seed)
    lids = Lids(count, spread(count, seed + 1000), c, table=table, seed=seed)
    pose, way = chance.uniform(table.first, table.last, count), chance.choice([1.0, -1.0], count)
    met, alarm = np.full(count, np.inf), np.full(count, np.inf)

    def each(one):
        there = (one.command == way) & ((one.r - pose) * way >= 0)
        sure = (one.memory.doubt < 0.1) & (np.abs(one.v) > MOVING) & (one.lid['h'] > c.h_armed) & (one.lid['theta'] < c.theta_open - c.open_margin)
        now = np.isinf(met) & there & (anywhere | sure)
        met[now] = one.t
        one.hand[now] = -way[now] * force
        alarm[(one.memory.hit > 0.5) & np.isinf(alarm)] = one.t
    for command, seconds in ((1.0, OPENING_S), (-1.0, CLOSING_S)):
        lids.command[:] = command
        lids.run(seconds, each)
    met_any = np.isfinite(met)
    with np.errstate(invalid='ignore'):
        delay = alarm - met
    return Found(pose[met_any], delay[met_any], (alarm < met)[met_any])


def clean_cycles(count, seed=1, table=None, tuning=None) -> int:
    """Return in how many of so many cycles without a hand, each of another device, an alarm came."""
    lids = Lids(count, spread(count, seed), tuning or Tuning(), table=table, seed=seed)
    alarms = np.zeros(count, bool)

    def each(one):
        alarms[one.memory.hit > 0.5] = True
    for command, seconds in ((1.0, OPENING_S), (-1.0, CLOSING_S)):
        lids.command[:] = command
        lids.run(seconds, each)
    return int(alarms.sum())
