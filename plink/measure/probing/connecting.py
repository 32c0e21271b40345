"""Connections to the hosts of a run, for its length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from plink.base.errors import PlinkError
from plink.base.progress import Progress
from plink.measure.probing.request import ProbeRequest
from probes.errors import HostError
from probes.reach import Reached, reach


class TooFewReachedError(PlinkError):
    """There are no two hosts to measure between. `failures` says why."""

    def __init__(self, failures: Sequence[HostError]) -> None:
        hint = next((error.hint for error in failures if error.hint), None)
        super().__init__("fewer than two hosts can be reached", hint)
        self.failures = failures


@contextmanager
def connected(request: ProbeRequest, progress: Progress) -> Iterator[Reached]:
    """Reach the hosts of a request, two at least; leaving closes every connection.

    Raises:
        HostListError, OptionError: the request cannot be carried out as it stands.
        TooFewReachedError: fewer than two hosts can be reached.
        PlinkError: one cannot, and the run is strict.
    """
    progress.stage("connecting", len(request.hosts))
    with reach(
        request.hosts,
        request.ssh,
        network=request.network,
        interface=request.interface,
        on_done=progress.step,
    ) as reached:
        _check_enough(request, reached)
        yield reached


def _check_enough(request: ProbeRequest, reached: Reached) -> None:
    if reached.failures and request.strict:
        first = reached.failures[0]
        raise PlinkError(f"{first.host}: {first}", first.hint or "leave out --strict to go on")
    if len(reached.hosts) < 2:
        raise TooFewReachedError(reached.failures)
