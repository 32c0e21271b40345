"""Structs of the JSON that plink's commands print with `--json`, unless it is a file's content.

A struct is the only declaration of an output: the code that prints fills it, and the JSON Schema
(`plink schema`) comes from its types and its docstring.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from plink.formats.clients import ClientFit
from plink.formats.hosts import Group
from plink.formats.limits import Amount, Namespace, Positive, Text, Whole, constrain_to_words
from plink.formats.matrices import Matrix
from plink.formats.measurements import Failure, Percentile
from plink.formats.structs import Output

MAX_ITERATION = (1 << 53) - 1

Sha256 = Annotated[str, Meta(min_length=1, pattern=r"^[0-9a-f]{64}$(?!\n)")]

JsonSchema = Annotated[
    Mapping[str, Any], Meta(description="a schema", extra_json_schema={"required": ["$schema"]})
]


class SchemaRow(Output, frozen=True):
    """Name of a JSON Schema that `plink schema` prints, and what it describes.

    Attributes:
        name: name of the schema
        of: what it describes, in words
    """

    name: Text
    of: Text


class Completion(Output, frozen=True):
    """Script with which a shell completes plink's commands.

    Attributes:
        shell: shell that the script is for
        script: script that the shell is to read
    """

    shell: Annotated[str, constrain_to_words("bash", "zsh", "fish")]
    script: Text


class HubAddresses(Output, frozen=True):
    """Addresses at which a server of `plink hub` listens, printed when it has started.

    Attributes:
        addresses: addresses of its ports, HOST:PORT
    """

    addresses: Sequence[str]


class HubService(Output, frozen=True):
    """State of one service on a server of `plink hub`: workers, iterations, bytes, failure.

    Attributes:
        namespace: name of the service
        workers: number of workers that are connected
        wanted_workers: number of workers that it was created for
        iteration: the iteration begun last; 0 before the first
        steps: steps of the optimiser; in the modes `async` and `ssp`, one for every pushed chunk
        skipped: iterations whose gradients were not finite
        replays: chunks that were pushed again though they had arrived before
        early_bytes: most bytes that waited at once for their turn in a fixed order of addition
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
    """State of a server of `plink hub`: its ports and its services.

    Attributes:
        addresses: addresses of the ports, HOST:PORT
        weights: weights of the ports, for services that are created now
        services: services, in the order in which they were created
    """

    addresses: Sequence[str]
    weights: Sequence[float]
    services: Sequence[HubService]


class CreatedService(Output, frozen=True):
    """Service that `plink hub create` has created, with the file of its workers' secret.

    Attributes:
        namespace: name of the service
        worker_secret_file: file with the secret that workers need
    """

    namespace: Namespace
    worker_secret_file: Text


class SnapshotPart(Output, frozen=True):
    """Snapshot file of one server of a service: name, iteration, hash and size.

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
    """Snapshot of a service that `plink hub checkpoint` has written, one file per server.

    Attributes:
        snapshots: the part of each server, in the order of the servers
    """

    snapshots: Sequence[SnapshotPart]


class RestoredService(Output, frozen=True):
    """Service that continues from a snapshot after `plink hub restore`.

    Attributes:
        namespace: name of the service
        snapshot: snapshot that it goes on from
    """

    namespace: Namespace
    snapshot: Text


class DeletedService(Output, frozen=True):
    """Service that `plink hub delete` has ended.

    Attributes:
        namespace: name of the service
    """

    namespace: Namespace


class Manifests(Output, frozen=True):
    """Kubernetes manifests that were written into a folder.

    Attributes:
        output: the folder
        files: names of the files in it
    """

    output: Text
    files: Sequence[str]


class Metric(Output, frozen=True):
    """Value of a Prometheus metric without labels.

    Attributes:
        value: the figure, in the unit that its name says
    """

    value: Amount


class TierMetric(Output, frozen=True):
    """Value of a Prometheus metric for one network tier.

    Attributes:
        tier: number of the tier, 0 for the nearest
        value: the figure
    """

    tier: Text
    value: Amount


class HostMetric(Output, frozen=True):
    """Value of a Prometheus metric for one host.

    Attributes:
        host: name of the host
        value: the figure, in s
    """

    host: Text
    value: Amount


class Metrics(Output, frozen=True):
    """Prometheus metrics of a cluster's measurement, by name.

    Attributes:
        measured_timestamp_seconds: when the measurement began, in s since 1970; 0 if unknown
        probing_seconds: how long it took, in s
        hosts: hosts that were measured
        unreachable_hosts: hosts that were not reached
        pairs_missing: directed pairs without a reading
        probes_lost: probes without an answer
        tier_domains: number of domains, such as racks, of each network tier
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


class OutputLine(Output, frozen=True):
    """Line of output that a rank of the job has printed.

    Attributes:
        rank: number of the rank that printed it
        line: the line
    """

    rank: Whole
    line: str


