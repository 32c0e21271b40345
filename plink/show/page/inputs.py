"""The files of a report: read, told apart, and held to be of one cluster or one tuned run."""

from __future__ import annotations

from collections.abc import Sequence

from plink.autotune.log import autotune_log
from plink.autotune.log.history import History, history_of
from plink.base.errors import WrongUseError
from plink.files import cluster as cluster_file
from plink.files import document, order_file
from plink.files.cluster import Cluster
from plink.show.page.subject import NamedOrder, Subject


def read_inputs(paths: Sequence[str]) -> Subject | History:
    """What files are about: a cluster and orders, or a tuned run.

    Args:
        paths: at most one cluster file and any number of order files, or the logs of one run; one
            may be `-`.

    Raises:
        WrongUseError: a file is wrong or of no such kind, or they do not belong together.
    """
    if paths.count(document.STANDARD_STREAM) > 1:
        raise WrongUseError("standard input can be one file only")
    contents = [(document.label(path), document.read_bytes(path)) for path in paths]
    logs = [each for each in contents if autotune_log.is_log(each[1])]
    if not logs:
        return _subject(contents)
    if len(logs) < len(contents):
        raise WrongUseError(
            f"{logs[0][0]} is a log of plink autotune, and not all files are",
            "a report is of a cluster and its orders, or of a tuned run",
        )
    return _history(logs)


def _history(logs: Sequence[tuple[str, bytes]]) -> History:
    """The run that logs of the same ranks tell of, whichever order they are given in."""
    parts = []
    for source, content in logs:
        start, entries = autotune_log.parse(content, source)
        known = list(entries)
        parts.append((known[0].now_s if known else float("inf"), source, start, known))
    parts.sort(key=lambda part: part[0])
    _, first_source, first, _ = parts[0]
    for _, source, start, _ in parts[1:]:
        if start.plan.ranks != first.plan.ranks:
            raise WrongUseError(
                f"{first_source} and {source} are logs of different jobs", "a report is of one run"
            )
    try:
        return history_of((start, entries) for _, _, start, entries in parts)
    except ValueError as error:  # the plan has no masters, or the state is none
        raise WrongUseError(f"{first_source}: {error}") from None


def _subject(contents: Sequence[tuple[str, bytes]]) -> Subject:
    clusters: list[tuple[str, Cluster, str]] = []
    orders: list[NamedOrder] = []
    for source, content in contents:
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
                f"{source}: is {kind}",
                "plink report takes cluster and order files, or logs of plink autotune",
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
