"""plink's engine: a worker process a rank for the whole bench, new engines for every launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from plink import __version__
from plink.base.replacing import replace
from plink.bench.clients.client import Launch, Measured, Traffic
from plink.bench.clients.workers import Message, Relay, Workers, interpreter_command
from plink.deploy.remote.hosts import RemoteHost
from plink.formats.comparison import ClientRecord
from plink.plans.wire import encode_forest
from plink.probes.errors import HostError

# An interpreter looks for modules in its folder first, and a home may hold a checkout of plink.
_PROGRAM = (
    "import sys; sys.path[:] = [path for path in sys.path if path]; "
    "from plink.bench.workers.engine_collectives import main; main()"
)
_HINT = (
    "install the same plink on every host, or name an interpreter that has it with --python PATH"
)


class EngineClient:
    """The engine's collectives along plans; the hosts need plink itself.

    Args:
        hosts: the hosts that take part, once for each rank that they may take.
        python: the remote interpreter; None takes this one's path where the host has it, else
            `python3`.
        idle_limit_s: the longest that the workers may wait for a launch.
        tls: the folder of certificates there; None to talk in the clear.
    """

    def __init__(
        self,
        hosts: Sequence[RemoteHost],
        python: str | None,
        idle_limit_s: float,
        *,
        tls: str | None = None,
    ) -> None:
        self._hosts = hosts
        self._python = python
        self._tls = tls
        self._idle_limit_s = idle_limit_s
        self._workers = Workers(hosts, "engine", "plink", explain)

    def start(self) -> ClientRecord:
        """Start every worker. All must have the version of plink that runs here."""
        replies = self._workers.start(
            interpreter_command(self._python, _PROGRAM), self._idle_limit_s
        )
        return ClientRecord(versions_of(replies, self._hosts), {})

    def launch(self, launch: Launch) -> Measured:
        """Run a workload along a plan, in new engines."""
        forest, order = launch.forest, launch.seats
        if forest is None:
            raise RuntimeError("the engine runs plans")
        ask, timeout_s = self._workers.ask, launch.workload.timeout_s
        self._workers.let_wait(launch)
        group: Message = {
            "do": "join",
            "world_size": len(order),
            "timeout_s": timeout_s,
            "tls": self._tls,
            "forest": encode_forest(forest),
        }
        joining = {seat: {**group, "rank": rank} for rank, seat in enumerate(order)}
        ask(joining, timeout_s, order=order, relay=Relay())
        measured, replies = self._workers.measure(launch)
        sent, received = (
            [_counts(self._hosts[seat].name, replies[seat], name, len(order)) for seat in order]
            for name in ("sent_bytes", "received_bytes")
        )
        leave = {"do": "leave", "timeout_s": timeout_s}
        ask(dict.fromkeys(order, leave), timeout_s, order=order)
        return replace(measured, traffic=Traffic(sent, received))

    def close(self) -> None:
        """End every worker."""
        self._workers.close()


def versions_of(replies: Mapping[int, Message], hosts: Sequence[RemoteHost]) -> dict[str, str]:
    """Return the versions that started workers report.

    Args:
        replies: by seat.
        hosts: the seats.

    Raises:
        HostError: one has another plink than this one.
    """
    for seat, reply in replies.items():
        if reply.get("plink") != __version__:
            found = str(reply.get("plink"))[:40]
            raise HostError(
                hosts[seat].name, f"has plink {found}, and this is {__version__}", _HINT
            )
    versions = {str(reply.get("numpy"))[:40] for reply in replies.values()}
    return {"plink": __version__, "numpy": ", ".join(sorted(versions))}


def explain(reason: str) -> tuple[str, str] | None:
    """Return a better sentence, and a hint, for a worker that did not start."""
    if "No module named 'plink.bench" in reason:
        return f"the plink there is not plink {__version__}: it has no engine to bench", _HINT
    if "No module named 'plink.engine" in reason or "plink.engine._native" in reason:
        return "has a plink without its native engine", _HINT
    for name, title in (("plink", "plink"), ("numpy", "NumPy")):
        if f"No module named '{name}'" in reason:
            return f"{title} is not installed for the remote interpreter", _HINT
    return None


def _counts(host: str, reply: Message, name: str, ranks: int) -> list[int]:
    values = reply.get(name)
    is_valid = isinstance(values, list) and all(
        type(value) is int and 0 <= value < 1 << 63 for value in values
    )
    if not is_valid or not isinstance(values, list) or len(values) != ranks:
        raise HostError(host, "sent no counts of bytes")
    return values