class SucceededJob(Output, frozen=True):
    """End of a job all of whose ranks have succeeded.

    Attributes:
        status: exit status of the job
    """

    status: Literal[0] = 0


class FailedJob(Output, frozen=True):
    """End of a job of which a rank has failed: which rank, on which host, why.

    Attributes:
        status: exit status of the job
        rank: rank that failed first
        host: host that it ran on
        reason: why it failed; null if its status says it
    """

    status: Whole
    rank: Whole
    host: Text
    reason: Text | None


class AgentState(Output, frozen=True):
    """New state of an agent's connection to plink: waiting, connected, left or refused.

    Attributes:
        state: state of the connection
        message: the state in a sentence for a person
    """

    state: Annotated[str, constrain_to_words("waiting", "connected", "left", "refused")]
    message: Text


class SlurmNode(Output, frozen=True):
    """Node of a Slurm job, with its number of tasks.

    Attributes:
        name: name of the node
        tasks: number of tasks on it
    """

    name: Text
    tasks: Positive


class SlurmOrder(Output, frozen=True):
    """Order of a Slurm job's nodes that plink chose, with its cost and the source of the readings.

    Attributes:
        ordered: whether there is an order
        hostfile: path of the file that srun reads
        hosts: nodes in the order of their tasks
        algorithm: algorithm that the order is for
        cost_us: cost of the order, in µs
        cost_given_us: cost of Slurm's own order, in µs
        source: where the round-trip times are from
        pairs_measured: directed pairs that were measured now and are kept
        unknown: names of nodes without any reading, which come last
        seconds: time that it took, in s
    """

    ordered: Annotated[bool, Meta(extra_json_schema={"const": True})]
    hostfile: Text
    hosts: Sequence[SlurmNode]
    algorithm: Text
    cost_us: Amount
    cost_given_us: Amount
    source: Annotated[str, constrain_to_words("kept", "switches", "groups", "measured")]
    pairs_measured: Whole
    unknown: Sequence[str]
    seconds: Amount


class SlurmGivenOrder(Output, frozen=True):
    """Slurm job whose nodes stay in Slurm's order, with the reason.

    Attributes:
        ordered: whether there is an order
        reason: why there is none, in words
    """

    ordered: Annotated[bool, Meta(extra_json_schema={"const": False})]
    reason: Text


class UnreachedHost(Output, frozen=True):
    """Host that could not be reached, with the reason.

    Attributes:
        host: name of the host
        reason: why, in words
    """

    host: Text
    reason: Text


class ProbeStage(Output, frozen=True):
    """Result of a probe's stage, with one tool: numbers of pairs, seconds, warnings, failures.

    Attributes:
        tool: tool that measured
        asked: directed pairs, or groups, that were to be measured
        measured: number of these that were
        seconds: time that the probing took, in s
        interrupted: whether Ctrl-C ended it
        warnings: why readings are not to be trusted
        failures: what could not be measured
    """

    tool: Text
    asked: Whole
    measured: Whole
    seconds: Amount
    interrupted: bool
    warnings: Sequence[str]
    failures: Sequence[Failure]


class ProbeOutput(Output, frozen=True):
    """Result of a probe run: the file that was written, and a stage for each tool.

    Attributes:
        output: file that was written
        hosts: number of hosts in the file
        unreachable: hosts that could not be reached
        stages: one for each tool
        groups: groups of near hosts, if known
        resume: command that goes on; null if nothing is missing
    """

    output: Text
    hosts: Whole
    unreachable: Sequence[UnreachedHost]
    stages: Sequence[ProbeStage]
    groups: Sequence[Group]
    resume: Text | None


class ChangedHosts(Output, frozen=True):
    """Hosts whose round-trip times to all other hosts differ alike from the cluster file's.

    Attributes:
        hosts: names of the hosts
        pairs: pairs of theirs that were compared
        longer: pairs that take longer now
        shorter: pairs that take less time now
        longer_factor, shorter_factor: new over old round-trip time of these (median)
    """

    hosts: Sequence[str]
    pairs: Whole
    longer: Whole
    shorter: Whole
    longer_factor: Amount | None
    shorter_factor: Amount | None


class MovedHost(Output, frozen=True):
    """Host whose address differs from that in the cluster file.

    Attributes:
        host: name of the host
        file: address in the file
        now: address now
    """

    host: Text
    file: Text
    now: Text


class ChangedLink(Output, frozen=True):
    """Link of a host, or uplink of a group, whose bandwidth differs from that in the cluster file.

    Attributes:
        host: host whose link it is
        group: group whose uplink it is
        direction: direction of the link
        file_gbit_s: bandwidth in the file, in Gbit/s
        now_gbit_s: bandwidth now, in Gbit/s
    """

    OPTIONAL: ClassVar = ("host", "group")

    host: Text | None
    group: Text | None
    direction: Literal["send", "receive"]
    file_gbit_s: Amount
    now_gbit_s: Amount


