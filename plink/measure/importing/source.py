"""Measurements of other programs, told apart by their content."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from plink.base.errors import WrongUseError
from plink.files import document
from plink.files.binary_form import Content
from plink.files.cluster import Cluster, is_cluster, parse
from plink.files.measurement import Measurement, without_nones
from plink.measure.importing.csv_files import import_matrix, import_pair_list, is_pair_list
from plink.measure.importing.described import import_network, is_described
from plink.measure.importing.mpigraph import import_mpigraph, is_mpigraph
from plink.measure.importing.nccl_tests import import_nccl_tests, is_nccl_tests
from plink.measure.importing.osu import import_osu, is_osu
from plink.measure.importing.perftest import import_perftest, is_perftest

Matrix = npt.NDArray[np.float64]

_LOGS = (
    (is_mpigraph, import_mpigraph),
    (is_osu, import_osu),
    (is_nccl_tests, import_nccl_tests),
    (is_perftest, import_perftest),
    (is_pair_list, import_pair_list),
)


def import_measurement(
    content: Content, source: str, *, unit: str | None, percentile: float, size: int | None = None
) -> Cluster:
    """The cluster in another program's output (`docs/files.md`), in CSV, or as it is.

    Args:
        content: of the file.
        source: what errors call it.
        unit: of the numbers of a CSV matrix that names none.
        percentile: which percentile of a pair's samples the times stand for.
        size: bytes of the messages whose bandwidth counts; None for the greatest of any size.

    Raises:
        WrongUseError: it is not one of these.
    """
    if is_described(source) and isinstance(content, bytes):
        if unit is not None or size is not None:
            raise WrongUseError(
                f"{source}: is a described network, which names its own units",
                "unit and size are for measurements of other programs",
            )
        return import_network(content, source)
    if not isinstance(content, bytes) or is_cluster(content):
        if unit is not None or size is not None:
            raise WrongUseError(
                f"{source}: is a cluster file, which is taken as it is",
                "unit and size are for measurements of other programs",
            )
        return parse(content, source)
    for is_log, read in _LOGS:
        if is_log(content):
            if unit is not None:
                raise WrongUseError(
                    f"{source}: is not a CSV matrix", "only the numbers of a matrix have a unit"
                )
            found = read(content, source, percentile, size)
            return replace(found, made_from=document.digest(content))
    if size is not None:
        raise WrongUseError(
            f"{source}: is not a benchmark's output",
            "a size is for output that tells message sizes apart",
        )
    return import_matrix(content, source, unit=unit, percentile=percentile)


def described(cluster: Cluster) -> dict[str, Any]:
    """What was imported, as a JSON object: hosts, and of each quantity how much is known."""
    found: dict[str, Any] = {"hosts": cluster.names}
    if cluster.rtt is not None:
        found["rtt"] = _about(cluster.rtt, cluster.rtt.readings_us)
    if cluster.bandwidth is not None:
        found["bandwidth"] = _about(cluster.bandwidth, cluster.bandwidth.gbit_s)
    return found


def _about(measurement: Measurement, values: Matrix) -> dict[str, Any]:
    size = len(values)
    return {
        "tool": measurement.tool,
        "pairs": size * (size - 1),
        "measured": int(np.isfinite(values).sum()),
        "notes": list(measurement.notes),
        "failures": [without_nones(vars(failure)) for failure in measurement.failures],
    }
