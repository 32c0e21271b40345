"""`plink order` behind the command line: read, solve, write, and say how good the order is."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import click
import numpy as np
from rich.console import Console

from plink.base.errors import EXIT_PARTIAL, WrongUseError
from plink.base.text import counted, printable, rtt_text, share_text
from plink.cli.options import size_option
from plink.cli.stderr import note, warn
from plink.deploy import launchers
from plink.files import cluster, document
from plink.files import order as order_file
from plink.files.cluster import Cluster
from plink.files.measurement import Failure
from plink.files.order import Order
from plink.files.rtt import readings_at
from plink.optimize.orders.by_bandwidth import is_by_bandwidth
from plink.optimize.orders.ordering import OrderRequest, find_order
from plink.optimize.orders.quality import doubt
from plink.optimize.orders.slots import with_slots
from plink.show.terminal.order import print_order
from plink.show.terminal.paper import paper
from solvers.exact.prove import Engine
from solvers.orders.solution import Progress


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    file: str
    algorithm: str
    objective: str | None
    size: str
    prove_s: float
    engine: Engine
    threads: int
    output: str | None
    format_name: str | None
    ranks: int | None
    slots: int | None
    is_interleaved: bool
    percentile: float | None
    time_limit_s: float
    seed: int
    as_json: bool
    # Options of the search that were given, not left at their defaults.
    given_options: Sequence[str] = ()


def run(request: Request) -> int:
    """Do it; return the exit code.

    Raises:
        WrongUseError: wrong options, or a file that is neither a cluster nor an order.
    """
    has_data_on_stdout = _check(request)
    order, unreachable = _order(request)
    _write(request, order)
    if request.as_json:
        text = json.dumps(_summary(order), ensure_ascii=False)
        document.write_bytes(document.STANDARD_STREAM, f"{text}\n".encode())
    else:
        print_order(_talk() if has_data_on_stdout else paper(None).console, order)
    sceptical = doubt(order)
    if sceptical:
        note(sceptical)
    if order.filled_pairs and order.bandwidth is not None:
        note(
            f"{counted(order.filled_pairs, 'pair')} without a measurement are taken to be as slow "
            "as the slowest that was measured; the bound holds whatever they carry"
        )
    elif order.filled_pairs:
        note(
            f"the embedding was not used: {counted(order.filled_pairs, 'distance')} without a "
            "measurement came from the raw matrix, on which rings come out no worse"
        )
    if request.format_name is not None and request.output is not None:
        _explain(request.format_name, request.output, order)
    return _warn(order, unreachable)


def _warn(order: Order, unreachable: Sequence[Failure]) -> int:
    """Say what the order lacks; return the exit code."""
    is_interrupted = order.solver.ended_by == "interrupt"
    for failure in unreachable:
        warn(f"{failure.source} was unreachable and gets no rank")
    if is_interrupted:
        warn("interrupted: the best order so far; whether its gain is noise was not checked")
    if order.unmeasured_hosts:
        warn(
            f"no measurement reaches {', '.join(order.unmeasured_hosts)}",
            "the rank of such a host is arbitrary; probe it again, or leave it out",
        )
    return EXIT_PARTIAL if unreachable or is_interrupted or order.unmeasured_hosts else 0


def _explain(format_name: str, output: str, order: Order) -> None:
    """Say which command keeps the order, for several do not."""
    name = "FILE" if output == document.STANDARD_STREAM else shlex.quote(output)
    usage = launchers.usage_of(format_name, name, order.ranks)
    click.echo(printable(f"{name}: {usage}"), err=True)
    if any(host.user or host.port or host.ssh_address for host in order.hosts):
        note("the file holds names only: users and ports belong in the SSH configuration")


def _check(request: Request) -> bool:
    """Refuse early what cannot end well; whether the file goes to standard output."""
    if request.format_name is not None and request.format_name not in launchers.described():
        raise WrongUseError(
            f"there is no format {request.format_name!r}", "plink order --format LIST names them"
        )
    if request.output is not None:
        document.check_writable(request.output)
        document.refuse_same_file(request.file, request.output)
    is_default = request.output is None and request.format_name is not None
    has_data_on_stdout = is_default or request.output == document.STANDARD_STREAM
    if has_data_on_stdout and request.as_json:
        raise WrongUseError(
            "--json and the file both want standard output", "give the file a name with -o"
        )
    return has_data_on_stdout


def _order(request: Request) -> tuple[Order, Sequence[Failure]]:
    """The order, and the hosts that it lacks."""
    source = document.label(request.file)
    content = document.read_bytes(request.file)
    data = document.parse(content, source)
    if data.get("format") == order_file.FORMAT:
        order = _with_slots(order_file.from_json(data, source), request.slots)
        if request.ranks not in (None, order.ranks):
            raise WrongUseError(
                f"{source}: the order has {counted(order.ranks, 'rank')}, not {request.ranks}",
                "plink order CLUSTER --ranks makes one for them",
            )
        if request.given_options:
            verb = "has" if len(request.given_options) == 1 else "have"
            note(f"nothing is searched: {', '.join(request.given_options)} {verb} no effect")
        return order, ()
    hosts = _read_at(request, cluster.from_json(data, source, document.digest(content)), source)
    if request.format_name is not None and request.ranks is None:
        # What cannot be written in this order cannot in any: it is refused before the search.
        slotted = with_slots(hosts.hosts, request.slots)
        launchers.render(request.format_name, slotted, hosts.groups)
    wanted = OrderRequest(
        algorithm=request.algorithm,
        objective=request.objective,
        size_bytes=size_option(request.size),
        seed=request.seed,
        time_limit_s=request.time_limit_s,
        prove_s=request.prove_s,
        engine=request.engine,
        threads=request.threads,
        ranks=request.ranks,
        slots=request.slots,
        is_interleaved=request.is_interleaved,
    )
    console = _talk()
    with console.status("") as status:
        order = find_order(
            hosts,
            wanted,
            _show_on(status.update) if console.is_terminal else None,
        )
    return order, hosts.unreachable


def _with_slots(order: Order, slots: int | None) -> Order:
    """An order that was made before, with so many ranks on every host."""
    if slots is None or all(host.slots == slots for host in order.hosts):
        return order
    if not order.is_ring_of_hops or order.unused:
        raise WrongUseError(
            f"the order was made for {counted(order.ranks, 'rank')}, and --slots makes it "
            f"{counted(slots * len(order.hosts), 'rank')}",
            "plink order CLUSTER --slots makes one for them",
        )
    return replace(order, hosts=with_slots(order.hosts, slots))


def _read_at(request: Request, hosts: Cluster, source: str) -> Cluster:
    """The cluster with the readings that were asked for."""
    if len(hosts.hosts) == 1:
        return hosts
    if is_by_bandwidth(hosts, request.objective):
        if request.percentile is not None:
            raise WrongUseError(
                "--percentile is of round-trip times, and this order goes by bandwidth",
                "leave it out, or name another --objective",
            )
        return hosts
    rtt = cluster.measured_rtt(hosts, source)
    chosen, readings_us = readings_at(rtt, request.percentile, source)
    if not np.isfinite(readings_us).any():
        raise cluster.nothing_measured(source)
    return replace(hosts, rtt=replace(rtt, reading=chosen))


def _write(request: Request, order: Order) -> None:
    if request.format_name is not None:
        text = launchers.render(request.format_name, order.ranked, order.groups, order.unused)
        document.write_bytes(request.output or document.STANDARD_STREAM, text.encode())
    elif request.output is not None:
        order_file.write(request.output, order)


def _summary(order: Order) -> dict[str, Any]:
    data = order_file.to_json(order)
    hidden = {"format", "version", "hosts", "groups", "unused", "host_of_rank"}
    slots = [host.slots for host in order.hosts]
    chosen = {"unused": [host.name for host in order.unused]} if order.unused else {}
    apart = {} if order.host_of_rank is None else {"host_of_rank": list(order.host_of_rank)}
    shown = {key: data[key] for key in data if key not in hidden}
    return {"order": order.names, "slots": slots, **chosen, **apart, **shown}


def _talk() -> Console:
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def _show_on(update: Callable[[str], None]) -> Callable[[Progress], None]:
    def show(progress: Progress) -> None:
        cost, bound = progress.cost, progress.lower_bound
        gap = f", gap {share_text(max(0.0, cost - bound) / cost)}" if bound and cost else ""
        update(f"{progress.seconds:.1f} s  cost {rtt_text(cost)}{gap}")

    return show
