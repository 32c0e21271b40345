"""`plink.order`: rank orders, their quality, and launchers' files."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Literal, get_args, overload

from plink.base.arguments import MAX_SEED, check_choice, nearest, number, size_bytes, whole
from plink.base.errors import WrongUseError
from plink.base.size import DEFAULT_SIZE
from plink.base.text import format_count, format_names, rtt_text
from plink.deploy import launchers as writers
from plink.files import document
from plink.files import order as order_file
from plink.files import order as order_of_files
from plink.files.mesh import parse_mesh
from plink.optimize.leaving_out import Limiting, limiting
from plink.optimize.orders.ordering import find_order
from plink.optimize.orders.quality import against_random, notes_on
from plink.optimize.orders.request import DistanceSource, OrderRequest
from plink.optimize.orders.slots import MAX_SLOTS
from plink.solvers.collectives.registry import ALGORITHMS, OTHERS
from plink.solvers.limits.deadline import Deadline
from plink.verbs.cluster import Cluster, checked_cluster
from plink.verbs.objects import PathName, copy_as, page
from plink.verbs.progress import OnProgress, search
from plink.verbs.warning import warn

Objective = Literal["latency", "contention", "bandwidth"]
Engine = Literal["cp-sat", "z3"]

_MAX_RANKS = 1 << 24
_MAX_SECONDS = 86_400.0
_MAX_THREADS = 1024


class Order(order_of_files.Order, frozen=True, kw_only=True, dict=True):
    """Hosts in rank order, with cost, bound and quality.

    The members of `plink.files.order.Order`, of which most are used: `hosts` and `names` in rank
    order, `ranks`, `cost`, `gap`, `gain`, `unused`.

    Attributes:
        cluster: cluster that it was made of; None if it was read from a file
    """

    IN_MEMORY: ClassVar = frozenset({"cluster"})
    cluster: Cluster | None = None

    @classmethod
    def read(cls, path: PathName) -> Order:
        """Return the order in a file.

        Raises:
            WrongUseError: not an order file, or one with values that cannot be.
        """
        return copy_as(cls, order_file.read_order(os.fspath(path)))

    @property
    def hosts_by_rank(self) -> list[str]:
        """Name of the host of every rank."""
        return [host.name for host in self.runs for _ in range(host.slots)]

    @cached_property
    def limiting(self) -> Limiting | None:
        """Outlying hosts that limit the job, with the predicted gain of leaving them out.

        None for an order that was read from a file, which does not have what was measured.
        """
        return None if self.cluster is None else limiting(self.cluster, self)

    @property
    def notes(self) -> list[str]:
        """Reasons for caution about the order, one sentence each."""
        return list(notes_on(self))

    def save(self, path: PathName) -> None:
        """Write an order file atomically.

        Raises:
            PlinkError: it cannot be written.
        """
        order_file.write_order(os.fspath(path), self)

    def render(self, launcher: str) -> str:
        """Return the content of a launcher's file (`plink.launchers`).

        Raises:
            WrongUseError: there is no such launcher, or it cannot take this order.
        """
        known = writers.describe_formats()
        if launcher not in known:
            hint = nearest(launcher, known) or "plink.launchers() describes those that there are"
            raise WrongUseError(f"no launcher is called {launcher!r}", hint)
        return writers.render(launcher, self.runs, self.groups, self.unused)

    def write(self, launcher: str, path: PathName) -> str:
        """Write a launcher's file; return the command that keeps the order.

        Raises:
            WrongUseError: there is no such launcher, or it cannot take this order.
            PlinkError: the file cannot be written.
        """
        name = os.fspath(path)
        document.write_bytes(name, self.render(launcher).encode())
        return writers.usage_of(launcher, shlex.quote(name), self.ranks)

    def __repr__(self) -> str:
        found = f"{self.algorithm} over {format_count(self.ranks, 'rank')}"
        cost = f"{self.cost_name} {rtt_text(self.cost.cost_us)}"
        if self.bandwidth is not None:
            cost = f"at least {self.bandwidth.bottleneck_gbit_s:.3g} Gbit/s"
        elif self.cost.lower_bound_us > 0.0:
            cost += f", proven bound {rtt_text(self.cost.lower_bound_us)}"
        return f"<plink.Order: {found}; {cost}, {against_random(self)}; {format_names(self.names)}>"

    def __str__(self) -> str:
        """Return the text that `plink order` prints."""
        from plink.show.terminal.order import print_order  # noqa: PLC0415  who prints nothing ...

        return page(lambda console: print_order(console, self))


def order(
    cluster: Cluster,
    *,
    algorithm: str = "ring",
    mesh: str | Mapping[str, int] | None = None,
    traffic: str | Mapping[str, str | int] | None = None,
    objective: Objective | None = None,
    size: str | int = DEFAULT_SIZE,
    ranks: int | None = None,
    slots: int | None = None,
    interleave: bool = False,
    percentile: float | None = None,
    distances: DistanceSource = "estimate",
    time_limit_s: float = 2.0,
    prove_s: float = 0.0,
    engine: Engine = "cp-sat",
    threads: int = 1,
    seed: int = 0,
    executor: str | None = None,
    restarts: int = 8,
    steps: int = 1_000_000,
    progress: OnProgress | None = None,
) -> Order:
    """Find the rank order that makes a collective's algorithm cheap, and prove how good it is.

    It is never worse than the order that the cluster has. An interrupt (Ctrl-C) ends the search
    with the best order so far, whose `solver.ended_by` then is `interrupt`.

    Args:
        cluster: hosts and what was measured between them.
        algorithm: the collective's algorithm, as its library runs it (`plink.algorithms`).
        mesh: dimensions of ranks whose groups each run a collective, in place of the algorithm, as
            PyTorch's DeviceMesh has them, the last one's ranks being neighbours: `dp=4,tp=2`, or
            sizes by name.
        traffic: of its dimensions in an iteration: `tp=2GB,dp=halving-doubling:500MB`, or by name
            the same or bytes; those left out carry nothing. None for `size` in each.
        objective: `latency` sums round-trip times, `contention` predicts the time of flows that
            share links, `bandwidth` widens the bottleneck. None for contention where uplinks are
            known, bandwidth where no round-trip time is, else latency.
        size: size of the buffer, for contention: `25MB`, `4KiB`, or bytes.
        ranks: how many there are; None for all slots. The best hosts are chosen where
            there are more than are needed.
        slots: ranks on every host; None for the cluster's own.
        interleave: let the ranks of a host be apart where that is cheaper.
        percentile: of the round-trip times, which one stands for a pair; None for the cluster's.
        distances: `estimate` draws a pair whose readings disagree towards others of its groups;
            `readings` takes them as they are.
        time_limit_s: seconds in all, but for `prove_s`: the search, its bound, and what stands
            beside the order.
        prove_s: seconds for an exact engine to find something strictly better, or to prove that
            there is nothing.
        engine: which one: `cp-sat` or `z3`.
        threads: searches at the same time.
        seed: decides every choice by chance.
        executor: what runs `restarts` searches of `steps` moves each, which give the same order
            anywhere: `local` (in `threads`), `dask://HOST:PORT` or `ray://HOST:PORT`. None for
            searches that end with the time limit.
        restarts: how many searches, each from a seed of its own.
        steps: moves that each tries; a ring's search ends by itself.
        progress: called some twenty times a second.

    Raises:
        WrongUseError: an argument that cannot be, nothing was measured, or the algorithm does not
            take so many ranks.
    """
    known = checked_cluster(cluster, "order")
    number("time_limit_s", time_limit_s, 1e-3, _MAX_SECONDS)
    deadline = Deadline(time_limit_s)
    whole("ranks", ranks, 1, _MAX_RANKS)
    whole("slots", slots, 1, MAX_SLOTS)
    whole("threads", threads, 1, _MAX_THREADS)
    whole("seed", seed, 0, MAX_SEED)
    whole("restarts", restarts, 1, 1 << 20)
    whole("steps", steps, 1, 1 << 40)
    number("prove_s", prove_s, 0.0, _MAX_SECONDS)
    number("percentile", percentile, 0.0, 100.0)
    check_choice("engine", engine, get_args(Engine))
    check_choice("distances", distances, get_args(DistanceSource))
    if objective is not None:
        check_choice("objective", objective, get_args(Objective))
    if mesh is None and traffic is not None:
        raise WrongUseError("traffic needs a mesh", "give the mesh's dimensions: mesh='dp=4,tp=2'")
    if mesh is not None and algorithm != "ring":
        raise WrongUseError(
            f"algorithm={algorithm!r} and a mesh exclude each other",
            "name the algorithm of a dimension in traffic='tp=ring:2GB'",
        )
    request = OrderRequest(
        algorithm=algorithm,
        objective=objective,
        size_bytes=size_bytes(size),
        seed=seed,
        executor=executor,
        restarts=restarts,
        steps=steps,
        time_limit_s=time_limit_s,
        prove_s=prove_s,
        engine=engine,
        threads=threads,
        ranks=ranks,
        slots=slots,
        is_interleaved=interleave,
        percentile=percentile,
        distances=distances,
        mesh=None
        if mesh is None
        else parse_mesh(_pairs_text(mesh), _pairs_text(traffic), size_bytes(size)),
    )
    found = find_order(known, request, search(progress, time_limit_s), deadline=deadline)
    result = copy_as(Order, found, cluster=known)
    for failure in known.unreachable:
        warn(f"{failure.source} was unreachable and gets no rank")
    if found.solver.ended_by == "interrupt":
        warn(
            "interrupted: this is the best order so far; whether its gain is noise was not checked"
        )
    if found.unmeasured_hosts:
        warn(
            f"no measurement reaches {format_names(found.unmeasured_hosts)}: the rank of such a "
            "host is arbitrary"
        )
    return result


@overload
def _pairs_text(pairs: str | Mapping[str, str | int] | Mapping[str, int]) -> str: ...
@overload
def _pairs_text(pairs: str | Mapping[str, str | int] | None) -> str | None: ...
def _pairs_text(pairs: str | Mapping[str, Any] | None) -> str | None:
    """Return a mesh or its traffic as on the command line, such as `dp=4,tp=8`."""
    if pairs is None or isinstance(pairs, str):
        return pairs
    return ",".join(f"{name}={value}" for name, value in pairs.items())


def algorithms() -> dict[str, str]:
    """Return the supported collective algorithms: name to description."""
    return {name: found.about for name, found in {**ALGORITHMS, **OTHERS}.items()}


def launchers() -> dict[str, str]:
    """Return the launchers that `Order.write` supports: name to description of the file."""
    return writers.describe_formats()
