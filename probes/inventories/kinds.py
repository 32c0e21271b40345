"""The kinds of host lists that are named `KIND:WHERE`, in one table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from plink.probes.inventories import pods, slurm_jobs
from plink.probes.inventories.found import FoundHosts, ReadFile


@dataclass(frozen=True)
class Kind:
    """A kind of host list.

    Args:
        form: how it is named, as `slurm:JOB`.
        about: which hosts these are, in a line.
        read: finds them, from what follows the colon.
    """

    form: str
    about: str
    read: Callable[[str, ReadFile], FoundHosts]


KINDS: dict[str, Kind] = {
    kind.form.partition(":")[0]: kind
    for kind in (
        Kind(slurm_jobs.FORM, "the nodes of a Slurm job", slurm_jobs.read),
        Kind(pods.FORM, "the pods that a selector names", pods.read),
    )
}


def find_hosts(named: str, read_file: ReadFile) -> FoundHosts | None:
    """The hosts that `KIND:WHERE` names; None for what names no kind, such as a file.

    Args:
        named: by the user.
        read_file: gives the content of a file.

    Raises:
        HostListError: the hosts cannot be found.
    """
    name, colon, where = named.partition(":")
    kind = KINDS.get(name) if colon else None
    return None if kind is None else kind.read(where, read_file)
