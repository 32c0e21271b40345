"""`plink plan`: compute an aggregation plan for a cluster."""

from __future__ import annotations

from typing import Any

import click

from plink.base.errors import EXIT_PARTIAL, WrongUseError
from plink.base.replacing import replace
from plink.base.size import DEFAULT_SIZE
from plink.cli.collectives_option import CollectivesType
from plink.cli.json_output import print_json_line
from plink.cli.options import (
    SectionedCommand,
    SizeType,
    options_of,
    with_distances_option,
    with_seed_option,
)
from plink.cli.stderr import console, note, warn
from plink.files import document
from plink.plans.names import ALL_REDUCE, COLLECTIVES

_servers = options_of("Servers, for plink hub")
_tls = options_of("For TLS")


@click.command(
    cls=SectionedCommand,
    epilog="Example: plink plan cluster.json --size 20MB -o plan.json. Example: plink plan "
    "cluster.json --collective all-gather,reduce-scatter --size 200MB. Example: plink plan "
    "cluster.json --servers box:8@10gbit --size 20MB",
)
@click.argument("file", metavar="CLUSTER")
@click.option(
    "--kind",
    type=click.Choice(["auto", "2lha", "flat", "ring", "tree", "ps", "hub"]),
    default="auto",
    show_default=True,
    help="Kind of plan. 2lha: two levels, by groups. flat: a star for every rank. ring: chunks "
    "around a ring. tree: the double binary tree. With --servers, ps: a star at each port. "
    "hub: by groups, to a server in each. auto: the kind predicted to be fastest.",
)
@click.option(
    "--size",
    "size_bytes",
    type=SizeType(),
    default=DEFAULT_SIZE,
    show_default=True,
    help="Size of the buffer that the plan is for: 20MB, 4KiB, 1024.",
)
@click.option(
    "--collective",
    "collectives",
    type=CollectivesType(),
    default=ALL_REDUCE,
    show_default=True,
    help="Collectives to optimise the plan for, each of that size, repeated as often as it is "
    f"called: {', '.join(COLLECTIVES)}.",
)
@click.option("-o", "--output", metavar="FILE", help="Plan file to write.")
@click.option(
    "--ranks-per-host",
    type=click.IntRange(1, 1 << 12),
    help="Ranks on every host (default: the file's slots).",
)
@_servers(
    "--servers",
    metavar="HOST[:PORTS]",
    multiple=True,
    help="Hosts that only aggregate, with their number of interfaces; HOST=ADDRESS+ADDRESS "
    "names the interfaces' addresses, and @RATE at the end their rate, as in box:4@25gbit. May "
    "be given more than once.",
)
@with_distances_option()
@with_seed_option()
@click.option("--json", "as_json", is_flag=True, help="Print the predictions of all kinds as JSON.")
@_tls(
    "--certificates",
    metavar="DIR",
    help="Folder for certificates that encrypt the job's connections: a subfolder for each "
    "host and one for the autotune daemon.",
)
@_tls(
    "--certificate-for",
    type=click.Choice(["host", "rank"]),
    default="host",
    show_default=True,
    help="Holder of each certificate; with rank, every rank has its own, which no other rank "
    "can use.",
)
@_tls(
    "--valid-days",
    type=click.IntRange(1, 3650),
    default=7,
    show_default=True,
    help="Days for which certificates are valid.",
)
def command(
    file: str,
    output: str | None,
    as_json: bool,
    **wanted: Any,
) -> int:
    """Plan an aggregation that follows the network, and write the plan for plink's engine.

    Reads a cluster file; `-` is standard input or output. Groups of near hosts are the file's
    (plink group), or found then and there.
    """
    # numpy and rich would slow `--help`.
    from plink.cli.plan_certificates import asked_certificates  # noqa: PLC0415
    from plink.files import cluster as cluster_file  # noqa: PLC0415
    from plink.files import plan as plan_file  # noqa: PLC0415
    from plink.optimize.plans.planning import PlanRequest, find_plan  # noqa: PLC0415
    from plink.optimize.plans.serving import find_plan_with_servers  # noqa: PLC0415
    from plink.show.terminal.paper import paper  # noqa: PLC0415
    from plink.show.terminal.plan import describe_planned, print_plan  # noqa: PLC0415

    certificates = asked_certificates(click.get_current_context(), wanted)
    has_data_on_stdout = output == document.STANDARD_STREAM
    if has_data_on_stdout and as_json:
        raise WrongUseError(
            "--json and the plan both write to standard output", "give the file a name with -o"
        )
    if wanted["kind"] in ("ps", "hub") and not wanted["servers"]:
        raise WrongUseError(
            f"--kind {wanted['kind']} needs --servers", "name the servers with --servers HOST"
        )
    if output is not None:
        document.check_writable(output)
        document.refuse_same_file(file, output)
    uses_readings = wanted.pop("distances") == "readings"
    cluster = replace(cluster_file.read_cluster(file), uses_readings=uses_readings)
    stderr = console()
    with stderr.status("") as status:
        tell = status.update if stderr.is_terminal else None
        request = PlanRequest(**wanted)
        found = (find_plan_with_servers if request.servers else find_plan)(cluster, request, tell)
    if output is not None:
        plan_file.write_plan(output, found.plan)
    if as_json:
        print_json_line(describe_planned(found))
    else:
        print_plan(stderr if has_data_on_stdout else paper(None).console, cluster.source, found)
    if certificates is not None:
        note(certificates.write(found.plan))
    for assumption in found.plan.assumptions:
        note(assumption)
    for failure in cluster.unreachable:
        warn(f"{failure.source} was unreachable and gets no rank")
    return EXIT_PARTIAL if cluster.unreachable else 0
