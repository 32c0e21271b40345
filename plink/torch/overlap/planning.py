"""Schedules that follow the network and the model while a job trains."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from plink.torch.group import PlinkGroup
from plink.torch.overlap.agreement import Measured, Told, broadcast_decision, together
from plink.torch.overlap.arrangement import Arrangement
from plink.torch.overlap.probing import probe_sizes
from plink.torch.overlap.profiling import CudaClock, HostClock, Passes
from plink.training.overlap.candidates import AUTO, PLANNED
from plink.training.overlap.decisions import Action, Decision, PlannerOptions, Window
from plink.training.overlap.fit import Fitted, NetworkFit
from plink.training.overlap.heuristics import (
    DDP_BUCKET_BYTES,
    DDP_FIRST_BUCKET_BYTES,
    ddp,
)
from plink.training.overlap.measured import profile_of, slowdown, usual_ready_s
from plink.training.overlap.network import Network
from plink.training.overlap.planner import Planner
from plink.training.overlap.probes import Budget
from plink.training.overlap.profile import Profile
from plink.training.overlap.timings import Timings

PLANNED_SCHEDULES = (AUTO, *PLANNED)

_LOG = logging.getLogger("plink.torch.overlap")

# Where nobody predicts anything: a gigabit per second, which one collective fills as well as two.
# Timings soon say more.
UNKNOWN_NETWORK = Network(1e-4, 1e-4, 2e-8, 2e-8)
# What deciding may cost rank 0, as a share of the window.
_MOST_COST = 0.005
_COSTS = 5
# In the first passes under an arrangement gradients are moved, and ranks come from other work.
_UNCOUNTED = 2
# Passes are looked back at for what computing takes.
_SPANS = 200
_MEDIAN_ERROR = 1.25
_DEVIATIONS_PER_MAD = 1.4826


@dataclass(frozen=True)
class PlanningOptions:
    """Options of the planning: lengths of windows, first buckets, predicted network.

    Args:
        least_passes: of a window.
        settling_passes: the same as long as something is being learned or tried.
        least_window_s: how long one is at least.
        most_passes: but it has no more than that.
        bucket_bytes: of DistributedDataParallel's, with which it begins.
        prediction: of the network, such as `plink plan` makes; None where nobody has one.
    """

    least_passes: int = 10
    settling_passes: int = 5
    least_window_s: float = 1.0
    most_passes: int = 1000
    bucket_bytes: int = DDP_BUCKET_BYTES
    prediction: Network | None = None


@dataclass(frozen=True)
class Report:
    """Report of rank 0 on what was measured and decided; empty on other ranks.

    Args:
        fitted: the network.
        decisions: all that changed something, with the number of the pass after which it did.
        slowdown: by which share computing takes longer while something is in flight; None if
            unknown.
        deciding_s: what the last decision took, agreement included, probes not.
        windows: so far.
        last: what was decided at last, or why nothing was.
    """

    fitted: Fitted
    decisions: tuple[tuple[int, Decision], ...]
    slowdown: float | None
    deciding_s: float
    windows: int
    last: str


class Planning:
    """Arranger that plans by measurements, in windows of passes that all ranks agree on.

    Args:
        wanted: of `PLANNED_SCHEDULES`.
        group: of the ranks, with an engine.
        device: of the gradients.
        options: lengths of windows, first buckets and predicted network.
    """

    def __init__(
        self,
        wanted: str,
        group: PlinkGroup,
        device: torch.device,
        options: PlanningOptions | None = None,
    ) -> None:
        self._wanted, self._group, self._device = wanted, group, device
        self._options = options or PlanningOptions()
        self._passes_wanted = self._options.settling_passes
        self._passed = self._in_window = 0
        # The first pass begins nowhere, and has the costs of a beginning.
        self._uncounted = 1
        self._spans: list[tuple[float, float]] = []
        self._decisions: list[tuple[int, Decision]] = []
        self._fits: dict[int, NetworkFit] = {}
        self._budget = Budget()
        self._deciding_s: list[float] = []
        self._windows = 0
        self._last = ""

    @property
    def report(self) -> Report:
        """Report of what was measured and decided so far."""
        share = slowdown(*zip(*self._spans, strict=True)) if self._spans else None
        return Report(
            self._fit.fitted,
            tuple(self._decisions),
            share,
            self._deciding_s[-1] if self._deciding_s else 0.0,
            self._windows,
            self._last,
        )

    def first(self, profile: Profile) -> Arrangement:
        """Return PyTorch's buckets as the first arrangement, as nothing is known yet."""
        self._profile = profile
        self._places = {name: place for place, name in enumerate(profile.names)}
        bucket_bytes = self._options.bucket_bytes
        first_bytes = bucket_bytes * DDP_FIRST_BUCKET_BYTES // DDP_BUCKET_BYTES
        schedule = ddp(profile, bucket_bytes, first_bytes)
        options = PlannerOptions(wanted=self._wanted, in_flight=self._group.in_flight)
        self._planner = Planner(profile.names, schedule, "ddp", options)
        count = len(profile)
        clock = CudaClock(count, self._device) if self._device.type == "cuda" else HostClock(count)
        self._passes = Passes(clock, self._group.in_flight)
        return Arrangement(profile.names, schedule.cuts)

    def gradient_ready(self, name: str) -> None:
        """Record that a gradient is ready."""
        self._passes.ready(self._places[name])

    def group_posted(self, group: int, works: Sequence[Any]) -> None:
        """Record a group's works, whose times are read at the end of the pass."""
        del group
        self._passes.posted(works)

    def pass_ended(self) -> Arrangement | None:
        """Record a pass; at a window's end, agree with the other ranks on a decision."""
        self._passed += 1
        if self._uncounted:
            self._uncounted -= 1
        else:
            self._passes.end()
            self._in_window += 1
        changed = None
        if self._in_window >= self._passes_wanted:
            changed = self._end_window()
            self._passes.clear()
            self._in_window = 0
        self._passes.begin()
        return changed

    def _end_window(self) -> Arrangement | None:
        began_s = time.monotonic()
        measured = together(self._measure(), self._group)
        decision = self._decide(measured) if self._group.rank() == 0 else None
        own = None if decision is None else self._build_message(decision, measured)
        said = broadcast_decision(own, len(self._profile), self._group)
        self._passes_wanted = said.passes
        self._windows += 1
        self._deciding_s = [*self._deciding_s, time.monotonic() - began_s][-_COSTS:]
        if said.wants_probes:
            self._take_probes()
        if not said.cuts:
            return None
        self._group.schedule_changed()
        self._uncounted = _UNCOUNTED
        names = self._profile.names
        return Arrangement(tuple(names[place] for place in said.order), said.cuts)

    def _measure(self) -> Measured:
        passes, timings = self._passes, self._passes.timings
        shape = (self._in_window, passes.collectives)
        is_counted = bool(passes.steps_s) and timings.begun_s.shape == shape
        self._spans = [*self._spans, *passes.spans][-_SPANS:]
        return Measured(
            usual_ready_s(passes.steps_s) if is_counted else np.zeros(len(self._profile)),
            timings.durations_s if is_counted else np.zeros(shape),
            float(np.median(passes.took_s)) if is_counted else 0.0,
            self._group.is_plan_on_trial,
            is_counted,
        )

    def _decide(self, measured: Measured) -> Decision:
        """Return rank 0's decision by the measurements of all ranks."""
        if not measured.is_counted:
            return self._note(self._planner.wait("times are not known on all ranks"))
        timings = self._passes.timings.shortened_to(measured.durations_s)
        fitted = self._fit.add(timings)
        profile = profile_of(self._profile.names, self._profile.sizes_bytes, measured.ready_s)
        window = Window(
            measured.iteration_s,
            profile,
            fitted.network,
            fitted.is_new,
            # What is tried has to prove itself, so that even poor knowledge does no harm.
            fitted.has_startup or self._budget.is_spent,
            self._group.plan_number,
            measured.is_frozen,
            self._error_of_median(),
        )
        return self._note(self._planner.decide(window))

    def _note(self, decision: Decision) -> Decision:
        self._last = decision.reason
        if decision.action is not Action.WAIT:
            self._decisions.append((self._passed, decision))
            said = (decision.action.value, decision.name, len(decision.schedule.cuts))
            _LOG.info("%s %s, %d groups: %s", *said, decision.reason)
        return decision

    def _build_message(self, decision: Decision, measured: Measured) -> Told:
        options = self._options
        # Planning anew costs more, and is rare: where it is not, it counts.
        costs = sorted(self._deciding_s)
        usual_s = costs[(len(costs) - 1) // 2] if costs else 0.0
        least, wanted_s = options.settling_passes, options.least_window_s
        # Until then windows are few.
        if self._planner.is_settled:
            least, wanted_s = options.least_passes, max(wanted_s, usual_s / _MOST_COST)
        passes = wanted_s / measured.iteration_s if measured.iteration_s > 0.0 else 0.0
        passes = int(min(max(passes, least), options.most_passes))
        fitted = self._fit.fitted
        is_known = fitted.has_startup and (fitted.has_line or self._group.in_flight == 1)
        wants_probes = self._budget.grants(not is_known, self._group.plan_number)
        if decision.action is Action.WAIT:
            return Told((), (), passes, wants_probes)
        order = tuple(self._places[name] for name in decision.names)
        return Told(order, decision.schedule.cuts, passes, wants_probes)

    def _take_probes(self) -> None:
        timings: Timings = probe_sizes(self._group, self._group.in_flight)
        if self._group.rank() == 0:
            self._fit.add_probes(timings)

    @property
    def _fit(self) -> NetworkFit:
        """Fit of the network under the plan in force; a new plan starts from the fit before."""
        plan = self._group.plan_number
        if plan not in self._fits:
            last = next(reversed(self._fits.values()), None)
            known = self._options.prediction or UNKNOWN_NETWORK
            self._fits = {plan: NetworkFit(last.fitted.network if last else known)}
        return self._fits[plan]

    def _error_of_median(self) -> float:
        took_s = np.array(self._passes.took_s)
        usual_s = float(np.median(took_s))
        mad_s = float(np.median(np.abs(took_s - usual_s)))
        return _MEDIAN_ERROR * _DEVIATIONS_PER_MAD * mad_s / usual_s / math.sqrt(len(took_s))
