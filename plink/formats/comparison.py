"""The comparison file of `plink bench`: times of libraries and plans by size (`docs/bench.md`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from plink.formats import document
from plink.formats.limits import MAX_SECONDS, Collective, Count, Seconds, Text, constrain_to_words
from plink.formats.structs import convert

FORMAT: Final = "plink.comparison"
VERSION: Final = 1

LIMITS = ("hosts", "uplinks")

_MAX_BYTES = 1 << 62
_MAX_COUNT = 1_000_000

Times = Annotated[int, Meta(ge=0, le=_MAX_COUNT)]
TimesAtLeastOnce = Annotated[int, Meta(ge=1, le=_MAX_COUNT)]
MeanBytes = Annotated[float, Meta(ge=0, le=float(_MAX_BYTES))]
PositiveSeconds = Annotated[float, Meta(gt=0, le=MAX_SECONDS)]


class ClientRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """Client (communication library) that `plink bench` ran: its versions and settings.

    Attributes:
        versions: version of each of its parts
        settings: switches that it was given
    """

    versions: Mapping[str, Text]
    settings: Mapping[str, Text]


class LinkBytes(Struct, frozen=True, forbid_unknown_fields=True):
    """Bytes that one collective call sends over one link: a host's, or a group's uplink.

    Attributes:
        name: name of the host or group
        sent_bytes, received_bytes: mean over repetitions, with the headers of frames, in bytes
        plan_sent_bytes, plan_received_bytes: what the plan says, of the payload alone, in bytes
    """

    name: Text
    sent_bytes: MeanBytes
    received_bytes: MeanBytes
    plan_sent_bytes: MeanBytes
    plan_received_bytes: MeanBytes


class BytesByLink(Struct, frozen=True, forbid_unknown_fields=True):
    """Bytes that one collective call sends over each host's link and each group's uplink.

    Attributes:
        hosts: bytes over the link of every host with a rank
        groups: bytes over the uplink of every group
    """

    hosts: Sequence[LinkBytes]
    groups: Sequence[LinkBytes]


class ComparisonRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Times of a client (library) with one algorithm, rank order, collective and message size.

    Attributes:
        client: client that ran
        algorithm: algorithm that ran
        plan: kind of the plan that the engine followed; absent for libraries
        order: label of the order of the ranks; absent if the plan decided it
        collective: collective that ran
        size_bytes: size of the whole buffer: on each rank, before or after it, in bytes
        hosts: host of each rank
        median_s, min_s, max_s: median, least and greatest time of one collective, in s
        bus_mbit: bits that each rank has to send if all send alike, such as 2 (N-1)/N of an
            all-reduced buffer's, over the median time, in Mbit/s; 0 for a barrier
        cpu_s_per_gb: processor time of a rank for 10^9 bytes of buffer, the median over
            repetitions of the mean over ranks, in s; absent if the client does not report it
        limit_s: least time that links allow, in s
        limit_by: links that set this limit, `hosts` or `uplinks`
        predicted_s: predicted time, in s; absent without bandwidths
        links: bytes over each link; absent if the client does not report them
        samples_s, cpu_s: time and processor time of each repetition, in s, those of an unfinished
            round included
    """

    client: Text
    algorithm: Text
    plan: Text | None = None
    order: Text | None = None
    collective: Collective
    size_bytes: Annotated[int, Meta(ge=1, le=_MAX_BYTES)]
    hosts: Annotated[Sequence[str], Meta(min_length=1)]
    median_s: PositiveSeconds
    min_s: PositiveSeconds
    max_s: PositiveSeconds
    bus_mbit: MeanBytes
    cpu_s_per_gb: MeanBytes | None = None
    limit_s: Seconds | None = None
    limit_by: Annotated[str, constrain_to_words(*LIMITS)] | None = None
    predicted_s: Seconds | None = None
    links: BytesByLink | None = None
    samples_s: Sequence[Seconds]
    cpu_s: Sequence[Seconds]

    @property
    def share_of_limit(self) -> float | None:
        """Least possible time divided by the median time: 1 means as fast as the links allow."""
        return None if self.limit_s is None else self.limit_s / self.median_s


class BenchSetting(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of a benchmark: clients, repetitions, rounds, seed and congestion control.

    Attributes:
        clients: clients by name, an MPI with its algorithm
        warmups: collectives before the timed ones of each launch
        repetitions: timed collectives of each launch
        rounds: number of times that everything was to be launched
        seed: seed of orders, plans and the sequence of launches
        congestion_control: default of TCP sockets on each host
        made_from: SHA-256 (`sha256:...`) of the cluster
        assumptions: what predictions assumed, a sentence each
    """

    clients: Mapping[str, ClientRecord]
    warmups: Times
    repetitions: TimesAtLeastOnce
    rounds: TimesAtLeastOnce
    seed: Count
    congestion_control: Mapping[str, Text]
    made_from: Text
    assumptions: Sequence[str] = []


class Comparison(Struct, frozen=True, forbid_unknown_fields=True):
    """Measured times of several libraries (clients), plans, orders, collectives or message sizes.

    Attributes:
        setting: conditions under which they ran
        rows: what ran, size by size
        rounds_done: rounds in which everything ran; the rows compare these alone, or, if there is
            none, what ran of the first
        stopped: why not all rounds ran; absent if they did
        time_of_a_repetition: rank whose time counts, in words
        format: name of the format
        version: version of the format
    """

    setting: BenchSetting
    rows: Annotated[Sequence[ComparisonRow], Meta(min_length=1)]
    rounds_done: Times
    stopped: Text | None = None
    time_of_a_repetition: str = "the longest of any rank"
    format: Literal["plink.comparison"] = FORMAT
    version: Literal[1] = VERSION


def decode_comparison(data: Mapping[str, Any], source: str) -> Comparison:
    """Return the comparison in the JSON object of file `source`, or raise WrongUseError."""
    document.check_format(data, source, FORMAT, VERSION)
    return convert(data, Comparison, source)
