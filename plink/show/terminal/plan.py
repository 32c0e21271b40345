"""Tables that `plink plan` and `plink show` print about plans and their candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta
from rich.console import Console

from plink.base.size import format_size
from plink.base.text import bytes_text, format_count, seconds_text, share_text
from plink.formats.limits import Amount, Collective, Positive, Whole, Word
from plink.formats.limits import Text as NonEmptyText
from plink.formats.plan import SERVER, Plan, Predicted
from plink.formats.structs import Output
from plink.optimize.plans.candidates import PortUse, Refused
from plink.optimize.plans.planning import Planned
from plink.optimize.plans.ports import PortsVerdict
from plink.optimize.plans.traffic import Demand, build_traffic, measure_traffic
from plink.plans.by_port import bytes_by_port
from plink.plans.forest import NO_PARENT
from plink.plans.measures import Measures, measure, sum_measures
from plink.plans.names import ALL_REDUCE, format_collectives
from plink.show.tables import UNKNOWN, Column, Fact
from plink.show.terminal.paper import print_facts, print_line, print_table

# A kind of plan, its predicted time in seconds, and its measures; None for the bound.
_Row = tuple[str, float, Measures | None]


class PlanFigures(Output, frozen=True):
    """Key figures of a plan: kind, ranks, routes, bound and balance.

    Attributes:
        kind: how the routes were built
        size_bytes: size of the buffer, in bytes
        collectives: collectives that the plan was made for
        ranks: number of ranks
        hosts: number of hosts
        groups: number of groups
        routes: number of routes
        bound_s: no plan takes less on this network, in s
        assumptions: what was assumed of the network
        balance: what the busiest rank sends and receives, over the mean of all ranks
    """

    kind: Word
    size_bytes: Positive
    collectives: Annotated[Sequence[Collective], Meta(min_length=1)]
    ranks: Positive
    hosts: Positive
    groups: Whole
    routes: Positive
    bound_s: Amount | None
    assumptions: Sequence[str]
    balance: Amount


class PlanCandidate(Output, frozen=True):
    """Candidate plan of one kind, with its predicted time and traffic.

    Attributes:
        kind: kind of the plan
        time_s: predicted time of all collectives together, in s
        routes: number of routes
        rounds: messages that the longest way takes
        wire_bytes: bytes that hosts send to each other
        cross_group_bytes: bytes that go from one group to another
        balance: what the busiest rank sends and receives, over the mean of all ranks
        ports: ports of servers, if it uses any
    """

    OPTIONAL: ClassVar = ("ports",)

    kind: Word
    time_s: Amount
    routes: Positive
    rounds: Whole
    wire_bytes: Amount
    cross_group_bytes: Amount
    balance: Amount
    ports: Sequence[PortUse] | None


class PlannedOutput(PlanFigures, frozen=True):
    """Plan that was chosen for a cluster, with the other candidates.

    Attributes:
        reason: why this kind was chosen
        candidates: kinds that fit, with what they take
        refused: kinds that do not fit
        seed: seed of the random choices
        made_from: SHA-256 (`sha256:...`) of the file that this was made from
        servers: number of ranks that are servers
        ports: what the servers' ports bring at most
    """

    OPTIONAL: ClassVar = ("servers", "ports")

    reason: NonEmptyText
    candidates: Sequence[PlanCandidate]
    refused: Sequence[Refused]
    seed: Whole
    made_from: NonEmptyText | None
    servers: Whole | None
    ports: PortsVerdict | None


class ShownPlan(PlanFigures, frozen=True, tag_field="of", tag="plink.plan"):
    """Traffic and predicted times of a plan file.

    Attributes:
        rounds: messages that the longest way takes
        wire_bytes: bytes that hosts send to each other
        cross_group_bytes: bytes that go from one group to another
        root_shares: for every rank the share of the buffer that it is the root of, 0 to 1
        predicted: times of the kinds of plan that were compared
        ports: ports of servers, if there are any
    """

    OPTIONAL: ClassVar = ("ports",)

    rounds: Whole
    wire_bytes: Amount
    cross_group_bytes: Amount
    root_shares: Sequence[Amount]
    predicted: Sequence[Predicted]
    ports: Sequence[PortUse] | None


def print_plan(console: Console, source: str, planned: Planned) -> None:
    """Print the predicted time of every candidate plan for a file, and which one was chosen."""
    plan = planned.plan
    bound_s = plan.bound_s or 0.0
    print_line(console, f"{source}: {_purpose(plan)} on {_hosts_text(plan)}", "bold")
    console.print()
    share = "{:.2f} x".format if bound_s else lambda _: UNKNOWN
    columns: list[Column[_Row]] = [
        Column("kind", lambda row: row[0], is_text=True),
        Column("predicted", lambda row: seconds_text(row[1])),
        Column("of the bound", lambda row: share(row[1] / (bound_s or 1.0)) if row[2] else ""),
        Column("between groups", lambda row: _bytes_text(row, "cross_group_bytes")),
        Column("on the wire", lambda row: _bytes_text(row, "wire_bytes")),
        Column("rounds", lambda row: str(row[2].rounds) if row[2] else ""),
    ]
    rows: list[_Row] = [(each.kind, each.time_s, each.measures) for each in planned.candidates]
    rows = [*sorted(rows, key=lambda row: row[1]), ("bound", bound_s, None)]
    styles = {planned.chosen.kind: "bold", "bound": "dim"}
    print_table(console, columns, rows, lambda row: styles.get(row[0], ""))
    console.print()
    print_line(console, planned.reason)
    if planned.ports is not None:
        print_line(console, planned.ports.sentence)
    for refused in planned.refused:
        print_line(console, f"no {refused.kind}: {refused.reason}", "dim")


def _bytes_text(row: _Row, member: str) -> str:
    return "" if row[2] is None else bytes_text(getattr(row[2], member))


def describe_planned(planned: Planned) -> PlannedOutput:
    """Return what `plink plan --json` prints: the chosen plan without its routes."""
    plan = planned.plan
    return PlannedOutput(
        **_figures(plan),
        balance=planned.chosen.measures.balance,
        reason=planned.reason,
        candidates=[
            PlanCandidate(
                kind=candidate.kind,
                time_s=candidate.time_s,
                routes=candidate.forest.routes,
                **_traffic(candidate.measures),
                ports=candidate.ports or None,
            )
            for candidate in planned.candidates
        ],
        refused=planned.refused,
        seed=plan.seed,
        made_from=plan.made_from,
        servers=None if planned.ports is None else len(plan.ranks) - plan.contributors,
        ports=planned.ports,
    )


def _figures(plan: Plan) -> dict[str, Any]:
    """Return the key figures of a plan for JSON: kind, sizes, numbers of ranks and routes."""
    return {
        "kind": plan.kind,
        "size_bytes": plan.size_bytes,
        "collectives": plan.collectives,
        "ranks": len(plan.ranks),
        "hosts": max(plan.host_by_rank) + 1,
        "groups": len(plan.groups),
        "routes": plan.forest.routes,
        "bound_s": plan.bound_s,
        "assumptions": plan.assumptions,
    }


def _traffic(measures: Measures) -> dict[str, Any]:
    names = ("rounds", "wire_bytes", "cross_group_bytes", "balance")
    return {name: getattr(measures, name) for name in names}


def _purpose(plan: Plan) -> str:
    """Format what a plan is for: `20 MB` for an all-reduce, `2 all-gather of 20 MB`."""
    size = format_size(plan.size_bytes)
    if tuple(plan.collectives) == (ALL_REDUCE,):
        return size
    return f"{format_collectives(plan.collectives)} of {size}"


def _hosts_text(plan: Plan) -> str:
    hosts = max(plan.host_by_rank) + 1
    text = format_count(hosts, "host")
    if plan.groups:
        text += f" in {format_count(len(plan.groups), 'group')}"
    return text if hosts == len(plan.ranks) else f"{text}, {format_count(len(plan.ranks), 'rank')}"


def print_plan_page(console: Console, plan: Plan) -> None:
    """Print a plan file in a few lines: predicted times, routes, bytes, servers, assumptions."""
    measures = _measure_plan(plan)
    print_line(console, f"{plan.kind} plan of {_hosts_text(plan)}", "bold")
    print_line(console, f"made for {_purpose(plan)}", "dim")
    times = sorted(plan.predicted, key=lambda each: each.time_s)
    predicted = [f"{each.kind} {seconds_text(each.time_s)}" for each in times]
    if plan.bound_s is not None:
        predicted.append(f"no plan takes less than {seconds_text(plan.bound_s)}")
    shares = plan.forest.shares
    least, most = (share_text(float(share)) for share in (shares.min(), shares.max()))
    share = f"{most} of the buffer each" if least == most else f"{least} to {most} of the buffer"
    rounds = f"at most {format_count(measures.rounds, 'round')}"
    carried = [f"{bytes_text(measures.wire_bytes)} on the wire"]
    if plan.groups:
        carried.append(f"{bytes_text(measures.cross_group_bytes)} between groups")
    carried.append(f"the busiest rank has {measures.balance:.2f} times the mean")
    rows: list[Fact] = [
        ("predicted", predicted or ["nothing"]),
        ("routes", [f"{plan.forest.routes:,}, {share}", rounds]),
        ("bytes", carried),
    ]
    if plan.has_servers:
        rows.append(("servers", _server_lines(plan)))
    if plan.assumptions:
        rows.append(("assumed", plan.assumptions))
    print_facts(console, rows)


def describe_plan(plan: Plan) -> ShownPlan:
    """Return a plan as `plink show --json` prints it."""
    roots = np.argmax(plan.forest.reduce_parents == NO_PARENT, axis=1)
    return ShownPlan(
        **_figures(plan),
        **_traffic(_measure_plan(plan)),
        root_shares=np.bincount(roots, plan.forest.shares, len(plan.ranks)).tolist(),
        predicted=plan.predicted,
        ports=_ports(plan) if plan.has_servers else None,
    )


def _measure_plan(plan: Plan) -> Measures:
    """Count the rounds and bytes of all of a plan's collectives, added up."""
    groups, hosts = plan.group_by_rank, plan.host_by_rank
    measured = []
    for name in plan.collectives:
        if name == ALL_REDUCE:
            # By all routes, though a small buffer does not use them all.
            each = measure(plan.forest, plan.size_bytes, group_of=groups, host_of=hosts)
        else:
            traffic = build_traffic(Demand(name, plan.size_bytes), plan.forest)
            each = measure_traffic(traffic, groups, hosts)
        measured.append(each)
    return sum_measures(measured)


def _ports(plan: Plan) -> list[PortUse]:
    """Compute the bytes of an all-reduce through each port of a plan's servers."""
    counts = [len(rank.ports) for rank in plan.ranks]
    carried = bytes_by_port(plan.forest, plan.route_ports, counts, plan.size_bytes)
    return [
        PortUse(rank.host, port, sent, received)
        for rank, own in zip(plan.ranks, carried, strict=True)
        if rank.role == SERVER
        for port, (sent, received) in enumerate(own)
    ]


def _server_lines(plan: Plan) -> list[str]:
    """Return a line for each server of a plan with its traffic."""
    lines = [f"{format_count(plan.contributors, 'worker')}, by whose number a mean is divided"]
    received: dict[str, list[float]] = {}
    for port in _ports(plan):
        received.setdefault(port.host, []).append(port.received_bytes)
    for host, sizes in received.items():
        least, most = bytes_text(min(sizes)), bytes_text(max(sizes))
        each = most if least == most else f"{least} to {most}"
        lines.append(f"{host}: {format_count(len(sizes), 'port')}, {each} into each")
    return lines
