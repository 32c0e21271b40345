"""What reads what other programs say: hosts, peers, daemons, stores. One line is one reader."""

from __future__ import annotations

import json
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from autotune.logs import plan_of_log
from hostile import texts
from hostile.changes import changed_bytes, changed_json
from hub.control_messages import SPOKEN
from hub.snapshots import parts_of, state_of
from plink.autotune.protocol import messages, status
from plink.autotune.protocol.handshake import greeting, parse_greeting
from plink.autotune.protocol.identity import identity
from plink.autotune.protocol.messages import PEER_FIGURES, Ask, Join, Message, NewPlan, Report
from plink.base.errors import WrongUseError
from plink.engine.failure import EngineError
from plink.engine.table import Entry, Table, pack_entry, pack_table, parse_entry, parse_table
from plink.hub import hyper, snapshot_file
from plink.hub.service import ServiceOptions
from plink.hub.session import messages as hub_messages
from plink.hub.session.data import DataHello, parse_hello
from plink.hub.session.handshake import parse_greeting as parse_hub_greeting
from plink.probes import facts, fping
from plink.probes.echo import protocol as echo
from plink.probes.errors import ProbesError
from plink.probes.hosts.slurm import parse_allocation
from plink.probes.inventories.ansible import find_connections, parse_inventory
from plink.probes.inventories.clouds import (
    list_compute_nodes,
    parse_instances,
    parse_nodes,
    parse_outputs,
)
from plink.probes.inventories.pods import parse_pods
from plink.probes.inventories.slurm_jobs import parse_job
from plink.probes.inventories.topologies import parse_topology
from plink.probes.iperf3 import parse as iperf3
from plink.probes.ssh.known_hosts import KnownHosts
from plink.probes.trace import protocol as trace
from plink.renumber import meeting, members
from plink.transport.frames import DATA, Channel, ProtocolError, payload_of
from support.kubernetes import pod

_KEY = b"key" * 11
_SEED = 20_261_123
_CUTS = 40
_FOREST = plan_of_log().forest
_FIRST = identity(1, _FOREST)


@dataclass(frozen=True)
class Reader:
    """Something that reads what it must not trust.

    Args:
        read: it; what it returns or raises is looked at.
        valid: what an honest program says.
        refusals: the errors with which it may refuse.
        more: hostile contents that only this one gets, by name.
    """

    read: Callable[[bytes], object]
    valid: tuple[bytes, ...]
    refusals: tuple[type[Exception], ...] = ()
    more: Mapping[str, bytes] | None = None


def contents(reader: Reader) -> Iterator[tuple[str, bytes]]:
    """What a reader is tried with: name and content, the valid ones first."""
    for valid in reader.valid:
        yield "what is valid", valid
    yield from texts.CONTENTS.items()
    yield from (reader.more or {}).items()
    for valid in reader.valid:
        yield from changed_bytes(valid, _SEED, _CUTS)
        if valid.startswith((b"{", b"[")):
            for name, make in changed_json(valid, len(texts.WRONG_TYPES)):
                yield name, make()


def _message(content: bytes) -> Message:
    """As both ends read: a proven frame, and what it says."""
    daemon, rank = Channel(_KEY, is_server=True), Channel(_KEY, is_server=False)
    (said,) = daemon.feed(rank.pack(_packed(content)))
    return messages.from_json(said, _FOREST.ranks)


def _control(sender: str) -> Callable[[bytes], object]:
    """As an end of a hub's control connection reads what the sender says."""

    def read(content: bytes) -> object:
        return hub_messages.to_json(hub_messages.from_json(_said(content), sender))

    return read


def _controls(sender: str) -> Reader:
    valid = (hub_messages.to_json(message) for one, message in SPOKEN if one == sender)
    # Numbers behind a message are `scripts/fuzz`'s.
    texts_alone = (message for message in valid if DATA not in message)
    return Reader(
        _control(sender),
        tuple(json.dumps(message).encode() for message in texts_alone),
        (ProtocolError,),
    )


def _said(content: bytes) -> Mapping[str, object]:
    ours, theirs = Channel(_KEY, is_server=True), Channel(_KEY, is_server=False)
    (said,) = ours.feed(theirs.pack(_packed(content)))
    return said


def _status(content: bytes) -> object:
    daemon, viewer = Channel(_KEY, is_server=True), Channel(_KEY, is_server=False)
    (said,) = viewer.feed(daemon.pack(_packed(content)))
    return status.to_json(status.from_json(said))


def _packed(content: bytes) -> bytes:
    return zlib.compress(content, 1)


