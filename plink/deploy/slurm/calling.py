"""Start of agents on all nodes of a Slurm job by one job step; they connect to plink.

One step is one request to Slurm's controller, however many nodes there are; the nodes need plink.
"""

from __future__ import annotations

import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from plink.base.errors import PlinkError
from plink.base.interrupts import defer_interrupts
from plink.base.progress import ProgressListener
from plink.deploy.slurm.allocation import Allocation, step_words
from plink.probes.calls.listener import Listener, gather
from plink.probes.options import ListenOptions
from plink.probes.remote.session import end_group, last_line

_HANDSHAKES = 32
_GOODBYE_S = 3.0
_TAIL = 4096
# The secret is the step's standard input, which srun gives to every task, and no argument.
_AGENT = (
    'exec "$0" -m plink agent --join "$1" --secret-file /dev/stdin --name "$SLURMD_NODENAME" '
    '--once --wait "$2"'
)


@contextmanager
def run_agents(
    allocation: Allocation, wait_s: float, progress: ProgressListener
) -> Iterator[Listener]:
    """Yield the agents of a Slurm job's nodes, connected to plink; end them after the block.

    Args:
        allocation: the job.
        wait_s: how long to wait for them.
        progress: told how many have called.

    Raises:
        PlinkError: the step has failed.
        HostListError: fewer than two have called.
    """
    secret = secrets.token_hex(32).encode()
    started: list[subprocess.Popen[bytes]] = []
    nodes = len(allocation.hosts)
    progress.stage("waiting for agents", nodes)
    seen = 0

    def start(port: int) -> None:
        home = f"{own_address(allocation.names)}:{port}"
        options = [f"-N{nodes}", f"-n{nodes}", "--ntasks-per-node=1"]
        words = ["sh", "-c", _AGENT, sys.executable, home, str(int(wait_s))]
        with defer_interrupts():
            started.append(_step([*step_words(*options), *words], secret))

    def on_call(count: int) -> None:
        nonlocal seen
        for _ in range(seen, count):
            progress.step()
        seen = max(seen, count)
        if started and started[0].poll() is not None:
            stream = started[0].stderr
            said = last_line(stream.read(_TAIL) if stream else b"")
            raise PlinkError(
                f"the srun step that runs the agents has ended early ({said or 'no output'})"
            )

    listening = ListenOptions("", 0, secret, wait_s=wait_s, concurrency=_HANDSHAKES)
    try:
        callers = gather(listening, nodes, start, on_call)
        try:
            yield callers
        finally:
            callers.close()
    finally:
        for process in started:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GOODBYE_S)
            end_group(process, _GOODBYE_S, _GOODBYE_S)


def own_address(names: Sequence[str]) -> str:
    """Return the address of this machine from which other nodes are reached, else its name.

    Args:
        names: names of the nodes.
    """
    for name in names:
        with suppress(OSError):
            for family, _, _, _, place in socket.getaddrinfo(name, 9, type=socket.SOCK_DGRAM):
                # Nothing is sent: connecting chooses the route.
                with socket.socket(family, socket.SOCK_DGRAM) as probe:
                    probe.connect(place)
                    address = str(probe.getsockname()[0])
                if not address.startswith("127.") and address != "::1":
                    return f"[{address}]" if ":" in address else address
    return socket.gethostname()


def _step(words: Sequence[str], secret: bytes) -> subprocess.Popen[bytes]:
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise PlinkError(f"srun cannot be started: {error.strerror or error}") from None
    if process.stdin is not None:
        with suppress(OSError), process.stdin as stdin:
            stdin.write(secret + b"\n")
    return process
