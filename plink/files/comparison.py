"""The file of a comparison: what several clients and plans took, size by size (`docs/bench.md`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from plink.base.errors import WrongUseError
from plink.files import document
from plink.files.fields import Fields
from plink.plans.names import ALL_REDUCE, COLLECTIVES

FORMAT = "plink.comparison"
VERSION = 1

LIMITS = ("hosts", "uplinks")

_MAX_SECONDS = 1e9
_MAX_BYTES = 1 << 62
_MAX_COUNT = 1_000_000
_MAX_SEED = (1 << 63) - 1


@dataclass(frozen=True)
class ClientRecord:
    """What ran: versions of its parts, and the switches that it was given."""

    versions: Mapping[str, str]
    settings: Mapping[str, str]


@dataclass(frozen=True)
class Setting:
    """Under what conditions a bench ran.

    Args:
        clients: by name; an MPI with its algorithm.
        warmups, repetitions: of each launch.
        rounds: how often everything was to be launched.
        seed: decided orders, plans and the sequence of launches.
        congestion_control: the default of TCP sockets on each host.
        made_from: the hash of the cluster file.
        assumptions: what predictions assumed, a sentence each.
    """

    clients: Mapping[str, ClientRecord]
    warmups: int
    repetitions: int
    rounds: int
    seed: int
    congestion_control: Mapping[str, str]
    made_from: str
    assumptions: Sequence[str]


@dataclass(frozen=True)
class LinkBytes:
    """Bytes of one collective over one link: a host's to the network, or a group's to the others.

    Args:
        name: of the host or group.
        sent_bytes, received_bytes: the mean over repetitions, with the frames' headers.
        plan_sent_bytes, plan_received_bytes: what the plan says, of the payload alone.
    """

    name: str
    sent_bytes: float
    received_bytes: float
    plan_sent_bytes: float
    plan_received_bytes: float


@dataclass(frozen=True)
class Links:
    """Bytes over the link of every host with a rank, and of every group."""

    hosts: Sequence[LinkBytes]
    groups: Sequence[LinkBytes]


@dataclass(frozen=True)
class Row:
    """One client, algorithm, order, collective and size. Times are of one collective, in seconds.

    Args:
        client, algorithm: what ran.
        plan: the kind of plan that the engine followed; None for libraries.
        order: the label of the ranks' order; None where the plan decided it.
        collective: of `plink.plans.names.COLLECTIVES`.
        size_bytes: of the whole buffer: on each rank, before or after it.
        hosts: the host of each rank.
        bus_mbit: bits that each rank must send where all send alike, such as 2 (N-1)/N of an
            all-reduced buffer's, over the median time, in Mbit/s; 0 for a barrier.
        cpu_s_per_gb: CPU seconds of a rank's process for 10^9 bytes of buffer, the median over
            repetitions of the mean over ranks; None where the client does not report it.
        limit_s: the least time that links allow; None where nothing is known of them.
        limit_by: whose links set that limit, `hosts` or `uplinks`.
        predicted_s: None where nothing is known of what links carry.
        links: bytes over each of them; None where the client does not report it.
        samples_s, cpu_s: per repetition, those of an unfinished round included.
    """

    client: str
    algorithm: str
    plan: str | None
    order: str | None
    collective: str
    size_bytes: int
    hosts: Sequence[str]
    median_s: float
    min_s: float
    max_s: float
    bus_mbit: float
    cpu_s_per_gb: float | None
    limit_s: float | None
    limit_by: str | None
    predicted_s: float | None
    links: Links | None
    samples_s: Sequence[float]
    cpu_s: Sequence[float]

    @property
    def share_of_limit(self) -> float | None:
        """The limit over the median time: 1 is as quick as links allow."""
        return None if self.limit_s is None else self.limit_s / self.median_s


@dataclass(frozen=True)
class Comparison:
    """What a bench found: the rows, size by size.

    Args:
        rounds_done: the rounds in which everything ran; the rows compare these alone, or, where
            there is none, what ran of the first.
        stopped: why not all rounds ran, or None where they did.
    """

    setting: Setting
    rows: Sequence[Row]
    rounds_done: int
    stopped: str | None


def to_json(result: Comparison) -> dict[str, Any]:
    """`result` as a JSON object."""
    return {
        "format": FORMAT,
        "version": VERSION,
        **asdict(result.setting),
        "rounds_done": result.rounds_done,
        "stopped": result.stopped,
        "time_of_a_repetition": "the longest of any rank",
        "rows": [asdict(row) for row in result.rows],
    }


def from_json(data: Mapping[str, Any], source: str) -> Comparison:
    """The comparison in a JSON object; `source` names it in errors.

    Raises:
        WrongUseError: not one, or of a version that is not known here.
    """
    document.check_format(data, source, FORMAT, VERSION)
    fields = Fields(data, source)
    clients = fields.object("clients")
    rows = [_row(item) for item in fields.objects("rows")]
    if not rows:
        raise WrongUseError(f"{source}: has no rows")
    setting = Setting(
        clients={name: _client(clients.object(name)) for name in clients.names()},
        warmups=fields.integer("warmups", 0, _MAX_COUNT),
        repetitions=fields.integer("repetitions", 1, _MAX_COUNT),
        rounds=fields.integer("rounds", 1, _MAX_COUNT),
        seed=fields.integer("seed", 0, _MAX_SEED),
        congestion_control=_texts(fields.object("congestion_control")),
        made_from=fields.text("made_from"),
        assumptions=fields.texts("assumptions"),
    )
    return Comparison(
        setting,
        rows,
        rounds_done=fields.integer("rounds_done", 0, _MAX_COUNT),
        stopped=fields.optional_text("stopped"),
    )


def _client(fields: Fields) -> ClientRecord:
    return ClientRecord(_texts(fields.object("versions")), _texts(fields.object("settings")))


def _texts(fields: Fields) -> dict[str, str]:
    return {name: fields.text(name) for name in fields.names()}


def _row(fields: Fields) -> Row:
    links = fields.optional_object("links")
    limit_by = fields.optional_text("limit_by")
    if limit_by not in (None, *LIMITS):
        raise fields.error("limit_by", " or ".join(LIMITS))
    hosts = fields.texts("hosts")
    if not hosts:
        raise fields.error("hosts", "the host of each rank")
    return Row(
        client=fields.text("client"),
        algorithm=fields.text("algorithm"),
        plan=fields.optional_text("plan"),
        order=fields.optional_text("order"),
        collective=_collective(fields),
        size_bytes=fields.integer("size_bytes", 1, _MAX_BYTES),
        hosts=hosts,
        median_s=_time(fields, "median_s"),
        min_s=_time(fields, "min_s"),
        max_s=_time(fields, "max_s"),
        bus_mbit=fields.number("bus_mbit", 0.0, float(_MAX_BYTES)),
        cpu_s_per_gb=fields.optional_number("cpu_s_per_gb", 0.0, float(_MAX_BYTES)),
        limit_s=fields.optional_number("limit_s", 0.0, _MAX_SECONDS),
        limit_by=limit_by,
        predicted_s=fields.optional_number("predicted_s", 0.0, _MAX_SECONDS),
        links=None if links is None else Links(_links(links, "hosts"), _links(links, "groups")),
        samples_s=_times(fields, "samples_s"),
        cpu_s=_times(fields, "cpu_s"),
    )


def _collective(fields: Fields) -> str:
    """An all-reduce in files of before there were others."""
    name = fields.optional_text("collective") or ALL_REDUCE
    if name not in COLLECTIVES:
        raise fields.error("collective", f"one of {', '.join(COLLECTIVES)}")
    return name


def _time(fields: Fields, name: str) -> float:
    seconds = fields.number(name, 0.0, _MAX_SECONDS)
    if seconds == 0.0:
        raise fields.error(name, "a time above 0")
    return seconds


def _times(fields: Fields, name: str) -> list[float]:
    values = fields.values.get(name)
    return fields.numbers(name, len(values) if isinstance(values, list) else 0, _MAX_SECONDS)


def _links(fields: Fields, name: str) -> list[LinkBytes]:
    return [
        LinkBytes(
            item.text("name"),
            *(
                item.number(f"{which}_bytes", 0.0, float(_MAX_BYTES))
                for which in ("sent", "received")
            ),
            *(
                item.number(f"plan_{which}_bytes", 0.0, float(_MAX_BYTES))
                for which in ("sent", "received")
            ),
        )
        for item in fields.objects(name)
    ]