def _valid(message: Message) -> bytes:
    return json.dumps(messages.to_json(message)).encode()


def _text(read: Callable[[str], object]) -> Callable[[bytes], object]:
    """A reader of lines, as sessions hand them on."""
    return lambda content: read(content.decode(errors="replace"))


def _lines(read: Callable[[str], object]) -> Callable[[bytes], object]:
    return _text(lambda text: [read(line) for line in text.split("\n")[:1000]])


def _known(content: bytes) -> object:
    hosts = KnownHosts()
    Path("known_hosts").write_bytes(content)
    return [hosts.of(name, ["known_hosts"]) for name in ("a", "[a]:22", "*", "a" * 255)]


def _snapshot(content: bytes) -> object:
    Path("snapshot").write_bytes(content)
    return snapshot_file.read_part("snapshot").pieces


def _written_snapshot() -> bytes:
    service = ServiceOptions("job", 2, "momentum")
    (part,) = parts_of(service, state_of(service), (1,))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "snapshot"
        snapshot_file.write_part(str(path), part)
        return path.read_bytes()


def _report(content: bytes) -> object:
    said = iperf3.parse_report(content.decode(errors="replace"))
    if isinstance(said, str):
        return said
    return iperf3.compute_received_gbit_s(said, 0.1), iperf3.compute_received_between_gbit_s(
        said, 0.1, 0.9
    )


_SNAPSHOT = _written_snapshot()
_REPORT = Report(
    _FIRST, 3, 9, 1.5, np.ones(3), 1 << 20,
    {name: np.ones(_FOREST.ranks) for name in PEER_FIGURES},
)  # fmt: skip
_JOB = status.JobStatus(
    "job", ("n0", "n1"), 4, sent_bytes=np.ones(2), busy_s=np.ones(2), retransmissions=np.ones(2)
)
_TABLE = Table("6a" * 16, 2, [[("10.0.0.1", 4000)], [("::1", 4001)]], [], 30.0)
_IPERF3 = {
    "intervals": [
        {"sum": {"start": i, "end": i + 1, "seconds": 1, "bytes": 1e9, "retransmits": 0}}
        for i in range(3)
    ],
    "end": {"sum_sent": {"retransmits": 3}, "cpu_utilization_percent": {"host_total": 5.0,
            "remote_total": 6.0}},
}  # fmt: skip
_FACTS = (
    b"architecture x86_64\nmachine 0123\ncores 8\n\nip\n"
    b"2: eth0    inet 10.0.0.1/24 brd 10.0.0.255 scope global eth0\\       valid_lft forever\n"
)

_NODE = {"nodeType": "ComputeNode", "state": "running", "queueName": "q"}
_INSTANCES = json.dumps(
    {"instances": [{**_NODE, "privateIpAddress": f"10.0.0.{number}"} for number in (1, 2)]}
).encode()

