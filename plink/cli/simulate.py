"""`plink simulate`: simulate algorithms, plans and traces on a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.size import DEFAULT_SIZE
from plink.base.text import printable
from plink.cli.json_output import print_json_line, refuse_json_beside
from plink.cli.options import (
    CollectivesType,
    FiniteRange,
    SizeType,
    given_options,
    with_seed_option,
)
from plink.cli.stderr import console, note

with lazy_imports():
    from plink.files import document
    from plink.show.terminal import paper, simulation
    from plink.simulate import asked as simulate_asked
    from plink.simulate import simulation as simulate_simulation
    from plink.simulate import things, tuning_request
    from plink.simulate.traces import files

if TYPE_CHECKING:
    from plink.simulate.asked import Asked
    from plink.simulate.things import Request


# Any one of them describes a whole data centre.
SHAPES = ("racks", "fat_tree", "dragonfly")
# What says more of racks alone, and of any.
OF_RACKS = ("hosts", "oversubscription", "rows", "row_oversubscription")
OF_LINKS = ("rate_gbit_s", "hop_us")

_OPTIONS = (
    click.option("--racks", type=click.IntRange(1, 65_536), help="Number of racks to simulate."),
    click.option(
        "--hosts",
        type=click.IntRange(1, 65_536),
        default=16,
        show_default=True,
        help="With --racks: number of hosts per rack.",
    ),
    click.option(
        "--oversubscription",
        type=FiniteRange(0.01, 1e6),
        default=1.0,
        show_default=True,
        metavar="X",
        help="With --racks: summed rate of a rack's hosts over the rate of its uplink.",
    ),
    click.option(
        "--rows",
        type=click.IntRange(1, 65_536),
        default=1,
        show_default=True,
        help="With --racks: number of rows of racks, each with its own uplink.",
    ),
    click.option(
        "--row-oversubscription",
        type=FiniteRange(0.01, 1e6),
        default=1.0,
        show_default=True,
        metavar="X",
        help="With --rows: summed rate of a row's rack uplinks over the rate of the row's uplink.",
    ),
    click.option(
        "--fat-tree",
        metavar="DOWN:UP[:LINKS]",
        help="Simulate a fat tree: for each level from the lowest, elements below a switch, "
        "switches above an element, links to each. 16,8:1,4 is 8 switches of 16 hosts, with a "
        "link to each of 4 others.",
    ),
    click.option(
        "--dragonfly",
        metavar="G,C,R,N[:L,L,L]",
        help="Simulate a dragonfly: groups, chassis per group, routers per chassis, hosts per "
        "router; links between groups, chassis and routers (default: 1).",
    ),
    click.option(
        "--rate",
        "rate_gbit_s",
        type=FiniteRange(1e-6, 1e6),
        default=10.0,
        show_default=True,
        metavar="GBIT/S",
        help="Rate of every host's link in a described data centre.",
    ),
    click.option(
        "--hop",
        "hop_us",
        type=FiniteRange(0, 1e6),
        default=1.0,
        show_default=True,
        metavar="US",
        help="One-way latency of every link in a described data centre.",
    ),
)


def with_shapes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that describe a data centre."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@click.command(
    epilog="Example: plink simulate --racks 16 --hosts 16 --oversubscription 4 --algo "
    "openmpi-rabenseifner --algo smpi:lr --size 20MB. "
    "Example: plink simulate order.json --cluster cluster.json --trace goal -o job.goal",
)
@click.argument("file", metavar="[CLUSTER|ORDER|PLAN|TRACE]", required=False)
@click.option(
    "--cluster",
    "cluster_name",
    metavar="FILE",
    help="Cluster file that the order or plan was made from, or that the trace runs on.",
)
@with_shapes
@click.option(
    "--algo",
    "algorithms",
    metavar="NAME",
    multiple=True,
    help="Algorithm to simulate; smpi:NAME for the code of a real one (lr, rdb, rab, or the "
    "choice of ompi or mpich); plan:KIND for plink's engine along a plan; control:MODE (tree, "
    "full, full-tree, bitvector) for the messages of ranks that agree on collectives. May be "
    "given more than once (default: openmpi-ring, openmpi-recursive-doubling, "
    "openmpi-rabenseifner).",
)
@click.option(
    "--collective",
    "collectives",
    type=CollectivesType(),
    help="Collectives to simulate along a plan (default: all-reduce).",
)
@click.option(
    "--servers",
    multiple=True,
    metavar="HOST[:PORTS][@RATE]",
    help="Hosts that only aggregate, as in plink plan: for plan:KIND (ps, hub, and plans "
    "without servers, all of which are compared if no --algo is given), or to set the rates of "
    "a plan's server ports.",
)
@click.option(
    "--tuner",
    "changes",
    metavar="HOST:SHARE|GROUP:SHARE|nothing",
    help="Simulate a tuned job while these links fall to a share of their rate and recover: "
    "h05:0.4,g2:0.3.",
)
@click.option(
    "--size",
    "size_bytes",
    type=SizeType(),
    help="Bytes of each rank's buffer: 20M or 20MB (10^6), 4KiB (2^10), 1024 (default: a plan's, "
    f"else {DEFAULT_SIZE}).",
)
@click.option(
    "--random",
    "random_orders",
    type=click.IntRange(0, 1000),
    default=3,
    show_default=True,
    help="Number of random orders to compare with.",
)
@click.option(
    "--search",
    "search_s",
    type=FiniteRange(0, 3600),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="Seconds to search plink's order of each algorithm; 0 for none.",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=FiniteRange(0.01, 86_400),
    default=600.0,
    show_default=True,
    metavar="SECONDS",
    help="Seconds that one simulation may run; its time is missing if it takes longer.",
)
@click.option(
    "--rounds",
    type=click.IntRange(2, 1_000_000),
    metavar="N",
    help="Number of rounds to simulate of algorithms with similar rounds (rings); the others "
    "are extrapolated (default: all).",
)
@click.option(
    "--flows",
    "as_flows",
    is_flag=True,
    help="For plans: simulate all data from one host to another as one flow, all at once, "
    "instead of chunks that wait for each other.",
)
@with_seed_option()
@click.option(
    "--trace",
    "trace_format",
    type=click.Choice(["goal", "chakra"]),
    help="Simulate nothing; write the messages of one algorithm, or of a plan, as GOAL's text, "
    "or as Chakra's execution traces NAME.0.et, NAME.1.et, ...",
)
@click.option("-o", "--output", metavar="FILE", help="Trace file to write; - for standard output.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(
    *,
    file: str | None,
    cluster_name: str | None,
    algorithms: Sequence[str],
    collectives: Sequence[str] | None,
    servers: Sequence[str],
    changes: str | None,
    size_bytes: int | None,
    random_orders: int,
    search_s: float,
    timeout_s: float,
    rounds: int | None,
    as_flows: bool,
    seed: int,
    trace_format: str | None,
    output: str | None,
    as_json: bool,
    **shape: object,
) -> None:
    """Simulate algorithms, a plan or a trace on a network, in several orders of the ranks.

    The network is that of a cluster file, or a data centre that is described: --racks, --fat-tree
    or --dragonfly. It is simulated by SimGrid, which has to be installed. `-` is standard input.
    """
    _check(file, cluster_name, trace_format, output, as_json=as_json)
    asked = simulate_asked.asked_for(file, cluster_name, shape)
    if collectives and asked.plan is None:
        raise WrongUseError(
            "--collective applies only to a plan", "use --algo to choose what runs in an order"
        )
    if algorithms and (asked.plan is not None or asked.trace is not None):
        kind = "plan" if asked.plan is not None else "trace"
        raise WrongUseError(f"--algo applies to orders, not to a {kind}")
    if servers and (asked.order is not None or asked.trace is not None):
        raise WrongUseError(
            "--servers needs a cluster file, a plan or --racks",
            "give a cluster file, a plan or --racks",
        )
    if changes is not None:
        _refuse_beside_tuner(asked, trace_format, algorithms, servers)
    usual = simulate_asked.DEFAULT_PLANS if servers else asked.algorithms
    request = things.Request(
        algorithms=algorithms or usual,
        size_bytes=asked.size_bytes if size_bytes is None else size_bytes,
        random_orders=random_orders,
        search_s=search_s,
        seed=seed,
        timeout_s=timeout_s,
        servers=servers,
        rounds=rounds or 0,
        as_flows=as_flows,
    )
    if trace_format is not None and output is not None:
        _write_trace(asked, request, collectives or (), trace_format, output)
        return
    stderr = console()
    with stderr.status("") as status:
        tell = status.update if stderr.is_terminal else lambda _text: None
        if changes is not None:
            found = tuning_request.simulate_tuner(
                asked.cluster,
                asked.platform,
                changes,
                size_bytes=tuning_request.SIZE_BYTES if size_bytes is None else size_bytes,
                seed=seed,
                timeout_s=timeout_s,
                tell=tell,
            )
        else:
            found = simulate_simulation.simulate(
                asked.cluster,
                request,
                platform=asked.platform,
                order=asked.order,
                plan=asked.plan,
                collectives=collectives or ("all-reduce",),
                trace=asked.trace,
                source=asked.source,
                tell=tell,
            )
    for text in found.notes:
        note(text)
    if as_json:
        print_json_line(found)
    else:
        simulation.print_simulation(paper.paper(None).console, found)


def _refuse_beside_tuner(
    asked: Asked, trace_format: str | None, algorithms: Sequence[str], servers: Sequence[str]
) -> None:
    """Raise for options that a simulated job under `plink autotune` does not take."""
    if algorithms or servers:
        raise WrongUseError("--tuner and --algo or --servers exclude each other")
    if trace_format is not None or any((asked.order, asked.plan, asked.trace)):
        raise WrongUseError(
            "--tuner needs a network and nothing else", "name a cluster file, or --racks"
        )


def _check(
    file: str | None,
    cluster_name: str | None,
    trace_format: str | None,
    output: str | None,
    *,
    as_json: bool,
) -> None:
    """Raise for options that exclude or require each other."""
    given = given_options(click.get_current_context())
    shapes = [given[name] for name in SHAPES if name in given]
    if len(shapes) > 1:
        raise WrongUseError(f"{' and '.join(shapes)} exclude each other")
    _refuse_idle(given, shapes)
    if shapes and cluster_name is not None:
        raise WrongUseError(f"{shapes[0]} and --cluster exclude each other")
    if file is None and not shapes:
        raise WrongUseError(
            "there is nothing to simulate",
            "name a cluster file, or describe a data centre: --racks 16 --hosts 16",
        )
    if (trace_format is None) != (output is None):
        raise WrongUseError("--trace and -o need each other", "--trace goal -o job.goal")
    if output is not None:
        document.check_writable(output)
        if file is not None:
            document.refuse_same_file(file, output)
        refuse_json_beside(output, "the trace", as_json=as_json)


def _refuse_idle(given: Mapping[str, str], shapes: Sequence[str]) -> None:
    """Raise for options that only apply to another kind of network."""
    of_racks = [given[name] for name in OF_RACKS if name in given]
    of_links = [given[name] for name in OF_LINKS if name in given]
    if shapes and of_racks and "racks" not in given:
        raise WrongUseError(f"{of_racks[0]} applies to --racks, not to {shapes[0]}")
    if not shapes and (of_racks or of_links):
        raise WrongUseError(
            f"{(of_racks + of_links)[0]} needs a described data centre",
            "--racks 16 --hosts 16 describes one",
        )
    if "row_oversubscription" in given and "rows" not in given:
        raise WrongUseError("--row-oversubscription needs --rows")


def _write_trace(
    asked: Asked,
    request: Request,
    collectives: Sequence[str],
    trace_format: str,
    output: str,
) -> None:

    schedule = simulate_asked.schedule_on_hosts(asked, request, collectives)
    names = files.write(trace_format, output, schedule)
    if output != document.STANDARD_STREAM:
        last = f" to {names[-1]}" if len(names) > 1 else ""
        click.echo(
            printable(f"{names[0]}{last}: {schedule.operations} operations of {schedule.ranks}"),
            err=True,
        )
