"""Faults of a lab's hosts, each with its remedy, and scripts that say when they happen.

A script is data: (host, round, kind). Who runs something on the lab says how far each host is, and
the injector does what is due.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass

from labkit import process_faults, traffic_faults
from labkit.registry import ROOT_REGISTRY, Registry
from labkit.state import State

Remedy = Callable[[], None]


@dataclass(frozen=True)
class Fault:
    """What happens to a host, and when.

    Args:
        host: whose progress decides, and who suffers.
        round: it happens when this round begins for the host, counted from 0.
        kind: one of `KINDS`.
        others: `one-way`: the hosts that it cannot send to; `partition`: the rest of its side.
    """

    host: str
    round: int
    kind: str
    others: tuple[str, ...] = ()


# Kind to what brings it about; each returns what undoes it.
KINDS: dict[str, Callable[[State, Fault], Remedy]] = {
    # The programs that were started over SSH are killed, or stopped for good, for a second, or
    # every other moment.
    "kill": lambda state, fault: process_faults.kill(state, fault.host),
    "freeze": lambda state, fault: process_faults.freeze(state, fault.host),
    "thaw": lambda state, fault: process_faults.freeze(state, fault.host, seconds=1.0),
    "slow": lambda state, fault: process_faults.slow_down(state, fault.host),
    # The SSH connections to the host end.
    "cut": lambda state, fault: process_faults.cut_ssh(state, fault.host),
    # The host is silent, for good or for a second; SSH is gone too.
    "silence": lambda state, fault: traffic_faults.silence(state, fault.host),
    "blink": lambda state, fault: traffic_faults.silence(state, fault.host, seconds=1.0),
    "down": lambda state, fault: traffic_faults.interface_down(state, fault.host),
    # Nothing goes from the host to any other, to some, or between two halves; SSH goes on.
    "mute": lambda state, fault: traffic_faults.blackhole(state, [fault.host]),
    "one-way": lambda state, fault: traffic_faults.blackhole(state, [fault.host], fault.others),
    "partition": lambda state, fault: traffic_faults.blackhole(state, [fault.host, *fault.others]),
}
# They are there before the round goes on, however busy the machine is. The others last for a while
# or wait for a program.
_AT_ONCE = ("cut", "silence", "down", "mute", "one-way", "partition")


class Injector:
    """Brings about the faults of a script in a standing lab of root's.

    A context manager: leaving it undoes them all.
    """

    def __init__(self, lab: str, script: Iterable[Fault]) -> None:
        self._state = Registry(ROOT_REGISTRY).find(lab)
        self._waiting = list(script)
        self._running: list[threading.Thread] = []
        self._remedies: list[Remedy] = []
        self._failed: list[tuple[Fault, Exception]] = []
        self._lock = threading.Lock()

    def __enter__(self) -> Injector:
        return self

    def __exit__(self, *_: object) -> None:
        for thread in self._running:
            thread.join()
        with contextlib.ExitStack() as remedies:
            for remedy in self._remedies:
                remedies.callback(remedy)

    @property
    def waiting(self) -> Sequence[Fault]:
        """The faults that have not happened yet."""
        return tuple(self._waiting)

    @property
    def failed(self) -> Sequence[tuple[Fault, Exception]]:
        """The faults that could not be injected, and why; complete once the injector has exited."""
        return tuple(self._failed)

    def reach(self, host: str, number: int) -> None:
        """Bring about what is due when round `number` begins for a host."""
        due = [fault for fault in self._waiting if fault.host == host and fault.round <= number]
        for fault in due:
            self._waiting.remove(fault)
            if fault.kind in _AT_ONCE:
                self._inject(fault)
                continue
            thread = threading.Thread(target=self._inject, args=(fault,), daemon=True)
            thread.start()
            self._running.append(thread)

    def _inject(self, fault: Fault) -> None:
        try:
            remedy = KINDS[fault.kind](self._state, fault)
        except Exception as error:
            self._failed.append((fault, error))
            return
        with self._lock:
            self._remedies.append(remedy)


def to_json(script: Iterable[Fault]) -> str:
    """A script as text."""
    return json.dumps([asdict(fault) for fault in script])


def from_json(text: str) -> list[Fault]:
    """The script that `to_json` wrote."""
    return [
        Fault(entry["host"], entry["round"], entry["kind"], tuple(entry["others"]))
        for entry in json.loads(text)
    ]
