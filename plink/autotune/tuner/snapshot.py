"""The tuner's state as JSON, so that a log can begin in the middle and a daemon can go on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, Struct
from msgspec.structs import replace

from plink.autotune.tuner.bandwidth import SlowFlow
from plink.autotune.tuner.finetune import Move
from plink.autotune.tuner.interface import Floats, Window
from plink.autotune.tuner.masters import Masters
from plink.autotune.tuner.memory import Failure, Turn
from plink.autotune.tuner.trial import Trial
from plink.autotune.tuner.trigger import Baseline
from plink.autotune.tuner.tuner import Tuner
from plink.formats.limits import Amount

# JSON has no infinity.
_UNLIMITED = -1.0

_MOST_TIMES = 1000
# Twice as much so many times is a number still.
_MOST_DOUBLINGS = 1000

Json = dict[str, Any]

PlanNumber = Annotated[int, Meta(ge=0, le=1 << 53)]


class WindowRecord(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Measurements of a window; flows are from host to host, [sender][receiver], row by row.

    Attributes:
        plan: number of the plan in force
        iteration_s: time of each iteration, in s
        sent_bytes: bytes of an iteration, by flow
        busy_s: busy time of an iteration, in s, by flow
        retransmissions: segments that were sent again, by flow
        rtt_s: longest round trip of each host, in s
        bytes_of: bytes of an iteration by collective
    """

    plan: PlanNumber
    iteration_s: Sequence[Amount]
    sent_bytes: Sequence[Amount]
    busy_s: Sequence[Amount]
    retransmissions: Sequence[Amount]
    rtt_s: Sequence[Amount]
    bytes_of: Mapping[str, Amount] = {}

    @staticmethod
    def of(window: Window) -> WindowRecord:
        """Return the record of a window."""
        return WindowRecord(
            window.plan,
            window.iteration_s.tolist(),
            window.sent_bytes.ravel().tolist(),
            window.busy_s.ravel().tolist(),
            window.retransmissions.ravel().tolist(),
            window.rtt_s.tolist(),
            window.bytes_of,
        )

    def to_window(self, hosts: int) -> Window:
        """Return the window.

        Raises:
            ValueError: it is not a window of that many hosts.
        """
        flows = (hosts, hosts)
        _array(list(self.bytes_of.values()), len(self.bytes_of))
        return Window(
            self.plan,
            _array(self.iteration_s, len(self.iteration_s)),
            _array(self.sent_bytes, hosts * hosts).reshape(flows),
            _array(self.busy_s, hosts * hosts).reshape(flows),
            _array(self.retransmissions, hosts * hosts).reshape(flows),
            _array(self.rtt_s, hosts),
            self.bytes_of,
        )


def to_json(tuner: Tuner) -> Json:
    """Return all that a tuner of the same plan needs to decide as this one will."""
    memory = tuner.memory
    return {
        "alike": tuner.options.alike,
        "plan": tuner.plan,
        "masters": masters_to_json(tuner.masters),
        "is_home": tuner.masters is tuner.home,
        "rates_bytes_s": None if tuner.rates_bytes_s is None else _finite(tuner.rates_bytes_s),
        "baseline": None if tuner.baseline is None else vars(tuner.baseline),
        "recent": [
            msgspec.to_builtins(WindowRecord.of(window), enc_hook=float) for window in tuner.recent
        ],
        "trial": None if tuner.trial is None else _trial_to_json(tuner.trial, tuner),
        "moves": tuner.moves,
        "failures": [
            {
                "loads": each.loads.tolist(),
                "hosts_bytes_s": each.hosts_bytes_s.tolist(),
                "until_s": each.until_s,
                "times": each.times,
            }
            for each in memory.failures
        ],
        "turns": [vars(turn) for turn in memory.turns],
        "slow_flows": [{**vars(flow), "seen_s": at} for flow, at in memory.slow_flows.items()],
    }


def restore(tuner: Tuner, state: Json) -> None:
    """Give a new tuner that state.

    Raises:
        ValueError: the state is not valid, or of a job with other hosts or groups.
    """
    try:
        _restore(tuner, state)
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"not the state of a tuner ({type(error).__name__}: {error})") from None


