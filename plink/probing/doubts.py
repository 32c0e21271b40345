"""Saying which readings are not to be trusted. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_MOST_NAMED = 3
# A host stands out with so many times more disturbed pairs than the median host.
_STANDS_OUT = 2.0


def disturbed_hosts(
    names: Sequence[str], disturbed: npt.NDArray[np.bool_], measured: npt.NDArray[np.bool_]
) -> list[str]:
    """One sentence, with the hosts that stand out, or none where no pair was disturbed.

    Args:
        names: of the N hosts.
        disturbed, measured: (N, N), [source][destination].
    """
    pairs = int(np.count_nonzero(disturbed))
    if pairs == 0:
        return []
    of_host = disturbed.sum(axis=0) + disturbed.sum(axis=1)
    in_all = measured.sum(axis=0) + measured.sum(axis=1)
    total = int(np.count_nonzero(measured))
    were = "1 directed pair was" if pairs == 1 else f"{pairs} of {total} directed pairs were"
    where = _where(names, of_host, in_all)
    readings = "its reading" if pairs == 1 else "their readings"
    return [f"{were} disturbed by other work on the hosts, {where}: {readings} may be too high"]


def _where(
    names: Sequence[str], of_host: npt.NDArray[np.int64], in_all: npt.NDArray[np.int64]
) -> str:
    usual = float(np.median(of_host))
    outstanding = [
        index
        for index in np.argsort(-of_host, kind="stable")
        if of_host[index] > _STANDS_OUT * usual
    ]
    if not outstanding or len(outstanding) > len(names) // 2:
        hosts = np.count_nonzero(of_host)
        return f"on {'all' if hosts == len(names) else f'{hosts} of'} {len(names)} hosts"
    listed = ", ".join(
        f"{names[index]} ({of_host[index]} of its {in_all[index]})"
        for index in outstanding[:_MOST_NAMED]
    )
    return f"most on {listed}"
