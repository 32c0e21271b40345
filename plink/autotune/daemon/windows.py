"""From what ranks report to what the tuner takes: one window, seen from all hosts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink.autotune.protocol.identity import Identity
from plink.autotune.protocol.messages import Report
from plink.autotune.protocol.status import JobStatus
from plink.autotune.tuner.interface import Window

Floats = npt.NDArray[np.float64]
Key = tuple[Identity, int, int]

# How many windows are kept that still lack a rank's report.
_MOST_OPEN = 8


class ReportAssembler:
    """Keeps reports of a job until those of all ranks on one window are there.

    Args:
        ranks: of the job.
    """

    def __init__(self, ranks: int) -> None:
        self._ranks = ranks
        self._open: dict[Key, dict[int, Report]] = {}
        self.incomplete = 0

    def add(self, rank: int, report: Report) -> Sequence[Report] | None:
        """Return the reports of all ranks, in their order, once this one completes them."""
        key = (report.plan, report.begin, report.end)
        reports = self._open.setdefault(key, {})
        reports[rank] = report
        if len(reports) == self._ranks:
            del self._open[key]
            return [reports[each] for each in range(self._ranks)]
        if len(self._open) > _MOST_OPEN:
            del self._open[next(iter(self._open))]
            self.incomplete += 1
        return None

    def forget(self) -> None:
        """A rank has come or gone: numbers of collectives may begin anew."""
        self._open.clear()


def iteration_seconds(reports: Sequence[Report]) -> Floats:
    """Return (K,) as the first rank that could tell reports them; they take the same for all."""
    return next((one.iteration_s for one in reports if len(one.iteration_s)), np.empty(0))


def reduced_bytes(reports: Sequence[Report]) -> float:
    """Return the bytes that an iteration reduces."""
    return reports[0].reduced_bytes * _share(reports)


def window_of(reports: Sequence[Report], host_of: Sequence[int], plan: int) -> Window:
    """Combine the hosts' reports of a window.

    Between two hosts bytes and segments are those of all pairs of ranks, which carry data at the
    same time: so the busy seconds, and the round trip, are those of the longest.

    Args:
        reports: (P,) of the same window, with iterations.
        host_of: (P,) the host of each rank.
        plan: what the tuner calls the plan.
    """
    # The ranks of a host stand together, and hosts in the order of their first ones.
    first_ranks = np.flatnonzero(np.diff(host_of, prepend=-1))
    share = _share(reports)

    def flows(name: str, combine: np.ufunc) -> Floats:
        by_rank = np.array([report.peers[name] for report in reports])
        of_hosts: Floats = combine.reduceat(by_rank, first_ranks, axis=0)
        of_hosts = combine.reduceat(of_hosts, first_ranks, axis=1)
        np.fill_diagonal(of_hosts, 0.0)
        return of_hosts

    return Window(
        plan,
        iteration_seconds(reports),
        sent_bytes=share * flows("sent_bytes", np.add),
        busy_s=share * flows("busy_s", np.maximum),
        retransmissions=flows("retransmissions", np.add),
        rtt_s=flows("rtt_s", np.maximum).max(axis=1),
        bytes_of={name: share * moved for name, moved in reports[0].bytes_of.items()},
    )


def show(
    status: JobStatus, window: Window, reports: Sequence[Report], host_of: Sequence[int]
) -> None:
    """Put the figures of a window, and of the reports that it is made of, into the status."""
    status.iteration_s = window.median_s
    status.reduced_bytes = reduced_bytes(reports)
    status.sent_bytes = window.sent_bytes.sum(axis=1)
    status.busy_s = window.busy_s.max(axis=1)
    status.retransmissions = window.retransmissions.sum(axis=1)
    status.rtt_s = window.rtt_s
    status.rate_bytes_s = most_by_host(reports, host_of, "rate_bytes_s")
    status.waited_s = most_by_host(reports, host_of, "waited_s")


def most_by_host(reports: Sequence[Report], host_of: Sequence[int], name: str) -> Floats:
    """(H,) the greatest figure of that name that any rank of a host has with any other rank."""
    most = np.zeros(max(host_of) + 1)
    of_ranks = [report.peers[name].max() for report in reports]
    np.maximum.at(most, np.asarray(host_of, dtype=np.intp), of_ranks)
    return most


def _share(reports: Sequence[Report]) -> float:
    """The share of an iteration in a window; iterations need not end where the window does."""
    seconds = float(np.mean([report.seconds for report in reports]))
    return min(1.0, float(iteration_seconds(reports).mean()) / seconds) if seconds else 0.0
