"""Fuzzes what a daemon does with messages of ranks that know the secret, and a viewer with its.

An input is read as a script: honest messages of two ranks, some with fields changed to anything,
go to a job with the real tuner. Invariants: what is refused is refused by a `ProtocolError`, what
is taken says the same when it is sent on, and every plan that goes out sums up every rank once.
Needs Atheris; `scripts/fuzz` runs it.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import atheris

with atheris.instrument_imports(include=["plink"]):
    import numpy as np

    from plink.autotune.daemon.job import Job, Outgoing
    from plink.autotune.log.replay import tuner_of
    from plink.autotune.protocol import status
    from plink.autotune.protocol.identity import LARGEST_NUMBER, Identity, identity
    from plink.autotune.protocol.messages import (
        PEER_FIGURES,
        Ask,
        Join,
        Message,
        NewPlan,
        Paused,
        Release,
        Report,
        Watch,
        from_json,
        to_json,
    )
    from plink.autotune.tuner.interface import TunerOptions
    from plink.formats.plan import Plan, PlanRank
    from plink.plans.check import check
    from plink.plans.forest import Forest
    from plink.transport.frames import ProtocolError

_RANKS = 3
_MOST_MESSAGES = 40
_ODD: list[Any] = [
    None,
    True,
    -1,
    0,
    0.5,
    1 << 31,
    1 << 53,
    1 << 70,
    1e308,
    float("inf"),
    float("nan"),
    "",
    "\x1b[2J",
    "A" * 5000,
    [],
    [[]],
    {},
    {"number": 1},
]


def _stars() -> Forest:
    rows = [[-1 if rank == root else root for rank in range(_RANKS)] for root in (0, 1)]
    parents = np.array(rows, dtype=np.int32)
    return Forest(np.array([1.0, 2.0]), parents, parents)


def _plan() -> Plan:
    ranks = [PlanRank(f"h{rank}", "192.0.2.1") for rank in range(_RANKS)]
    return Plan("flat", ranks, _stars(), 1000)


def _any_value(provider: atheris.FuzzedDataProvider) -> Any:
    kind = provider.ConsumeIntInRange(0, 3)
    if kind == 0:
        return provider.PickValueInList(_ODD)
    if kind == 1:
        return provider.ConsumeInt(10)
    if kind == 2:
        return provider.ConsumeFloat()
    return provider.ConsumeUnicodeNoSurrogates(40)


def _changed(provider: atheris.FuzzedDataProvider, value: Any) -> Any:
    """`value` with one thing in it replaced, taken out or put twice."""
    if isinstance(value, dict) and value and provider.ConsumeIntInRange(0, 7):
        name = provider.PickValueInList(sorted(value))
        if not provider.ConsumeIntInRange(0, 9):
            return {other: value[other] for other in value if other != name}
        return {**value, name: _changed(provider, value[name])}
    if isinstance(value, list) and value and provider.ConsumeIntInRange(0, 3):
        place = provider.ConsumeIntInRange(0, len(value) - 1)
        if not provider.ConsumeIntInRange(0, 4):
            return value + value
        return [*value[:place], _changed(provider, value[place]), *value[place + 1 :]]
    return _any_value(provider)


class _Play:
    """A job, and what its ranks say."""

    def __init__(self, provider: atheris.FuzzedDataProvider) -> None:
        self._provider = provider
        self._job = Job("job", _plan(), lambda plan: tuner_of(plan, TunerOptions()))
        self._job.when_asked = lambda _now_s, _hosts: None
        self._known = [identity(0, _stars())]
        self._forests = [_stars()]
        self._begin = 0
        self._now_s = 1e9

    def play(self) -> None:
        for _ in range(_MOST_MESSAGES):
            if not self._provider.remaining_bytes():
                break
            self._act()
            self._now_s += self._provider.ConsumeIntInRange(0, 100)
        seen = status.from_json(json.loads(json.dumps(status.to_json(self._job.status))))
        assert seen.name == "job"

    def _act(self) -> None:
        deed = self._provider.ConsumeIntInRange(0, 11)
        rank = self._provider.ConsumeIntInRange(0, _RANKS - 1)
        if deed == 0:
            self._job.left(self._now_s, rank)
        elif deed == 1:
            self._send(self._job.pause())
        elif deed == 2:
            self._send(self._job.release())
        elif deed <= 6:
            # All ranks on one window, so that the tuner decides.
            self._begin += 10
            plan = self._any_plan()
            for each in range(_RANKS):
                self._say(each, self._report(plan))
        else:
            self._say(rank, self._honest(rank))

    def _say(self, rank: int, honest: Message) -> None:
        words = to_json(honest)
        for _ in range(self._provider.ConsumeIntInRange(0, 6) - 4):
            words = _changed(self._provider, words)
        if not isinstance(words, dict):  # No frame holds that.
            return
        try:
            message = from_json(json.loads(json.dumps(words)), _RANKS)
        except ProtocolError:
            return
        again = to_json(from_json(to_json(message), _RANKS))
        assert json.dumps(again) == json.dumps(to_json(message))
        if isinstance(message, Join) and message.rank == rank:
            self._send(self._job.joined(self._now_s, message))
        elif isinstance(message, Report):
            self._send(self._job.reported(self._now_s, rank, message))
        elif isinstance(message, NewPlan):
            self._send(self._job.told(self._now_s, message))
        elif isinstance(message, Paused):
            self._job.paused(rank, message)

    def _send(self, outgoing: Outgoing) -> None:
        for rank, message in outgoing:
            assert rank is None or 0 <= rank < _RANKS
            if isinstance(message, NewPlan):
                check(message.forest)
                assert 0 <= message.identity.number <= LARGEST_NUMBER
                self._known.append(message.identity)
                self._forests.append(message.forest)
            from_json(json.loads(json.dumps(to_json(message))), _RANKS)

    def _honest(self, rank: int) -> Message:
        plan = self._any_plan()
        kind = self._provider.ConsumeIntInRange(0, 6)
        if kind == 0:
            return Join(rank, _RANKS, f"h{rank}", plan, self._any_plan())
        if kind == 1:
            forest = self._provider.PickValueInList(self._forests)
            number = self._provider.ConsumeIntInRange(0, 40)
            self._known.append(identity(number, forest))
            return NewPlan(identity(number, forest), forest)
        simple: list[Message] = [Ask(plan), Paused(plan), Release(plan), Watch()]
        return simple[kind - 2] if kind < 6 else self._report(plan)

    def _any_plan(self) -> Identity:
        # The newest most often.
        back = max(0, self._provider.ConsumeIntInRange(0, 7) - 4)
        return self._known[-1 - min(back, len(self._known) - 1)]

    def _report(self, plan: Identity) -> Report:
        """With figures of every size, zero and the largest included."""
        iterations = self._provider.ConsumeIntInRange(0, 5)
        peers = {name: np.full(_RANKS, self._figure()) for name in PEER_FIGURES}
        odd = self._provider.PickValueInList(list(PEER_FIGURES))
        peers[odd][self._provider.ConsumeIntInRange(0, _RANKS - 1)] = self._figure()
        return Report(
            plan,
            self._begin,
            self._begin + 10,
            self._figure(),
            np.array([self._figure() for _ in range(iterations)]),
            self._provider.ConsumeIntInRange(0, (1 << 53) - 1),
            peers,
        )

    def _figure(self) -> float:
        mantissa = self._provider.ConsumeIntInRange(0, 255)
        exponent = self._provider.ConsumeIntInRange(-9, 9)
        return 0.0 if mantissa < 64 else mantissa * 10.0**exponent


def _look(provider: atheris.FuzzedDataProvider) -> None:
    """What a viewer is shown by a daemon that says anything."""
    words = status.to_json(status.JobStatus("job", ["h0", "h1"], 2))
    for _ in range(provider.ConsumeIntInRange(0, 4)):
        words = _changed(provider, words)
    if not isinstance(words, dict):  # No frame holds that.
        return
    try:
        seen = status.from_json(json.loads(json.dumps(words)))
    except ProtocolError:
        return
    assert len(seen.sent_bytes) == len(seen.hosts)
    assert np.isfinite(seen.throughput_bytes_s)
    json.dumps(status.to_json(seen), allow_nan=False)


def _test(data: bytes) -> None:
    provider = atheris.FuzzedDataProvider(data)
    if provider.ConsumeIntInRange(0, 5) == 0:
        _look(provider)
    else:
        _Play(provider).play()


if __name__ == "__main__":
    atheris.Setup(sys.argv, _test)
    atheris.Fuzz()
