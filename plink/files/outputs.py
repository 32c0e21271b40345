"""What verbs print with `--json`, where they do not print a result as it is.

A struct is the only declaration of an output: the code that prints fills it, and the JSON Schema
(`plink schema`) comes from its types and its docstring.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta

from plink.files.limits import Amount, Text, Whole, one_of
from plink.files.structs import Output

MAX_ITERATION = (1 << 53) - 1

Namespace = Annotated[str, Meta(min_length=1, pattern="^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
Sha256 = Annotated[str, Meta(min_length=1, pattern="^[0-9a-f]{64}$")]

JsonSchema = Annotated[
    Mapping[str, Any],
    Meta(description="a schema", extra_json_schema={"required": ["$schema"]}),
]


class SchemaRow(Output, frozen=True):
    """A schema.

    Attributes:
        name: name of the schema
        of: what it describes, in words
    """

    name: Text
    of: Text


class Completion(Output, frozen=True):
    """What lets a shell complete commands.

    Attributes:
        shell: shell that the script is for
        script: script that the shell is to read
    """

    shell: Annotated[str, one_of("bash", "zsh", "fish")]
    script: Text


class HubAddresses(Output, frozen=True):
    """Where a server listens.

    Attributes:
        addresses: addresses of its ports, HOST:PORT
    """

    addresses: Sequence[str]


class HubService(Output, frozen=True):
    """A service and what it does.

    Attributes:
        namespace: name of the service
        workers: number of workers that are connected
        wanted_workers: number of workers that it was created for
        iteration: the iteration begun last; 0 before the first
        steps: steps of the optimiser; where every push is one, of a chunk
        skipped: iterations whose gradients were not finite
        replays: pushes of chunks that had come before
        early_bytes: most bytes kept for the sake of a fixed order
        connections: connections for data
        bytes_in: bytes of frames that were received
        bytes_out: bytes of frames that were sent
        failure: why it has failed; null if it has not
    """

    namespace: Namespace
    workers: Whole
    wanted_workers: Annotated[int, Meta(ge=1, le=4096)]
    iteration: Whole
    steps: Whole
    skipped: Whole
    replays: Whole
    early_bytes: Whole
    connections: Whole
    bytes_in: Whole
    bytes_out: Whole
    failure: Text | None


class HubStatus(Output, frozen=True):
    """A server and its services.

    Attributes:
        addresses: addresses of the ports, HOST:PORT
        weights: weights of the ports, for services that are created now
        services: services, in the order in which they were created
    """

    addresses: Sequence[str]
    weights: Sequence[float]
    services: Sequence[HubService]


class CreatedService(Output, frozen=True):
    """A service that was created.

    Attributes:
        namespace: name of the service
        worker_secret_file: file with the secret that workers need
    """

    namespace: Namespace
    worker_secret_file: Text


class SnapshotPart(Output, frozen=True):
    """What a server has written.

    Attributes:
        snapshot: name of the file in its folder
        iteration: number of completed iterations
        sha256: SHA-256 of the file
        size_bytes: size of the file, in bytes
    """

    snapshot: Text
    iteration: Annotated[int, Meta(ge=0, le=MAX_ITERATION)]
    sha256: Sha256
    size_bytes: Whole


class Snapshots(Output, frozen=True):
    """A snapshot.

    Attributes:
        snapshots: the part of each server, in the order of the servers
    """

    snapshots: Sequence[SnapshotPart]


class RestoredService(Output, frozen=True):
    """A service that goes on from a snapshot.

    Attributes:
        namespace: name of the service
        snapshot: snapshot that it goes on from
    """

    namespace: Namespace
    snapshot: Text


class DeletedService(Output, frozen=True):
    """A service that has ended.

    Attributes:
        namespace: name of the service
    """

    namespace: Namespace


class Manifests(Output, frozen=True):
    """The files that were written.

    Attributes:
        output: the folder
        files: names of the files in it
    """

    output: Text
    files: Sequence[str]


class Metric(Output, frozen=True):
    """A figure.

    Attributes:
        value: the figure, in the unit that its name says
    """

    value: Amount


class TierMetric(Output, frozen=True):
    """A figure of a tier.

    Attributes:
        tier: number of the tier, 0 for the nearest
        value: the figure
    """

    tier: Text
    value: Amount


class HostMetric(Output, frozen=True):
    """A figure of a host.

    Attributes:
        host: name of the host
        value: the figure, in s
    """

    host: Text
    value: Amount


class Metrics(Output, frozen=True):
    """Figures of a measurement.

    Attributes:
        measured_timestamp_seconds: when the measurement began, in s since 1970; 0 if unknown
        probing_seconds: how long it took, in s
        hosts: hosts that were measured
        unreachable_hosts: hosts that were not reached
        pairs_missing: directed pairs without a reading
        probes_lost: probes without an answer
        tier_domains: domains of each tier
        host_rtt_seconds: median round trip to the other hosts, in s
    """

    measured_timestamp_seconds: Sequence[Metric]
    probing_seconds: Sequence[Metric]
    hosts: Sequence[Metric]
    unreachable_hosts: Sequence[Metric]
    pairs_missing: Sequence[Metric]
    probes_lost: Sequence[Metric]
    tier_domains: Sequence[TierMetric]
    host_rtt_seconds: Sequence[HostMetric]
