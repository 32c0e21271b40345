"""The files of a report: read, told apart, and held to be of one cluster."""

from __future__ import annotations

from collections.abc import Sequence

from plink.errors import WrongUseError
from plink.files import cluster as cluster_file
from plink.files import document
from plink.files import order as order_file
from plink.files.cluster import Cluster
from plink.report.subject import NamedOrder, Subject


def read_subject(paths: Sequence[str]) -> Subject:
    """What files are about.

    Args:
        paths: at most one cluster file, and any number of order files; one may be `-`.

    Raises:
        WrongUseError: a file is wrong or of no such kind, or they are not of one cluster.
    """
    if paths.count(document.STANDARD_STREAM) > 1:
        raise WrongUseError("standard input can be one file only")
    clusters: list[tuple[str, Cluster, str]] = []
    orders: list[NamedOrder] = []
    for path in paths:
        source, content = document.label(path), document.read_bytes(path)
        data = document.parse(content, source)
        found = data.get("format")
        if found == cluster_file.FORMAT:
            cluster = cluster_file.from_json(data, source)
            clusters.append((source, cluster, document.digest(content)))
        elif found == order_file.FORMAT:
            orders.append(NamedOrder(source, order_file.from_json(data, source)))
        else:
            kind = f"a {document.brief(found)} file" if isinstance(found, str) else "no plink file"
            raise WrongUseError(
                f"{source}: is {kind}", "plink report takes cluster and order files"
            )
    if len(clusters) > 1:
        raise WrongUseError(
            f"{clusters[0][0]} and {clusters[1][0]} are both cluster files", "a report is of one"
        )
    if not clusters:
        _check_same(orders)
        return Subject(None, None, orders)
    source, cluster, digest = clusters[0]
    for named in orders:
        _check_made_from(named, cluster, source, digest)
    return Subject(cluster, source, orders)


def _check_made_from(named: NamedOrder, cluster: Cluster, source: str, digest: str) -> None:
    if named.order.made_from == digest and sorted(named.order.given) == sorted(cluster.names):
        return
    file = document.argument(source)
    algorithm = named.order.algorithm
    ranks = f" --ranks {named.order.ranks}" if named.order.unused else ""
    raise WrongUseError(
        f"{named.source} was not made from {source} as it is now",
        f"plink order {file} --algo {algorithm}{ranks} -o {document.argument(named.source)} "
        "makes it anew",
    )


def _check_same(orders: Sequence[NamedOrder]) -> None:
    first = orders[0]
    for other in orders[1:]:
        same_hosts = sorted(other.order.given) == sorted(first.order.given)
        if other.order.made_from != first.order.made_from or not same_hosts:
            raise WrongUseError(
                f"{first.source} and {other.source} were not made from the same cluster file",
                "a report is of one cluster",
            )
