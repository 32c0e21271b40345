"""Files of plink's, whatever they hold."""

from __future__ import annotations

import os
from typing import Any

from plink.api.cluster import Cluster
from plink.api.objects import PathName, upgraded
from plink.api.order import Order
from plink.api.plan import Plan
from plink.base.errors import WrongUseError
from plink.files import cluster as cluster_file
from plink.files import comparison as comparison_file
from plink.files import document, order_file
from plink.files import plan as plan_file


def read(path: PathName) -> Any:
    """What a file of plink's holds: a `Cluster`, an `Order`, a `Plan` or a comparison.

    `Cluster.read`, `Order.read` and `Plan.read` take one kind only, which a type checker knows.

    Args:
        path: of the file; what ends in `.gz` is unpacked.

    Raises:
        WrongUseError: it is not one of them, not there, or holds values that cannot be.
    """
    found = document.read(os.fspath(path))
    data, source, kind = found.data, found.source, found.format
    if kind == cluster_file.FORMAT:
        return upgraded(Cluster, cluster_file.from_document(found))
    if kind == order_file.FORMAT:
        return upgraded(Order, order_file.from_json(data, source))
    if kind == plan_file.FORMAT:
        return upgraded(Plan, plan_file.from_json(data, source, with_servers=True))
    if kind == comparison_file.FORMAT:
        return comparison_file.from_json(data, source)
    what = f"a {document.brief(kind)} file" if isinstance(kind, str) else "not one of plink's files"
    raise WrongUseError(
        f"{source}: is {what}", "clusters, orders, plans and comparisons can be read"
    )
