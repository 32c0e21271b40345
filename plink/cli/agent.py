"""`plink agent`: call plink from a host that it cannot reach."""

from __future__ import annotations

import math
import socket

import click

from plink.base.lazy import lazy_imports
from plink.cli.json_output import print_json_line
from plink.cli.options import FiniteRange, SectionedCommand
from plink.cli.stderr import note, read_kept_secret

with lazy_imports():
    from plink.formats import outputs
    from plink.probes.calls import agent
    from plink.probes.hosts import hostlist
    from plink.transport import addresses


@click.command(
    cls=SectionedCommand,
    epilog="Example: plink agent --join 10.0.0.1:7000 --secret-file secret, and where plink runs: "
    "plink probe --listen 10.0.0.1:7000 --secret-file secret --expect 16 -o cluster.json",
)
@click.option(
    "--join", metavar="HOST:PORT", required=True, help="Address at which plink probe listens."
)
@click.option(
    "--secret-file",
    metavar="FILE",
    required=True,
    help="File with the secret of plink probe. Whoever has the secret can run commands here.",
)
@click.option("--name", metavar="NAME", help="Name of this host.  [default: its host name]")
@click.option(
    "--wait",
    "wait_s",
    type=FiniteRange(min=0.0, max=86400.0),
    metavar="SECONDS",
    help="Seconds to call in vain before giving up.  [default: keep calling]",
)
@click.option("--once", is_flag=True, help="End after the first session instead of calling again.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print each change of state as one line of JSON."
)
def command(
    *,
    join: str,
    secret_file: str,
    name: str | None,
    wait_s: float | None,
    once: bool,
    as_json: bool,
) -> int:
    """Connect from this host to a waiting plink, and run the commands with which it measures.

    For hosts without SSH, started by whatever starts things on them: srun, a DaemonSet, a prolog.
    The agent calls until plink listens, runs the commands of whoever proves to know the secret, as
    the user that started it, and then calls again, for the next plink probe or plink check.
    Ctrl-C or SIGTERM ends it, and what it has started.
    """
    own_name = name or socket.gethostname()
    hostlist.check_name(own_name, "--name" if name else "the name of this host")
    host, port = addresses.parse_address(join, "--join")
    home = agent.CallTarget(host, port, agent.derive_keys(read_kept_secret(secret_file)), own_name)

    def say(told: agent.CallStatus) -> None:
        if as_json:
            print_json_line(outputs.AgentState(told.state, told.message))
        else:
            note(told.message)

    agent.serve(home, say, once=once, wait_s=math.inf if wait_s is None else wait_s)
    return 0
