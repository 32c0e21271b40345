"""A script that runs torchrun on every host over SSH, in order, and ends with the worst status."""

from __future__ import annotations

from collections.abc import Sequence

from plink.deploy.launchers.format import Format
from plink.deploy.launchers.torchrun import commands
from plink.files.cluster import Host

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


def render(hosts: Sequence[Host]) -> str:
    """One line per host, between what starts and what waits for them."""
    lines = [
        f"on {host.name} {_quoted(command)}\n"
        for host, command in zip(hosts, commands(hosts), strict=True)
    ]
    return _HEAD + "".join(lines) + _TAIL


def _quoted(command: str) -> str:
    return "'" + command.replace("'", "'\\''") + "'"


FORMAT = Format(
    name="torchrun-script",
    about="torchrun: a script that runs those commands over SSH",
    usage="sh FILE SCRIPT",
    render=render,
    adjacent_because="torchrun numbers the ranks of a host one after the other",
)
