"""Times of gradients and collectives in each pass of this rank."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
import torch

from plink.torch.work import Reduction
from plink.training.overlap.measured import covered_share
from plink.training.overlap.profile import Floats
from plink.training.overlap.timings import Timings, begun_in_order


class Clock(Protocol):
    """Clock that tells when the device has computed each gradient."""

    def begin(self) -> None:
        """Begin a pass."""

    def note(self, place: int) -> None:
        """Record that a gradient is ready, or will be when the device reaches this point."""

    def ready_s(self) -> Floats | None:
        """Return ready times in the last known pass, (L,) in s; NaN for missing gradients."""


class HostClock:
    """Clock for gradients on the CPU, which are ready when their hooks run.

    Args:
        gradients: how many.
    """

    def __init__(self, gradients: int) -> None:
        self._gradients = gradients
        self.begin()

    def begin(self) -> None:
        """Begin a pass, from which times are counted."""
        self._at_s = [np.nan] * self._gradients
        self._begun_s = time.monotonic()

    def note(self, place: int) -> None:
        """Record that a gradient is ready now."""
        self._at_s[place] = time.monotonic()

    def ready_s(self) -> Floats:
        """Return ready times in the current pass, (L,) in s; NaN for gradients not ready."""
        return np.array(self._at_s) - self._begun_s


class CudaClock:
    """Clock by events for gradients on a GPU, whose hooks run before they are ready.

    Events are read a pass later, when they have come about, so that nothing waits for them.

    Args:
        gradients: how many.
        device: on which they are.
    """

    def __init__(self, gradients: int, device: torch.device) -> None:
        self._gradients, self._device = gradients, device
        self._events: dict[int, Any] = {}
        self._before: tuple[Any, dict[int, Any]] | None = None
        self._begun = self._record_event()

    def begin(self) -> None:
        """Begin a pass; its times are counted from when the device reaches this point."""
        self._before = (self._begun, self._events)
        self._events, self._begun = {}, self._record_event()

    def note(self, place: int) -> None:
        """Record that a gradient is ready when the device reaches this point."""
        self._events[place] = self._record_event()

    def ready_s(self) -> Floats | None:
        """Return ready times in the last pass, (L,) in s; None if the device is not done."""
        if self._before is None:
            return None
        begun, events = self._before
        if not all(event.query() for event in (begun, *events.values())):
            return None
        found = np.full(self._gradients, np.nan)
        for place, event in events.items():
            found[place] = 1e-3 * begun.elapsed_time(event)
        return found

    def _record_event(self) -> Any:
        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record(torch.cuda.current_stream(self._device))
        return event


class Passes:
    """Measurements of some passes of one schedule on this rank.

    Args:
        clock: of the gradients' device.
        in_flight: collectives that the engine runs at once.
    """

    def __init__(self, clock: Clock, in_flight: int) -> None:
        self._clock, self._in_flight = clock, in_flight
        self._works: list[Reduction] = []
        self._began_s = 0.0
        self.clear()

    def clear(self) -> None:
        """Forget all passes, as a new window begins."""
        self._ready_s: list[Floats] = []
        self._sizes_bytes: tuple[int, ...] = ()
        self._begun_s: list[list[float]] = []
        self._ended_s: list[list[float]] = []
        # What each pass took; how long gradients came, and in which share something was in flight.
        self.took_s: list[float] = []
        self.spans: list[tuple[float, float]] = []

    def begin(self) -> None:
        """Begin a pass, right after the one before."""
        self._works.clear()
        self._clock.begin()
        self._began_s = time.monotonic()

    def ready(self, place: int) -> None:
        """Record that a gradient is ready."""
        self._clock.note(place)

    def posted(self, works: Iterable[Reduction]) -> None:
        """Record the works of one group of this pass."""
        self._works.extend(works)

    def end(self) -> None:
        """Record the times of a pass whose works have all ended with success."""
        took_s = time.monotonic() - self._began_s
        times = [work.times_s() for work in self._works]
        sizes_bytes = tuple(sum(one.nbytes for one in work.result()) for work in self._works)
        known = [one for one in times if one is not None]
        if len(known) != len(times) or self._sizes_bytes not in ((), sizes_bytes):
            return
        ended_s = [ended for _, ended in known]
        begun_s = begun_in_order([posted for posted, _ in known], ended_s, self._in_flight)
        self._sizes_bytes = sizes_bytes
        self._begun_s.append(begun_s)
        self._ended_s.append(ended_s)
        self.took_s.append(took_s)
        ready_s = self._clock.ready_s()
        if ready_s is None or np.isnan(ready_s).all():
            return
        # What did not come is sent when the pass is through.
        ready_s = np.where(np.isnan(ready_s), np.nanmax(ready_s), ready_s)
        self._ready_s.append(ready_s)
        first_s, last_s = self._began_s + ready_s.min(), self._began_s + ready_s.max()
        share = covered_share(first_s, last_s, begun_s, ended_s)
        self.spans.append((float(last_s - first_s), share))

    @property
    def collectives(self) -> int:
        """Number of collectives in the current pass so far."""
        return len(self._works)

    @property
    def steps_s(self) -> Sequence[Floats]:
        """Ready times of gradients in each pass, (L,) in s from its beginning."""
        return self._ready_s

    @property
    def timings(self) -> Timings:
        """Timings of the collectives on this rank, by its clock."""
        shape = (len(self._begun_s), len(self._sizes_bytes))
        return Timings(
            np.array(self._sizes_bytes, dtype=np.float64),
            np.array(self._begun_s, dtype=np.float64).reshape(shape),
            np.array(self._ended_s, dtype=np.float64).reshape(shape),
        )
