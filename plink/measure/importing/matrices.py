"""Import of a CSV matrix of round-trip times."""

from __future__ import annotations

import numpy as np

from plink.files import document, matrix_csv
from plink.files.cluster import Cluster
from plink.files.hosts import Host
from plink.files.measurements import RttMeasurement


def import_matrix(content: bytes, source: str, *, unit: str | None, percentile: float) -> Cluster:
    """Return the cluster in a CSV matrix; each pair counts as measured once.

    Args:
        content: the CSV text (`matrix_csv.parse`).
        source: what errors call it.
        unit: the unit of the numbers where the text names none, in any spelling.
        percentile: which percentile of a pair's samples the numbers are.

    Raises:
        WrongUseError: the text is not such a matrix.
    """
    given = None if unit is None else matrix_csv.unit_named(unit)
    matrix = matrix_csv.parse(content, source, given)
    return Cluster(
        # No address is known; the name is the best guess there is.
        hosts=[Host(name=name, address=name) for name in matrix.names],
        rtt=RttMeasurement(
            rtt_us={percentile: matrix.rtt_us},
            reading=percentile,
            samples=np.isfinite(matrix.rtt_us).view(np.int8),
            losses=np.zeros(matrix.rtt_us.shape, dtype=np.int8),
            tool="import",
            options={"unit": matrix.unit},
            notes=matrix.notes,
        ),
        made_from=document.digest(content),
    )
