"""Format for torchrun with static rendezvous: one command per host, or a script that runs all.

The c10d rendezvous ignores `--node-rank` and sorts hosts by name; only the static one keeps
the order. Hosts may differ in slots: torchrun numbers ranks by a running sum over the hosts.
"""

from __future__ import annotations

from collections.abc import Sequence

from plink.deploy.launchers.environment import gloo_interface
from plink.deploy.launchers.format import MASTER_PORT, Format, check_names, master_address
from plink.formats.hosts import Host

_HEAD = """\
#!/bin/sh
# torchrun on every host, in plink's order. Its arguments are the training script and its options.
script=
for word; do
  script="$script '$(printf %s "$word" | sed "s/'/'\\\\\\\\''/g")'"
done
started=
on() {
  ssh -n "$1" "$2 $script" &
  started="$started $!"
}
trap 'kill $started 2>/dev/null' INT TERM HUP
"""

_TAIL = """\
status=0
for process in $started; do
  wait "$process" || status=$?
done
exit $status
"""


def _list_commands(hosts: Sequence[Host]) -> list[tuple[str, str]]:
    """Return each host's name and its torchrun command, to which the user adds a script."""
    check_names(hosts, "torchrun")
    master = master_address(hosts, "torchrun")
    return [
        (
            host.name,
            f"{gloo_interface(host)} torchrun --rdzv-backend=static --nnodes={len(hosts)} "
            f"--node-rank={node_rank} --nproc-per-node={host.slots} --master-addr={master} "
            f"--master-port={MASTER_PORT}".lstrip(),
        )
        for node_rank, host in enumerate(hosts)
    ]


def render_commands(hosts: Sequence[Host]) -> str:
    """Return a line for each host: its name, then its torchrun command."""
    return "".join(f"{name} {command}\n" for name, command in _list_commands(hosts))


def render_script(hosts: Sequence[Host]) -> str:
    """Return a script that runs torchrun on all hosts by SSH, and fails if one of them did."""
    quoted = [(name, command.replace("'", "'\\''")) for name, command in _list_commands(hosts)]
    return _HEAD + "".join(f"on {name} '{command}'\n" for name, command in quoted) + _TAIL


FORMATS = (
    Format(
        name="torchrun",
        about="torchrun: one command per host, with the static rendezvous",
        usage=(
            'while read -r host command; do ssh -n "$host" "$command SCRIPT" & done < FILE; wait'
        ),
        render=render_commands,
        adjacent_because="torchrun numbers the ranks of a host one after the other",
    ),
    Format(
        name="torchrun-script",
        about="torchrun: a script that runs those commands over SSH",
        usage="sh FILE SCRIPT",
        render=render_script,
        adjacent_because="torchrun numbers the ranks of a host one after the other",
    ),
)
