"""Subject of a report, read from files: a cluster with orders, a tuned run, or timelines."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from plink.autotune.log import records
from plink.autotune.log.history import History, history_of
from plink.base.errors import WrongUseError
from plink.base.next_command import next_command
from plink.base.replacing import replace
from plink.base.text import brief
from plink.formats import cluster as cluster_file
from plink.formats import document
from plink.formats import order as order_file
from plink.formats.cluster import Cluster
from plink.formats.hosts import Group
from plink.formats.order import Order
from plink.formats.order_basis import is_made_from
from plink.formats.unpacking import Content
from plink.model.distance import Distances, distances
from plink.model.outliers import Outlier, outliers
from plink.show.page.charts import NO_GROUP, short_names
from plink.solvers.seriation import seriate
from plink.training.timeline.merging import Timeline, merge_ranks
from plink.training.timeline.reading import is_timeline, read_ranks


@dataclass(frozen=True)
class NamedOrder:
    """Order with the name of its file, as the report calls it."""

    source: str
    order: Order


@dataclass(frozen=True)
class Subject:
    """Subject of a report: a cluster and orders of its hosts, or orders alone, read from files."""

    cluster: Cluster | None
    source: str | None
    orders: Sequence[NamedOrder] = ()

    @cached_property
    def names(self) -> Sequence[str]:
        """Host names in the cluster's order, else in the first order's."""
        if self.cluster is not None:
            return self.cluster.names
        return list(self.orders[0].order.listed)

    @cached_property
    def index_by_host(self) -> Mapping[str, int]:
        """Index of each host in the report's order of hosts, by name."""
        return {name: place for place, name in enumerate(self.names)}

    @cached_property
    def labels(self) -> Sequence[str]:
        """Host names as figures show them, without common parts."""
        return short_names(self.names)

    @property
    def groups(self) -> Sequence[Group]:
        """Groups of near hosts, if known."""
        if self.cluster is not None:
            return self.cluster.groups
        return self.orders[0].order.groups

    def group_name(self, group: int) -> str:
        """Return the name of a group, given its number."""
        return "no group" if group == NO_GROUP else self.groups[group].name

    @cached_property
    def group_by_host(self) -> npt.NDArray[np.intp]:
        """Group number of each host, (N,); `NO_GROUP` for none."""
        numbers = np.full(len(self.names), NO_GROUP, dtype=np.intp)
        for number, group in enumerate(self.groups):
            numbers[[self.index_by_host[host] for host in group.hosts]] = number
        return numbers

    @cached_property
    def distances(self) -> Distances | None:
        """Symmetric distances between hosts, gaps filled; None where nothing was measured."""
        if self.cluster is None or len(self.names) < 2:
            return None
        try:
            return distances(self.cluster)
        except WrongUseError:  # nothing was measured
            return None

    @cached_property
    def outliers(self) -> Sequence[Outlier]:
        """Outlying hosts, the greatest factor first."""
        return () if self.cluster is None else outliers(self.cluster)

    @cached_property
    def sequence(self) -> Sequence[int]:
        """Host indices in the order of figures: by group, near ones adjacent, ungrouped last."""
        if self.distances is not None:
            near = seriate(self.distances.matrix_us)
        elif self.orders:
            order = self.orders[0].order
            near = [self.index_by_host[host.name] for host in (*order.hosts, *order.unused)]
        else:
            near = list(range(len(self.names)))
        place = np.empty(len(near))
        place[near] = np.arange(len(near))
        middle = {
            group: float(np.median(place[self.group_by_host == group]))
            for group in np.unique(self.group_by_host)
        }
        middle[NO_GROUP] = np.inf
        return sorted(near, key=lambda host: (middle[self.group_by_host[host]], place[host]))

    @cached_property
    def shade_by_group(self) -> Mapping[int, int]:
        """Colour number of each group, by first place in `sequence`: adjacent groups differ."""
        in_turn = dict.fromkeys(int(self.group_by_host[host]) for host in self.sequence)
        in_turn.pop(NO_GROUP, None)
        return {NO_GROUP: NO_GROUP, **{group: shade for shade, group in enumerate(in_turn)}}

    @cached_property
    def shown_groups(self) -> Sequence[int]:
        """Group numbers to show; `NO_GROUP` is last if a host has no group."""
        known = [int(group) for group in np.unique(self.group_by_host)]
        return sorted(known, key=lambda group: (group == NO_GROUP, group))


def shown_sources(paths: Sequence[str]) -> list[str]:
    """Return files' paths relative to their common folder, so that they stay distinct."""
    files = [path for path in paths if path != document.STANDARD_STREAM]
    folders = [os.path.dirname(os.path.abspath(path)) for path in files]  # noqa: PTH100, PTH120
    common = os.path.commonpath(folders) if folders else ""
    return [
        document.label(path)
        if path == document.STANDARD_STREAM
        else os.path.relpath(path, common)  # pathlib goes no folder up
        for path in paths
    ]