def _restore(tuner: Tuner, state: Json) -> None:
    hosts = tuner.layout.hosts
    tuner.options = replace(tuner.options, alike=_number(state["alike"], 0.0))
    tuner.plan = _integer(state["plan"])
    masters = masters_from_json(state["masters"], tuner)
    tuner.masters = tuner.home if state["is_home"] else masters
    rates = state["rates_bytes_s"]
    links = 2 * hosts + (2 * tuner.layout.groups if tuner.layout.groups > 1 else 0)
    tuner.rates_bytes_s = None if rates is None else _from_finite(rates, links)
    tuner.baseline = None if state["baseline"] is None else _baseline_from_json(state["baseline"])
    recent = msgspec.convert(state["recent"], list[WindowRecord])
    tuner.recent = [window.to_window(hosts) for window in recent]
    if not all(window.is_measured for window in tuner.recent):
        raise ValueError("a recent window in which nothing was measured")
    tuner.trial = None if state["trial"] is None else _trial_from_json(state["trial"], tuner)
    tuner.moves = _integer(state["moves"])
    tuner.memory.failures = [
        Failure(
            _array(each["loads"], hosts),
            _array(each["hosts_bytes_s"], hosts),
            _number(each["until_s"]),
            _integer(each["times"], _MOST_TIMES),
        )
        for each in state["failures"]
    ]
    tuner.memory.turns = [
        Turn(
            _number(each["now_s"]),
            _integer(each["host"], hosts - 1),
            1 if each["direction"] > 0 else -1,
            _number(each["rate_bytes_s"], 0.0),
        )
        for each in state["turns"]
    ]
    tuner.memory.slow_flows = {
        SlowFlow(
            _integer(each["sender"], hosts - 1),
            _integer(each["receiver"], hosts - 1),
            _positive(each["rate_bytes_s"]),
            _integer(each["retransmissions"]),
        ): _number(each["seen_s"])
        for each in state["slow_flows"]
    }


def masters_to_json(masters: Masters) -> Json:
    """Return the shares of groups and hosts."""
    return {"of_groups": masters.of_groups.tolist(), "of_hosts": masters.of_hosts.tolist()}


def masters_from_json(data: Json, tuner: Tuner) -> Masters:
    """Return the masters that `masters_to_json` wrote, of that tuner's hosts and groups."""
    layout = tuner.layout
    of_groups, of_hosts = data["of_groups"], data["of_hosts"]
    masters = Masters(_array(of_groups, layout.groups), _array(of_hosts, layout.hosts))
    sums = [masters.of_groups.sum(), *np.bincount(layout.group_of, masters.of_hosts)]
    if not np.allclose(sums, 1.0):
        raise ValueError("shares of masters whose sum is not 1")
    return masters


def _baseline_from_json(data: Json) -> Baseline:
    return Baseline(_positive(data["median_s"]), _number(data["deviation"], 0.0))


def _trial_to_json(trial: Trial, tuner: Tuner) -> Json:
    move = trial.move
    return {
        "before": masters_to_json(trial.before),
        "before_is_home": trial.before is tuner.home,
        "before_s": trial.before_s,
        "promised": trial.promised,
        "move": None
        if move is None
        else {
            "masters": masters_to_json(move.masters),
            "giver": move.giver,
            "taker": move.taker,
            "doublings": move.doublings,
            "ratio": move.ratio,
        },
    }


def _trial_from_json(data: Json, tuner: Tuner) -> Trial:
    before = tuner.home if data["before_is_home"] else masters_from_json(data["before"], tuner)
    move = data["move"]
    return Trial(
        before,
        _positive(data["before_s"]),
        _number(data["promised"]),
        None
        if move is None
        else Move(
            masters_from_json(move["masters"], tuner),
            _integer(move["giver"], tuner.layout.hosts - 1),
            _integer(move["taker"], tuner.layout.hosts - 1),
            _integer(move["doublings"], _MOST_DOUBLINGS),
            _number(move["ratio"]),
        ),
    )


def _integer(value: Any, most: int = 1 << 53) -> int:
    number = int(value)
    if number != value or not 0 <= number <= most:
        raise ValueError(f"expected an integer from 0 to {most}")
    return number


def _number(value: Any, least: float = -math.inf) -> float:
    number = float(value)
    if not math.isfinite(number) or number < least:
        raise ValueError(f"expected a finite number from {least} on, found {number}")
    return number


def _positive(value: Any) -> float:
    number = _number(value)
    if number <= 0.0:
        raise ValueError(f"expected a positive number, found {number}")
    return number


def _array(values: Any, size: int) -> Floats:
    array = np.array(values, dtype=np.float64)
    if array.shape != (size,) or not np.isfinite(array).all() or (array < 0.0).any():
        raise ValueError(f"expected {size} finite numbers from 0, found shape {array.shape}")
    return array


def _finite(values: Floats) -> list[float]:
    return [float(value) for value in np.where(np.isfinite(values), values, _UNLIMITED)]


def _from_finite(values: Any, size: int) -> Floats:
    array = np.array(values, dtype=np.float64)
    is_unlimited = array == _UNLIMITED
    if array.shape != (size,) or not (is_unlimited | (np.isfinite(array) & (array >= 0.0))).all():
        raise ValueError(f"expected {size} rates")
    return np.where(is_unlimited, np.inf, array)