_HOST_OR_GROUP = Meta(
    extra_json_schema={"oneOf": [{"required": ["host"]}, {"required": ["group"]}]}
)


class CheckedTransfers(Output, frozen=True):
    """Changed bandwidths of the hosts' links and groups' uplinks that `plink check` measured again.

    Attributes:
        hosts: hosts whose links were measured
        groups: groups whose uplinks were measured
        changes: what changed
        common_factor: new over old bandwidth of the other links
        seconds: time that it took, in s
    """

    hosts: Sequence[str]
    groups: Sequence[str]
    changes: Sequence[Annotated[ChangedLink, _HOST_OR_GROUP]]
    common_factor: Amount
    seconds: Amount


class CheckOutput(Output, frozen=True):
    """Verdict on whether a cluster file still describes its network.

    Attributes:
        changed: whether the network is another than in the file
        hosts: number of hosts that were compared
        pairs: number of pairs that were compared
        pairs_changed: names of both hosts of each pair that changed
        common_factor: new over old round-trip time of the other pairs
        noise_factor: a change by less counts as noise
        changes: hosts that changed, the most changed pairs first
        addresses: hosts at other addresses
        unreachable: hosts that could not be reached
        failures: what could not be measured
        transfers: bandwidths that were measured again; null if none was
        not_checked: what was not measured again, and why
        rounds: number of partners that each host was measured with
        seed: seed of the choice of pairs
        seconds: time that it took, in s
    """

    changed: bool
    hosts: Whole
    pairs: Whole
    pairs_changed: Sequence[Annotated[Sequence[str], Meta(min_length=2, max_length=2)]]
    common_factor: Amount
    noise_factor: Amount
    changes: Sequence[ChangedHosts]
    addresses: Sequence[MovedHost]
    unreachable: Sequence[UnreachedHost]
    failures: Sequence[Failure]
    transfers: CheckedTransfers | None
    not_checked: Sequence[str]
    rounds: Whole
    seed: Whole
    seconds: Amount


class FitOutput(Output, frozen=True):
    """Software costs of a communication library that were fitted and added to the cluster file.

    Attributes:
        output: file that was written
        fit: the fitted costs
    """

    output: Text
    fit: ClientFit


class ImportedQuantity(Output, frozen=True):
    """Imported quantity (round-trip times or bandwidths): numbers of pairs, notes and failures.

    Attributes:
        tool: tool that measured it
        pairs: directed pairs of all hosts
        measured: number of these that are known
        notes: what to know before trusting the readings
        failures: what could not be measured
    """

    tool: Text
    pairs: Whole
    measured: Whole
    notes: Sequence[str]
    failures: Sequence[Failure]


class ImportOutput(Output, frozen=True):
    """Result of importing another program's measurements into a cluster file.

    Attributes:
        output: file that was written
        hosts: names of the hosts
        rtt: round-trip times
        bandwidth: bandwidths
    """

    OPTIONAL: ClassVar = ("rtt", "bandwidth")

    output: Text
    hosts: Sequence[str]
    rtt: ImportedQuantity | None
    bandwidth: ImportedQuantity | None


_NUMBERS = Meta(
    extra_json_schema={
        "items": {"type": "array", "items": {"type": ["number", "null"], "minimum": 0}}
    }
)


class ExportedMatrix(Output, frozen=True):
    """Matrix of round-trip times or bandwidths of a cluster file.

    Attributes:
        quantity: what was measured
        unit: unit of all values
        percentile: percentile of round-trip times
        hosts: names, in the order of rows and columns
        values: values in `unit`, [source][destination]; null if not measured
    """

    OPTIONAL: ClassVar = ("percentile",)

    quantity: Literal["rtt", "bandwidth"]
    unit: Annotated[str, constrain_to_words("ns", "us", "ms", "s", "gbit_s")]
    percentile: Percentile | None
    hosts: Sequence[str]
    values: Annotated[Matrix, _NUMBERS]


class ExportedTopology(Output, frozen=True):
    """Topology for Slurm or topograph: a cluster file's groups as tiers of switches.

    Attributes:
        format: format of the file
        tiers: switches of each tier, and the hosts below each; the nearest to the hosts first
    """

    format: Annotated[str, constrain_to_words("slurm-topology", "topograph")]
    tiers: Sequence[Sequence[Group]]


class JobEnvironment(Output, frozen=True):
    """Environment variables with which the ranks of a tuned job find the tuner's daemon.

    Attributes:
        job: name of the job
        environment: variables and their values
        needs_tls: whether the job also needs the folder of its certificates
    """

    job: Text
    environment: Mapping[str, str]
    needs_tls: bool
