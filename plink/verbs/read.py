"""`plink.read`: reading of any file of plink's."""

from __future__ import annotations

import os
from typing import Any, TypeVar, overload

from plink.base.errors import WrongUseError
from plink.base.text import brief
from plink.formats import cluster as cluster_file
from plink.formats import comparison as comparison_file
from plink.formats import document
from plink.formats import order as order_file
from plink.formats import plan as plan_file
from plink.formats.comparison import Comparison
from plink.verbs.cluster import MeasuredCluster
from plink.verbs.common import PathName, copy_as
from plink.verbs.order import RankOrder
from plink.verbs.plan import AggregationPlan

_Kind = TypeVar("_Kind", MeasuredCluster, RankOrder, AggregationPlan, Comparison)


@overload
def read(path: PathName) -> MeasuredCluster | RankOrder | AggregationPlan | Comparison: ...
@overload
def read(path: PathName, kind: type[_Kind]) -> _Kind: ...
def read(
    path: PathName, kind: type[Any] | None = None
) -> MeasuredCluster | RankOrder | AggregationPlan | Comparison:
    """Read a file that plink wrote: return its cluster, order, plan or comparison.

    Args:
        path: path of the file; what ends in `.gz` is unpacked.
        kind: the class that the file has to hold, which a type checker then knows, such as
            `plink.MeasuredCluster`; None for any.

    Raises:
        WrongUseError: it is not one of them, not there, holds values that cannot be, or is of
            another kind than the one asked for.
    """
    found = _read(path)
    if kind is not None and not isinstance(found, kind):
        raise WrongUseError(
            f"{document.label(os.fspath(path))}: holds a {type(found).__name__}, "
            f"expected {kind.__name__}",
            "plink.read(path) reads any file of plink",
        )
    return found


def _read(path: PathName) -> MeasuredCluster | RankOrder | AggregationPlan | Comparison:
    found = document.read(os.fspath(path))
    data, source, kind = found.data, found.source, found.format
    if kind == cluster_file.FORMAT:
        return copy_as(MeasuredCluster, cluster_file.open_cluster(found))
    if kind == order_file.FORMAT:
        return copy_as(RankOrder, order_file.decode_order(data, source))
    if kind == plan_file.FORMAT:
        return copy_as(AggregationPlan, plan_file.decode_plan(data, source, with_servers=True))
    if kind == comparison_file.FORMAT:
        return comparison_file.decode_comparison(data, source)
    what_it_is = f"a {brief(kind)} file" if isinstance(kind, str) else "not one of plink's files"
    raise WrongUseError(
        f"{source}: is {what_it_is}, expected a cluster, an order, a plan or a comparison"
    )
