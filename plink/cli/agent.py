"""`plink agent`: connect to a waiting plink from a host that plink cannot reach itself."""

from __future__ import annotations

import math
import socket
from dataclasses import dataclass

import click

from plink.base.lazy import lazy_imports
from plink.base.request import option
from plink.cli.json_output import json_option, print_json_line
from plink.cli.options import SectionedCommand
from plink.cli.request_options import with_request
from plink.cli.stderr import note, read_kept_secret

with lazy_imports():
    from plink.formats import outputs
    from plink.probes.calls import agent
    from plink.probes.hosts import hostlist
    from plink.transport import addresses


@dataclass(frozen=True, kw_only=True)
class AgentRequest:
    """Options of `plink agent`: where plink listens, and how long to call it."""

    join: str = option(
        "", is_required=True, metavar="HOST:PORT", help="Address at which plink probe listens."
    )
    secret_file: str = option(
        "",
        is_required=True,
        metavar="FILE",
        help="File with the secret of plink probe. Whoever has the secret can run commands here.",
    )
    name: str | None = option(
        None, metavar="NAME", help="Name of this host.  [default: its host name]"
    )
    wait_s: float | None = option(
        None,
        "--wait",
        low=0.0,
        high=86400.0,
        metavar="SECONDS",
        help="Seconds to call in vain before giving up.  [default: keep calling]",
    )
    once: bool = option(False, help="End after the first session instead of calling again.")


@click.command(
    cls=SectionedCommand,
    epilog="Example: plink agent --join 10.0.0.1:7000 --secret-file secret, and where plink runs: "
    "plink probe --listen 10.0.0.1:7000 --secret-file secret --expect 16 -o cluster.json",
)
@with_request(AgentRequest)
@json_option("Print each change of state as one line of JSON.")
def command(*, request: AgentRequest, as_json: bool) -> int:
    """Connect from this host to a waiting plink, and run the commands with which it measures.

    For hosts without SSH, started by whatever starts things on them: srun, a DaemonSet, a prolog.
    The agent calls until plink listens, runs the commands of whoever proves to know the secret, as
    the user that started it, and then calls again, for the next plink probe or plink check.
    Ctrl-C or SIGTERM ends it, and what it has started.
    """
    name = request.name or socket.gethostname()
    hostlist.check_name(name, "--name" if request.name else "the name of this host")
    host, port = addresses.parse_address(request.join, "--join")
    keys = agent.derive_keys(read_kept_secret(request.secret_file))
    target = agent.CallTarget(host, port, keys, name)
    wait_s = math.inf if request.wait_s is None else request.wait_s

    def report(status: agent.CallStatus) -> None:
        if as_json:
            print_json_line(outputs.AgentState(status.state, status.message))
        else:
            note(status.message)

    agent.serve(target, report, once=request.once, wait_s=wait_s)
    return 0
