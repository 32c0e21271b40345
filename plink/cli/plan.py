"""`plink plan`: compute an aggregation plan for a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import click

from plink.base.errors import EXIT_PARTIAL, WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.replacing import replace
from plink.base.request import option
from plink.cli.json_output import check_output, json_option, print_json_line
from plink.cli.options import SectionedCommand
from plink.cli.progress import status_line
from plink.cli.request_options import with_request
from plink.cli.stderr import console, note, warn
from plink.optimize.plans.request import PlanRequest

with lazy_imports():
    from plink.formats import document
    from plink.formats import plan as plan_file
    from plink.show.terminal import paper
    from plink.show.terminal import plan as plan_page
    from plink.transport import certificates
    from plink.verbs import cluster as cluster_verb
    from plink.verbs import plan as plan_verb

_TLS = "For TLS"

# Folders of the certificates of `plink autotune serve` and `plink hub serve`.
DAEMON = "autotune"
HUB = "hub"


@dataclass(frozen=True, kw_only=True)
class CertificateOptions:
    """Options of `plink plan` on TLS certificates for the job's connections."""

    certificates: str | None = option(
        None,
        metavar="DIR",
        section=_TLS,
        help="Folder for certificates that encrypt the job's connections: a subfolder for each "
        "host and one for the autotune daemon.",
    )
    certificate_for: Literal["host", "rank"] = option(
        "host",
        section=_TLS,
        needs=("certificates", "DIR"),
        help="Holder of each certificate; with rank, every rank has its own, which no other rank "
        "can use.",
    )
    valid_days: int = option(
        7,
        low=1,
        high=3650,
        section=_TLS,
        needs=("certificates", "DIR"),
        help="Days for which certificates are valid.",
    )

    def write(self, plan: plan_file.Plan) -> str:
        """Write the certificates of a plan; return a sentence on how to use them.

        Raises:
            WrongUseError: a host's name cannot be that of a folder.
            PlinkError: they cannot be written.
        """
        folder, for_ranks = self.certificates or "", self.certificate_for == "rank"
        until = certificates.write_certificates(
            folder, _list_holders(plan, for_ranks=for_ranks), self.valid_days
        )
        there = "plink-tls/{rank}" if for_ranks else "plink-tls"
        return (
            f"{folder}: certificates until {until:%Y-%m-%d %H:%M} UTC; copy the folder of "
            f"each {self.certificate_for} to its host alone, as {there}, and start all with "
            f"PLINK_TLS={there}"
        )


def _list_holders(plan: plan_file.Plan, *, for_ranks: bool) -> dict[str, certificates.Holder]:
    """Return the holder (host, rank, daemon or hub) of each folder of certificates, by name.

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
    for folder, server in ((DAEMON, "autotune daemon"), (HUB, "hub")):
        if folder in holders:
            raise WrongUseError(
                f"the host name {folder} is also the name of the {server}'s certificate folder",
                "--certificate-for rank names folders by rank",
            )
    beside = {folder: certificates.Holder(["localhost"], is_rank=False) for folder in (DAEMON, HUB)}
    return {**holders, **beside}


@click.command(
    cls=SectionedCommand,
    epilog="Example: plink plan cluster.json --size 20MB -o plan.json. Example: plink plan "
    "cluster.json --collective all-gather,reduce-scatter --size 200MB. Example: plink plan "
    "cluster.json --servers box:8@10gbit --size 20MB",
)
@click.argument("file", metavar="CLUSTER")
@click.option("-o", "--output", metavar="FILE", help="Plan file to write.")
@with_request(PlanRequest)
@json_option("Print the predictions of all kinds as JSON.")
@with_request(CertificateOptions, passed_as="tls")
def command(
    *, request: PlanRequest, file: str, output: str | None, as_json: bool, tls: CertificateOptions
) -> int:
    """Plan an aggregation that follows the network, and write the plan for plink's engine.

    Reads a cluster file; `-` is standard input or output. Groups of near hosts are the file's
    (plink group), or found then and there.
    """
    if tls.certificates is not None:
        certificates.check_folder(tls.certificates)
    check_output(output, "the plan", file, as_json=as_json)
    cluster = cluster_verb.MeasuredCluster.read(file)
    with status_line() as show:
        plan = plan_verb.make_plan(cluster, replace(request, progress=show))
    planned = plan.planned
    assert planned is not None  # noqa: S101  for the type checker
    if output is not None:
        plan.save(output)
    if as_json:
        print_json_line(plan_page.describe_planned(planned))
    else:
        to_stderr = output == document.STANDARD_STREAM
        screen = console() if to_stderr else paper.paper(None).console
        plan_page.print_plan(screen, cluster.source, planned)
    if tls.certificates is not None:
        note(tls.write(plan))
    for assumption in plan.assumptions:
        note(assumption)
    for gap in plan.gaps:
        warn(gap)
    return EXIT_PARTIAL if plan.gaps else 0