def read_inputs(paths: Sequence[str]) -> Subject | History | Timeline:
    """Return the subject of files: a cluster and orders, a tuned run, or timelines.

    Args:
        paths: at most one cluster file and any number of order files, or the logs of one run, or
            the timelines of its ranks; one may be `-`.

    Raises:
        WrongUseError: a file is wrong or of no such kind, or they do not belong together.
    """
    if paths.count(document.STANDARD_STREAM) > 1:
        raise WrongUseError("only one of the files can be standard input (-)")
    contents = [(document.label(path), document.read_content(path)) for path in paths]
    texts = [(source, content) for source, content in contents if isinstance(content, bytes)]
    if any(is_timeline(text) for _, text in texts):
        return merge_ranks(
            read_ranks(
                (source, content if isinstance(content, bytes) else b"")
                for source, content in contents
            )
        )
    logs = [(source, text) for source, text in texts if records.is_log(text)]
    if not logs:
        return _read_cluster(contents, shown_sources(paths))
    if len(logs) < len(contents):
        raise WrongUseError(
            f"{logs[0][0]} is a log of plink autotune, but other files are not",
            "a report shows a cluster and its orders, or a tuned run",
        )
    return _read_logs(logs)


def _read_logs(logs: Sequence[tuple[str, bytes]]) -> History:
    """Return the tuned run that log files of the same ranks describe."""
    parts = []
    for source, content in logs:
        start, entries = records.parse(content, source)
        known = list(entries)
        parts.append((known[0].now_s if known else float("inf"), source, start, known))
    parts.sort(key=lambda part: part[0])
    _, first_source, first, _ = parts[0]
    for _, source, start, _ in parts[1:]:
        if start.plan.ranks != first.plan.ranks:
            raise WrongUseError(
                f"{first_source} and {source} are logs of different jobs", "a report shows one run"
            )
    try:
        return history_of((start, entries) for _, _, start, entries in parts)
    except ValueError as error:  # the plan has no masters, or the state is not valid
        raise WrongUseError(f"{first_source}: the run cannot be read: {error}") from None


def _read_cluster(contents: Sequence[tuple[str, Content]], shown: Sequence[str]) -> Subject:
    """Return the cluster and the orders in files, renamed as the report shows them."""
    clusters: list[Cluster] = []
    orders: list[NamedOrder] = []
    for source, content in contents:
        file = document.load_document(content, source)
        if file.format == cluster_file.FORMAT:
            clusters.append(cluster_file.open_cluster(file))
        elif file.format == order_file.FORMAT:
            orders.append(NamedOrder(source, order_file.decode_order(file.data, source)))
        else:
            is_named = isinstance(file.format, str)
            kind = f"a {brief(file.format)} file" if is_named else "not a plink file"
            raise WrongUseError(
                f"{source}: is {kind}, and cannot be drawn in a report",
                "plink report reads cluster and order files, logs of plink autotune, or timelines",
            )
    if len(clusters) > 1:
        raise WrongUseError(
            f"{clusters[0].source} and {clusters[1].source} are both cluster files",
            "a report shows one cluster",
        )
    _check_orders(orders, clusters[0] if clusters else None)
    shown_as = {source: name for (source, _), name in zip(contents, shown, strict=True)}
    renamed = [replace(named, source=shown_as[named.source]) for named in orders]
    if not clusters:
        return Subject(None, None, renamed)
    source = shown_as[clusters[0].source]
    return Subject(replace(clusters[0], source=source), source, renamed)


def _check_orders(orders: Sequence[NamedOrder], cluster: Cluster | None) -> None:
    """Raise WrongUseError if orders were not made from the cluster, or not from the same one."""
    first = orders[0] if orders else None
    for named in orders:
        order = named.order
        if cluster is not None:
            is_same = sorted(order.listed) == sorted(cluster.names)
            if is_same and is_made_from(order, cluster):
                continue
            wanted = ["--algo", order.algorithm]
            if order.mesh is not None:
                wanted = ["--mesh", order.mesh.text, "--traffic", order.mesh.given_traffic]
            if order.unused:
                wanted += ["--ranks", str(order.ranks)]
            source, output = document.argument(cluster.source), document.argument(named.source)
            again = next_command("order", source, *wanted, "-o", output)
            raise WrongUseError(
                f"{named.source} was made from another version of {cluster.source}",
                f"{again} makes it again",
            )
        if first is None:
            continue
        # What an order names are the readings that its objective takes into account.
        is_comparable = order.objective == first.order.objective
        is_same_basis = not is_comparable or order.made_from == first.order.made_from
        if sorted(order.listed) != sorted(first.order.listed) or not is_same_basis:
            raise WrongUseError(
                f"{first.source} and {named.source} were not made from the same cluster file",
                "a report shows one cluster",
            )
