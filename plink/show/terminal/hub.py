"""Tables of `plink hub bounds` (rates that hide a gradient exchange) and `cost` (of a worker)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec.structs import asdict
from rich.console import Console

from plink.base.text import bandwidth_text, bytes_text, seconds_text
from plink.formats.limits import Amount
from plink.hub.bounds import Bound, Training, bounds
from plink.hub.cost import CostRow, Costs
from plink.hub.networks import PRINTED_WORKERS, TrainedNetwork
from plink.hub.racks import Racks, RacksVerdict, judge_racks
from plink.optimize.plans.ports import PortsVerdict, judge_ports
from plink.show.tables import UNKNOWN, Column, known_text
from plink.show.terminal.paper import print_line, print_table

_BOUND_COLUMNS: tuple[Column[Bound], ...] = (
    Column("placement", lambda row: row.placement, is_text=True),
    Column("at a server", lambda row: _rate(row.server_bits_s)),
    Column("at a worker", lambda row: _rate(row.worker_bits_s) if row.worker_bits_s else UNKNOWN),
    Column("exchange", lambda row: seconds_text(row.exchange_s)),
    Column("behind computing", lambda row: "hidden" if row.is_hidden else "network bound"),
)
_COST_COLUMNS: tuple[Column[CostRow], ...] = (
    Column("a worker", lambda row: row.name, is_text=True),
    Column("uplinks", lambda row: f"{row.oversubscription:g}:1"),
    Column("workers", lambda row: known_text(row.workers, str)),
    Column("network", lambda row: _dollars(row.network)),
    Column("hub", lambda row: UNKNOWN if row.workers is None else _dollars(row.hub)),
    Column("in all", lambda row: _dollars(row.total)),
    Column("work per dollar", lambda row: f"{row.per_dollar:.3f} x"),
)


class FoundBounds(Training, frozen=True):
    """Bandwidths that hide a model's gradient exchange behind computation, by server placement.

    Attributes:
        placements: placements of servers, then an all-reduce
        ports: what a central server's ports bring at most
        printed_ncc_gbit_s: what the paper prints for NCC, in Gbit/s; null if it prints nothing
        racks: verdict on a server in each rack; null if none was asked for
    """

    IN_MEMORY: ClassVar = frozenset({"model"})

    placements: Sequence[Bound]
    ports: PortsVerdict
    printed_ncc_gbit_s: Amount | None
    racks: RacksVerdict | None
    # The model as it was named.
    model: str


def compute_bounds(
    model: str, training: Training, racks: Racks | None, network: TrainedNetwork | None
) -> FoundBounds:
    """Compute the bandwidths that hide a job's gradient exchange, by placement of the servers."""
    is_printed = network is not None and training.workers == PRINTED_WORKERS
    return FoundBounds(
        **asdict(training),
        placements=bounds(training),
        ports=judge_ports(training.workers, training.server_bits_s / training.link_bits_s),
        printed_ncc_gbit_s=network.printed_ncc_gbit_s if network and is_printed else None,
        racks=None if racks is None else judge_racks(racks, training.model_bytes),
        model=model,
    )


def print_bounds(console: Console, job: FoundBounds) -> None:
    """Print the bandwidths that hide a gradient exchange, and remarks on ports and racks."""
    print_line(
        console,
        f"{job.model}: {bytes_text(job.model_bytes)} in every iteration of "
        f"{seconds_text(job.iteration_s)}, {job.workers} workers with "
        f"{_rate(job.link_bits_s)}, servers with {_rate(job.server_bits_s)}",
        "bold",
    )
    console.print()
    print_table(console, _BOUND_COLUMNS, job.placements)
    console.print()
    lines = ["rates are of both directions of a host together, as in Table 2.1"]
    if job.printed_ncc_gbit_s is not None:
        ncc = next(row for row in job.placements if row.placement == "NCC")
        lines.append(
            f"the paper prints {job.printed_ncc_gbit_s:g} Gbit/s for NCC, where its own "
            f"model size and time give {ncc.server_bits_s / 1e9:.1f}"
        )
    lines.append(job.ports.sentence)
    if job.racks is not None:
        verdict = job.racks
        sign, better = (">", "helps") if verdict.is_better else ("<=", "does not help")
        racks, shards = seconds_text(verdict.rack_s), seconds_text(verdict.sharded_s)
        by_links = (verdict.links_sharded_s, verdict.links_hierarchy_s, verdict.links_two_level_s)
        link_shards, link_racks, two_level = map(seconds_text, by_links)
        where = f"{verdict.racks} racks of {verdict.workers} workers"
        rates = f"uplinks of {_rate(verdict.core_bits_s)}, a server of"
        inequality = (
            "by the paper's inequality (§2.3), which adds up stages, aggregation by racks "
            f"{better}: {shards} across racks by sharded servers {sign} {racks} in a rack + "
            f"{seconds_text(verdict.between_s)} between racks; it does below "
            f"{_rate(verdict.crossover_bits_s)} an uplink"
        )
        links = (
            "by the busiest link, with all stages at the same time: sharded servers "
            f"{link_shards}, by racks {link_racks}, two levels between the workers without servers "
            f"{two_level}"
        )
        each = f"{where}, {rates} {_rate(verdict.server_bits_s)} in each:"
        lines += ["", each, inequality, links]
    for line in lines:
        print_line(console, line)


def _rate(bits_s: float) -> str:
    return bandwidth_text(bits_s / 1e9)


def print_costs(console: Console, costs: Costs) -> None:
    """Print what a worker costs with its network and hub, and where the paper's table differs."""
    contradiction = costs.contradiction
    print_table(console, _COST_COLUMNS, costs.rows)
    console.print()
    print_line(
        console,
        "capital only; the model is Luo 2020, §6.1.10. Its Table 6.3 is not reproduced: at "
        f"1:1 it implies that a baseline worker costs {contradiction.implied:.3f} times one "
        f"with a hub, and {contradiction.readings} readings of its formulas and prices give "
        f"{contradiction.least:.2f} to {contradiction.most:.2f}",
    )


def _dollars(amount: float) -> str:
    return f"${amount:,.0f}"
