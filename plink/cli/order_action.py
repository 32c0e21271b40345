"""`plink order` behind the command line: read, solve, write, and say how good the order is."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import click
from rich.console import Console

from plink.errors import PartialResultError, WrongUseError
from plink.files import cluster, document
from plink.files import order as order_file
from plink.files.order import Order
from plink.launchers import FORMATS
from plink.ordering import doubt, solve_ring
from plink.view.order import print_order
from plink.view.paper import paper
from plink.view.text import rtt_text, share_text
from solvers.ring.solution import Progress


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    file: str
    algorithm: str
    output: str | None
    format_name: str | None
    slots: int | None
    time_limit_s: float
    seed: int
    as_json: bool


def run(request: Request) -> None:
    """Do it.

    Raises:
        WrongUseError: wrong options, or a file that is neither a cluster nor an order.
        PartialResultError: all was written, but hosts without any measurement are in the order.
    """
    has_data_on_stdout = _check(request)
    order = _order(request)
    if request.slots is not None:
        slots = request.slots
        order = replace(order, hosts=[replace(host, slots=slots) for host in order.hosts])
    _write(request, order)
    if request.as_json:
        click.echo(json.dumps(_summary(order), ensure_ascii=False))
    else:
        print_order(_talk() if has_data_on_stdout else paper(None).console, order)
    sceptical = doubt(order)
    if sceptical:
        click.echo(f"note: {sceptical}", err=True)
    if order.unmeasured_hosts:
        raise PartialResultError(
            f"no measurement reaches {', '.join(order.unmeasured_hosts)}",
            "the rank of such a host is arbitrary; probe it again, or leave it out",
        )


def _check(request: Request) -> bool:
    """Refuse early what cannot end well; whether the file goes to standard output."""
    if request.format_name is not None and request.format_name not in FORMATS:
        raise WrongUseError(
            f"there is no format {request.format_name!r}", f"formats: {', '.join(FORMATS)}"
        )
    if request.output is not None:
        document.check_writable(request.output)
    is_default = request.output is None and request.format_name is not None
    has_data_on_stdout = is_default or request.output == document.STANDARD_STREAM
    if has_data_on_stdout and request.as_json:
        raise WrongUseError(
            "--json and the file both want standard output", "give the file a name with -o"
        )
    return has_data_on_stdout


def _order(request: Request) -> Order:
    source = document.label(request.file)
    content = document.read_bytes(request.file)
    data = document.parse(content, source)
    if data.get("format") == order_file.FORMAT:
        return order_file.from_json(data, source)
    hosts = cluster.from_json(data, source)
    for failure in hosts.unreachable:
        click.echo(f"note: {failure.source} was unreachable and gets no rank", err=True)
    console = _talk()
    with console.status("") as status:
        order = solve_ring(
            hosts,
            document.digest(content),
            seed=request.seed,
            time_limit_s=request.time_limit_s,
            on_progress=_show_on(status.update) if console.is_terminal else None,
        )
    if order.solver.ended_by == "interrupt":
        click.echo("note: interrupted, this is the best order so far", err=True)
    return order


def _write(request: Request, order: Order) -> None:
    if request.format_name is not None:
        text = FORMATS[request.format_name].render(order.hosts)
        document.write_bytes(request.output or document.STANDARD_STREAM, text.encode())
    elif request.output is not None:
        order_file.write(request.output, order)


def _summary(order: Order) -> dict[str, Any]:
    data = order_file.to_json(order)
    hidden = {"format", "version", "hosts"}
    return {"order": order.names, **{key: data[key] for key in data if key not in hidden}}


def _talk() -> Console:
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def _show_on(update: Callable[[str], None]) -> Callable[[Progress], None]:
    def show(progress: Progress) -> None:
        cost, bound = progress.cost, progress.lower_bound
        gap = f", gap {share_text(max(0.0, cost - bound) / cost)}" if bound and cost else ""
        update(f"{progress.seconds:.1f} s  cost {rtt_text(cost)}{gap}")

    return show
