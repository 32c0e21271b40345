"""Saying which readings are not to be trusted. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from probes.echo.readings import DISTURBED

_MOST_NAMED = 3
# Passes that differ by less than that confirm each other, whatever else the hosts did.
CONFIRMED = 0.02
# A host stands out with so many times more disturbed pairs than the median host.
_STANDS_OUT = 2.0


def is_doubtful(
    disturbance: npt.NDArray[np.float64],
    disagreement: npt.NDArray[np.float64],
    is_calm: npt.NDArray[np.bool_],
) -> npt.NDArray[np.bool_]:
    """The (N, N) directions whose reading other work on the hosts may have raised.

    Noise only ever adds: the least reading is to be trusted where its meeting was not disturbed,
    and also where it was, if another meeting that was not has read the same.

    Args:
        disturbance: (N, N) of the meeting whose reading counts, NaN where unknown.
        disagreement: (N, N) of the passes, as a share, NaN where there is one.
        is_calm: (N, N) whether one of the meetings was not disturbed.
    """
    doubtful: npt.NDArray[np.bool_] = (disturbance >= DISTURBED) & ~(
        is_calm & (disagreement <= CONFIRMED)
    )
    return doubtful


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