READERS: Mapping[str, Reader] = {
    "the daemon's messages": Reader(
        _message,
        (
            _valid(Join(0, _FOREST.ranks, "n0", _FIRST, _FIRST)),
            _valid(_REPORT),
            _valid(NewPlan(_FIRST, _FOREST, 0.5)),
            _valid(Ask(_FIRST)),
        ),
        (ProtocolError,),
    ),
    "a viewer's answers": Reader(
        _status, (json.dumps(status.to_json(_JOB)).encode(),), (ProtocolError,)
    ),
    "frames": Reader(
        lambda content: Channel(_KEY, is_server=True).feed(content),
        (Channel(_KEY, is_server=False).pack(payload_of({"what": "watch"})),),
        (ProtocolError,),
    ),
    "greetings": Reader(parse_greeting, (greeting("job", b"n" * 32),), (ProtocolError,)),
    **{f"what a hub's {sender} says": _controls(sender)
       for sender in ("admin", "worker", "peer", "server")},
    "a hub's greetings": Reader(
        parse_hub_greeting,
        (b"plinkhub\x01w" + b"job".ljust(64, b"\0") + b"n" * 32,), (ProtocolError,),
    ),
    "a hub's connections for data": Reader(
        parse_hello, (DataHello("worker", "job", 1, 2, 3, b"n" * 32).pack(),), (ProtocolError,)
    ),
    "a step's hyperparameters": Reader(
        hyper.unpack, (hyper.pack([hyper.Hyper(0.1), hyper.Hyper(0.2)]),), (WrongUseError,)
    ),
    "a hub's snapshots": Reader(_snapshot, (_SNAPSHOT,), (WrongUseError,)),
    "a rank's addresses in the store": Reader(
        lambda content: parse_entry(content, 1),
        (pack_entry(Entry([("10.0.0.1", 4000), ("::1", 4000)], None)),),
        (EngineError,),
    ),
    "rank 0's table in the store": Reader(
        lambda content: parse_table(content, 2), (pack_table(_TABLE),), (EngineError,)
    ),
    "a process of a job": Reader(
        members.from_bytes,
        (members.to_bytes(members.Member(["n1"], ["10.0.0.1"], "10.0.0.1", 0, ranks=2)),),
        (ValueError,),
    ),
    "a word of rank 0": Reader(
        meeting.parse_word,
        (
            b'{"port": {"address": "10.0.0.1", "port": 1, "secret": "x"}, "numbers": [0, 1]}',
            b'{"decision": {"new_ranks": [1, 0], "hosts": ["a", "b"], "refused": "no"}}',
        ),
        (ValueError,),
    ),
    "the echo agent's lines": Reader(
        _lines(echo.parse_event),
        (b"bound 4000", b"rtt 1 2 10 9 100 200 300", b"lost 1 2 silent", b"over 1 2 3 4 -"),
        (ProbesError,),
    ),
    "the trace worker's lines": Reader(
        _lines(lambda line: trace.parse_message(line, "python3")),
        (b"ready", b"lacks scapy", b"traced 10.0.0.2 e1=10.0.0.1/11.0"),
        (ProbesError,),
    ),
    "fping's report": Reader(
        _text(lambda text: fping.parse_report(text, "10.0.0.2", 3)), (b"10.0.0.2 : 0.05 - 0.04\n",)
    ),
    "iperf3's report": Reader(_report, (json.dumps(_IPERF3).encode(),)),
    "iperf3's version": Reader(
        _text(iperf3.parse_version), (b"iperf 3.12 (cJSON 1.7.15)\n",),
        more={"digits without end": b"iperf " + b"9" * 5000 + b"." + b"9" * 5000},
    ),
    "what a host is": Reader(_text(facts.parse), (_FACTS,)),
    "a Slurm allocation": Reader(
        _text(lambda text: parse_allocation({"SLURM_JOB_NODELIST": text})),
        (b"n[01-02]",), (ProbesError,), more=texts.HOST_LISTS,
    ),
    "a Slurm job": Reader(
        _text(lambda text: parse_job(text, "slurm:1")),
        (b"JobId=1 JobName=x\n   JobState=RUNNING Reason=None\n   NodeList=n[1-2]\n",),
        (ProbesError,),
    ),
    "Ansible's inventories": Reader(
        lambda content: find_connections(parse_inventory(content, "inv"), "all"),
        (b"c\n[g]\na ansible_host=10.0.0.1\nb[1:2]\n", b"all: {hosts: {a: {}, b: {}}}\n",
         b'{"_meta": {"hostvars": {"a": {"ansible_port": 22}}}, "g": {"hosts": ["a", "b"]}}'),
        (ProbesError,), more=texts.HOST_LISTS,
    ),
    "Terraform's outputs": Reader(
        lambda content: parse_outputs(content, "tf", ""),
        (b'{"a": {"sensitive": false, "value": [{"name": "a", "ip": "10.0.0.1"}, "b"]}}',),
        (ProbesError,),
    ),
    "ParallelCluster's instances": Reader(
        lambda content: list_compute_nodes(parse_instances(content, "pc")[0], "", "pc"),
        (_INSTANCES,), (ProbesError,),
    ),
    "SkyPilot's configuration": Reader(
        _text(lambda text: parse_nodes(text, "c")), (b"Host c\nHost c-worker1\n",), (ProbesError,)
    ),
    "topologies": Reader(
        lambda content: parse_topology(content, "t"),
        (b"SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Switches=s1\n",
         b"- topology: t\n  tree:\n    switches:\n      - {switch: s1, nodes: 'n[1-2]'}\n",
         b'{"instances": [{"id": "n1", "network_layers": ["s1", "s2"]}]}',
         b'{"items":[{"metadata":{"name":"n1","labels":{"fabric.topograph.run/tier-0":"s"}}}]}'),
        (ProbesError,),
    ),
    "kubectl's pods": Reader(
        lambda content: parse_pods(content, "k8s:x"),
        (json.dumps({"items": [pod("a", "10.0.0.1"), pod("b", "10.0.0.2")]}).encode(),),
        (ProbesError,),
    ),
    "known hosts": Reader(_known, (b"a,b ssh-ed25519 AAAA\n",), more=texts.KNOWN_HOSTS),
}  # fmt: skip
