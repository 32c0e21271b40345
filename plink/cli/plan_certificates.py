"""Option `plink plan --certificates`: TLS certificates for the members of a plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from plink.base.errors import WrongUseError
from plink.cli.options import given_options
from plink.files.plan import Plan

if TYPE_CHECKING:
    from plink.transport.certificates import Holder

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

    def write(self, plan: Plan) -> str:
        """Write the certificates; return a sentence on how to use them.

        Raises:
            WrongUseError: a host's name cannot be that of a folder.
            PlinkError: they cannot be written.
        """
        # It takes long to import, and few ask for certificates.
        from plink.transport.certificates import write_certificates  # noqa: PLC0415

        holders = list_holders(plan, for_ranks=self.for_ranks)
        until = write_certificates(self.folder, holders, self.days)
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
        from plink.transport.certificates import check_folder  # noqa: PLC0415

        check_folder(folder)
        return AskedCertificates(folder, asked_for == "rank", days)
    given = given_options(context)
    for name in ("certificate_for", "valid_days"):
        if name in given:
            raise WrongUseError(f"{given[name]} needs --certificates", "--certificates DIR")
    return None


def list_holders(plan: Plan, *, for_ranks: bool) -> dict[str, Holder]:
    """Return the holder of each folder: hosts or ranks of the plan, the daemon, the hub.

    Raises:
        WrongUseError: a host has one of the last two folders' names.
    """
    from plink.transport.certificates import Holder  # noqa: PLC0415

    if for_ranks:
        holders = {
            str(number): Holder([rank.host, rank.address], number)
            for number, rank in enumerate(plan.ranks)
        }
    else:
        holders = {rank.host: Holder([rank.host, rank.address]) for rank in plan.ranks}
    for folder, what in ((DAEMON, "daemon"), (HUB, "hub")):
        if folder in holders:
            raise WrongUseError(
                f"the host name {folder} is also the name of the folder for the {what}",
                "--certificate-for rank names folders by rank",
            )
    beside = {folder: Holder(["localhost"], is_rank=False) for folder in (DAEMON, HUB)}
    return {**holders, **beside}
