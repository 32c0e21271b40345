"""Reach the hosts of a bench, all of them."""

from __future__ import annotations

from collections.abc import Callable

from plink.base.errors import PlinkError, WrongUseError
from plink.base.progress import Progress
from plink.files.cluster import Cluster
from plink.measure.listed import as_listed
from probes.errors import HostListError
from probes.reach import Reached, reach
from probes.ssh.options import SshOptions


def reach_all(
    cluster: Cluster, source: str, ssh: SshOptions, on_done: Callable[[], None]
) -> Reached:
    """The hosts that answered and those that did not.

    Args:
        cluster: with the hosts.
        source: what messages call its file.
        ssh: how they are reached.
        on_done: called after each.

    Raises:
        WrongUseError: a host's name cannot be resolved.
    """
    listed = [as_listed(entry, source) for entry in cluster.hosts]
    try:
        return reach(listed, ssh, on_done=on_done)
    except HostListError as error:
        hint = "give the SSH configuration that plink probe had with -F"
        raise WrongUseError(str(error), hint) from None


def refuse_failures(reached: Reached, progress: Progress) -> None:
    """Name every host that was not reached: without it nothing can be compared.

    Raises:
        HostError: one was not.
        PlinkError: several were not.
    """
    failures = reached.failures
    if not failures:
        return
    if len(failures) == 1:
        raise failures[0]
    for failure in failures:
        progress.say(f"{failure.host}: {failure}")
    hints = {failure.hint for failure in failures}
    raise PlinkError(
        f"{len(failures)} of {len(failures) + len(reached.hosts)} hosts cannot take part",
        hints.pop() if len(hints) == 1 else None,
    )
