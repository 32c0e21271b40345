"""Output of `plink hub bounds`: bandwidth that each placement of servers needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec.structs import asdict
from rich.console import Console
from rich.table import Table
from rich.text import Text

from plink.base.text import bandwidth_text, bytes_text, printable, rtt_text
from plink.files.limits import Amount
from plink.hub.bounds import Bound, Training, bounds
from plink.hub.networks import PRINTED_WORKERS, TrainedNetwork
from plink.hub.racks import Racks, RacksVerdict, judge_racks
from plink.optimize.plans.ports import PortsVerdict, judge_ports

_TITLES = ("at a server", "at a worker", "exchange", "behind computing")


class FoundBounds(Training, frozen=True):
    """What bandwidth hides a model's exchange.

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
    """Return all bounds of a training job; `network` is the named model, if any."""
    is_printed = network is not None and training.workers == PRINTED_WORKERS
    return FoundBounds(
        **asdict(training),
        placements=bounds(training),
        ports=judge_ports(training.workers, training.server_bits_s / training.link_bits_s),
        printed_ncc_gbit_s=network.printed_ncc_gbit_s if network and is_printed else None,
        racks=None if racks is None else judge_racks(racks, training.model_bytes),
        model=model,
    )


def print_bounds(console: Console, found: FoundBounds) -> None:
    """Print the table of bounds, the row on ports, and remarks on racks."""
    heading = (
        f"{printable(found.model)}: {bytes_text(found.model_bytes)} in every iteration of "
        f"{rtt_text(found.iteration_s * 1e6)}, {found.workers} workers with "
        f"{_rate(found.link_bits_s)}, servers with {_rate(found.server_bits_s)}"
    )
    console.print(Text(heading, style="bold"))
    console.print()
    console.print(_table(found.placements))
    console.print()
    console.print(Text("rates are of both directions of a host together, as in Table 2.1"))
    if found.printed_ncc_gbit_s is not None:
        ncc = next(row for row in found.placements if row.placement == "NCC")
        console.print(
            Text(
                f"the paper prints {found.printed_ncc_gbit_s:g} Gbit/s for NCC, where its own "
                f"model size and time give {ncc.server_bits_s / 1e9:.1f}"
            )
        )
    console.print(Text(found.ports.sentence))
    if found.racks is not None:
        console.print()
        for line in _rack_lines(found.racks):
            console.print(Text(line))


def _table(rows: Sequence[Bound]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="cyan")
    table.add_column("placement", no_wrap=True)
    for title in _TITLES:
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            row.placement,
            _rate(row.server_bits_s),
            _rate(row.worker_bits_s) if row.worker_bits_s else "-",
            rtt_text(row.exchange_s * 1e6),
            "hidden" if row.is_hidden else "network bound",
        )
    return table


def _rack_lines(verdict: RacksVerdict) -> list[str]:
    sign = ">" if verdict.is_better else "<="
    better = "helps" if verdict.is_better else "does not help"
    what = (
        f"{verdict.racks} racks of {verdict.workers} workers, "
        f"uplinks of {_rate(verdict.core_bits_s)}, "
        f"a server of {_rate(verdict.server_bits_s)} in each:"
    )
    inequality = (
        f"by the paper's inequality (§2.3), which adds up stages, aggregation by racks {better}: "
        f"{_seconds(verdict.sharded_s)} across racks by sharded servers {sign} "
        f"{_seconds(verdict.rack_s)} in a rack + {_seconds(verdict.between_s)} between racks; "
        f"it does below {_rate(verdict.crossover_bits_s)} an uplink"
    )
    links = (
        "by the busiest link, with all stages at the same time: sharded servers "
        f"{_seconds(verdict.links_sharded_s)}, by racks {_seconds(verdict.links_hierarchy_s)}, "
        f"two levels between the workers without servers {_seconds(verdict.links_two_level_s)}"
    )
    return [what, inequality, links]


def _rate(bits_s: float) -> str:
    return bandwidth_text(bits_s / 1e9)


def _seconds(time_s: float) -> str:
    return rtt_text(time_s * 1e6)
