"""`plink plan`: compute an aggregation plan for a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from plink.base.errors import EXIT_PARTIAL, WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.replacing import replace
from plink.base.size import DEFAULT_SIZE
from plink.cli.json_output import print_json_line
from plink.cli.options import (
    CollectivesType,
    SectionedCommand,
    SizeType,
    given_options,
    make_section_option,
    with_distances_option,
    with_seed_option,
)
from plink.cli.stderr import console, note, warn
from plink.plans.names import ALL_REDUCE, COLLECTIVES

with lazy_imports():
    from plink.files import cluster as cluster_file
    from plink.files import document
    from plink.files import plan as plan_file
    from plink.optimize.plans import planning, serving
    from plink.show.terminal import paper, plan
    from plink.transport import certificates

if TYPE_CHECKING:
    pass


_servers = make_section_option("Servers, for plink hub")
_tls = make_section_option("For TLS")


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
        request = planning.PlanRequest(**wanted)
        found = (serving.find_plan_with_servers if request.servers else planning.find_plan)(
            cluster, request, tell
        )
    if output is not None:
        plan_file.write_plan(output, found.plan)
    if as_json:
        print_json_line(plan.describe_planned(found))
    else:
        plan.print_plan(
            stderr if has_data_on_stdout else paper.paper(None).console, cluster.source, found
        )
    if certificates is not None:
        note(certificates.write(found.plan))
    for assumption in found.plan.assumptions:
        note(assumption)
    for failure in cluster.unreachable:
        warn(f"{failure.source} was unreachable and gets no rank")
    return EXIT_PARTIAL if cluster.unreachable else 0


# The folders of those for `plink autotune serve` and `plink hub serve`.
DAEMON = "autotune"
HUB = "hub"


@dataclass(frozen=True)
class AskedCertificates:
    """Certificates that the options request.

    Args:
        folder: where certificates go.
        for_ranks: each is for one rank alone.
        days: for which they are valid.
    """

    folder: str
    for_ranks: bool
    days: int

    def write(self, plan: plan_file.Plan) -> str:
        """Write the certificates; return a sentence on how to use them.

        Raises:
            WrongUseError: a host's name cannot be that of a folder.
            PlinkError: they cannot be written.
        """
        holders = list_holders(plan, for_ranks=self.for_ranks)
        until = certificates.write_certificates(self.folder, holders, self.days)
        whose, there = ("rank", "plink-tls/{rank}") if self.for_ranks else ("host", "plink-tls")
        return (
            f"{self.folder}: certificates until {until:%Y-%m-%d %H:%M} UTC; copy the folder of "
            f"each {whose} to its host alone, as {there}, and start all with PLINK_TLS={there}"
        )


def asked_certificates(context: click.Context, options: dict[str, Any]) -> AskedCertificates | None:
    """Return the requested certificates, or None; remove their options from `options`.

    Raises:
        WrongUseError: options without a folder, or one that holds something.
    """
    folder = options.pop("certificates")
    asked_for, days = options.pop("certificate_for"), options.pop("valid_days")
    if folder is not None:
        certificates.check_folder(folder)
        return AskedCertificates(folder, asked_for == "rank", days)
    given = given_options(context)
    for name in ("certificate_for", "valid_days"):
        if name in given:
            raise WrongUseError(f"{given[name]} needs --certificates", "--certificates DIR")
    return None


def list_holders(plan: plan_file.Plan, *, for_ranks: bool) -> dict[str, certificates.Holder]:
    """Return the holder of each folder: hosts or ranks of the plan, the daemon, the hub.

    Raises:
        WrongUseError: a host has one of the last two folders' names.
    """
    if for_ranks:
        holders = {
            str(number): certificates.Holder([rank.host, rank.address], number)
            for number, rank in enumerate(plan.ranks)
        }
    else:
        holders = {rank.host: certificates.Holder([rank.host, rank.address]) for rank in plan.ranks}
    for folder, what in ((DAEMON, "daemon"), (HUB, "hub")):
        if folder in holders:
            raise WrongUseError(
                f"the host name {folder} is also the name of the folder for the {what}",
                "--certificate-for rank names folders by rank",
            )
    beside = {folder: certificates.Holder(["localhost"], is_rank=False) for folder in (DAEMON, HUB)}
    return {**holders, **beside}
