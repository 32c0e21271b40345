"""Chakra's execution traces: what ASTRA-sim simulates, and what is made of a job's own profile.

One file a rank, `NAME.0.et`, `NAME.1.et`, ...: a `GlobalMetadata`, then a `Node` for each
operation, as `et_def.proto` of MLCommons' Chakra defines them (Sridharan et al., *Chakra: Advancing
Performance Benchmarking and Co-design using Standardized Execution Traces*, 2023).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from plink.base.errors import WrongUseError
from plink.base.text import format_count
from plink.simulate.schedule import ANY, COMPUTE, RECEIVE, SEND, Schedule
from plink.simulate.traces import protobuf
from plink.simulate.traces.collectives import collective_steps
from plink.simulate.traces.edges import Edges
from plink.simulate.traces.goal import MAX_OPERATIONS, MAX_RANKS, MAX_TAG
from plink.simulate.traces.groups import DECLARATION, Groups, Members, declared_groups, members_of

VERSION = "0.0.4"

# Of the enumerations in `et_def.proto`.
_COMP, _SEND, _RECV, _COLL = 4, 5, 6, 7
COLLECTIVES = (
    "all-reduce",
    "reduce",
    "all-gather",
    "gather",
    "scatter",
    "broadcast",
    "all-to-all",
    "reduce-scatter",
    "reduce-scatter",
    "barrier",
)

# Fields of messages there.
_ID, _NAME, _TYPE, _CTRL, _DATA, _DURATION, _INPUTS, _ATTRIBUTE = 1, 2, 3, 4, 5, 7, 8, 10
_DOUBLE, _BOOL, _STRING = 3, 27, 29
# Values of attributes that are whole numbers, by whether they are signed as int32, int64 are.
_WHOLE = {7: 32, 9: 64, 11: 0, 13: 0}
_INT32, _INT64 = 7, 9
_MAX_INT32 = (1 << 31) - 1

_PER_US = 1000
_MAX_BYTES = (1 << 62) - 1


def _attribute(name: str, number: int, value: int) -> bytes:
    return protobuf.field(_ATTRIBUTE, protobuf.field(1, name) + protobuf.field(number, value))


def files_of(schedule: Schedule) -> Iterator[bytes]:
    """Yield the content of each rank's file."""
    by_rank = np.argsort(schedule.rank, kind="stable")
    starts = np.searchsorted(schedule.rank[by_rank], np.arange(schedule.ranks + 1))
    edges = np.argsort(schedule.after, kind="stable")
    edge_starts = np.searchsorted(schedule.after[edges], np.arange(schedule.operations + 1))
    number = np.empty(schedule.operations, dtype=np.int64)
    number[by_rank] = np.arange(schedule.operations) - starts[schedule.rank[by_rank]] + 1
    begin = protobuf.add_length(protobuf.field(1, VERSION))
    for rank in range(schedule.ranks):
        parts = [begin]
        for one in by_rank[starts[rank] : starts[rank + 1]].tolist():
            needs = number[schedule.before[edges[edge_starts[one] : edge_starts[one + 1]]]]
            parts.append(
                protobuf.add_length(_node(schedule, one, int(number[one]), needs.tolist()))
            )
        yield b"".join(parts)


def _node(schedule: Schedule, one: int, number: int, needs: list[int]) -> bytes:
    kind, amount = int(schedule.kind[one]), int(schedule.amount[one])
    rank, peer, tag = (int(column[one]) for column in (schedule.rank, schedule.peer, schedule.tag))
    name = ("send", "receive", "compute")[kind]
    content = protobuf.field(_ID, number) + protobuf.field(_NAME, f"{name} {number}")
    content += protobuf.field(_TYPE, {SEND: _SEND, RECEIVE: _RECV, COMPUTE: _COMP}[kind])
    content += protobuf.pack_numbers(_DATA, needs)
    if kind == COMPUTE:
        # Whole microseconds are all that the field holds; the rest stands beside it.
        content += protobuf.field(_DURATION, -(-amount // _PER_US))
        content += _attribute("is_cpu_op", _BOOL, 1)
        content += _attribute("duration_nanos", _INT64, amount)
        return content
    source, destination = (rank, peer) if kind == SEND else (peer, rank)
    content += _attribute("is_cpu_op", _BOOL, 0)
    content += _attribute("comm_src", _INT32, source)
    content += _attribute("comm_dst", _INT32, destination)
    content += _attribute("comm_tag", _INT32 if tag <= _MAX_INT32 else _INT64, tag)
    content += _attribute("comm_size", _INT64, amount)
    return content


@dataclass
class Node:
    """An operation as a file has it.

    Args:
        kind: of Chakra's enumeration.
        needs: the numbers of nodes that it waits for.
        values: its attributes that are numbers.
        words: its attributes that are text.
        inputs: the values of its inputs, as text.
    """

    number: int = 0
    name: str = ""
    kind: int = 0
    duration_us: int = 0
    needs: list[int] = field(default_factory=list)
    values: dict[str, int] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    inputs: str = ""


def parse_node(message: bytes) -> Node:
    """Return the node in a message.

    Raises:
        protobuf.MalformedError: it is none.
    """
    found = Node()
    for number, value in protobuf.fields_of(message):
        if number in (_CTRL, _DATA):
            found.needs += protobuf.unpack_numbers(value)
        elif number == _ATTRIBUTE and isinstance(value, bytes):
            _take_attribute(found, value)
        elif number == _NAME and isinstance(value, bytes):
            found.name = value.decode("utf-8", "replace")
        elif number == _INPUTS and isinstance(value, bytes):
            values = dict(protobuf.fields_of(value)).get(1, b"")
            found.inputs = values.decode("utf-8", "replace") if isinstance(values, bytes) else ""
        elif isinstance(value, int):
            if number == _ID:
                found.number = value
            elif number == _TYPE:
                found.kind = value
            elif number == _DURATION:
                found.duration_us = value
    return found


def _take_attribute(node: Node, message: bytes) -> None:
    name = ""
    for number, value in protobuf.fields_of(message):
        if number == 1 and isinstance(value, bytes):
            name = value.decode("utf-8", "replace")
        elif number in _WHOLE and isinstance(value, int):
            bits = _WHOLE[number]
            node.values[name] = protobuf.to_signed(value, bits) if bits else value
        elif number == _STRING and isinstance(value, bytes):
            node.words[name] = value.decode("utf-8", "replace")


def parse(
    contents: Sequence[bytes], sources: Sequence[str], groups: Mapping[str, Members] | None = None
) -> Schedule:
    """Return the schedule of all ranks' files.

    A collective becomes what a plain algorithm of it sends among the ranks of its group. The
    schedule's notes say what was left out.

    Args:
        contents: of the files, rank by rank.
        sources: what messages call them.
        groups: the ranks of process groups by name, beside those that the traces declare.

    Raises:
        WrongUseError: not such files, values that cannot be, or a group whose ranks are not known.
    """
    if not 1 <= len(contents) <= MAX_RANKS:
        raise WrongUseError(f"{sources[0]}: more than {format_count(MAX_RANKS, 'rank')}")
    reader = _Reader(len(contents), groups or {})
    for rank, (content, source) in enumerate(zip(contents, sources, strict=True)):
        try:
            reader.take(rank, content, source)
        except protobuf.MalformedError as error:
            raise WrongUseError(f"{source}: is no execution trace of Chakra: it {error}") from None
    return reader.schedule()


class _Reader:
    """The operations of the ranks so far."""

    def __init__(self, ranks: int, groups: Mapping[str, Members]) -> None:
        self.ranks = ranks
        self.groups = groups
        self.operations: list[tuple[int, int, int, int, int]] = []
        self.edges = Edges()
        # What each rank called in a group, and a number for the n-th collective of each.
        self.called: dict[tuple[str, Members], dict[int, list[tuple[str, int]]]] = {}
        self.numbers: dict[tuple[str, Members, int], int] = {}
        self.left_out: Counter[str] = Counter()

    def take(self, rank: int, content: bytes, source: str) -> None:
        """The file of a rank."""
        # Where each node of the file begins and ends: a collective is several operations.
        ends: dict[int, tuple[list[int], list[int]]] = {}
        nodes = []
        groups = Groups(
            self.ranks, rank, self.groups, _declared_groups(content, self.ranks, source)
        )
        for place, message in enumerate(protobuf.messages_of(content)):
            if not place:  # the metadata
                continue
            node = parse_node(message)
            nodes.append(node)
            if node.number in ends:
                raise WrongUseError(f"{source}: two nodes are called {node.number}")
            ends[node.number] = self._operations_of(rank, node, source, groups)
            if len(self.operations) > MAX_OPERATIONS:
                raise WrongUseError(f"{source}: more than {MAX_OPERATIONS:,} operations")
        for node in nodes:
            for need in node.needs:
                if need not in ends:
                    self.left_out["waits for a node that is not there"] += 1
                    continue
                self.edges.add(ends[need][1], ends[node.number][0], source)

    def _operations_of(
        self, rank: int, node: Node, source: str, groups: Groups
    ) -> tuple[list[int], list[int]]:
        """Return the first and the last operations of a node, made now."""
        if node.kind in (_SEND, _RECV):
            return self._message(rank, node, source)
        if node.kind == _COLL:
            if "comm_type" in node.values:
                return self._collective(rank, node, source, groups)
            # The side of the CPU, which starts a collective that has a node of its own.
            self.left_out["collective without comm_type"] += 1
            return self._add((COMPUTE, rank, ANY, 0, 0))
        nanos = node.values.get("duration_nanos", node.duration_us * _PER_US)
        if not 0 <= nanos <= _MAX_BYTES:
            raise WrongUseError(f"{source}: node {node.number} computes for {nanos} ns")
        return self._add((COMPUTE, rank, ANY, nanos, 0))

    def _message(self, rank: int, node: Node, source: str) -> tuple[list[int], list[int]]:
        is_send = node.kind == _SEND
        name = "comm_dst" if is_send else "comm_src"
        peer = node.values.get(name, ANY)
        if not 0 <= peer < self.ranks or peer == rank:
            raise WrongUseError(
                f"{source}: node {node.number} of rank {rank} has {name} {peer}, no other of "
                f"{format_count(self.ranks, 'rank')}"
            )
        tag = node.values.get("comm_tag", 0)
        if not 0 <= tag <= MAX_TAG:
            raise WrongUseError(
                f"{source}: node {node.number} has comm_tag {tag}, not between 0 and {MAX_TAG}"
            )
        size = self._size(node, source)
        return self._add((SEND if is_send else RECEIVE, rank, peer, size, tag))

    def _collective(
        self, rank: int, node: Node, source: str, groups: Groups
    ) -> tuple[list[int], list[int]]:
        number = node.values["comm_type"]
        if not 0 <= number < len(COLLECTIVES):
            raise WrongUseError(f"{source}: node {node.number} is a collective of type {number}")
        kind = COLLECTIVES[number]
        if kind != "barrier" and "comm_size" not in node.values:
            raise WrongUseError(f"{source}: node {node.number} is a collective without comm_size")
        size = self._size(node, source)
        name = node.words.get("pg_name") or node.words.get("comm_group") or ""
        place = f"{source}: node {node.number}"
        members = members_of(groups, name, node.values.get("group_size"), place)
        # The n-th collective of a group is the same one on all its ranks: it has tags of its own.
        called = self.called.setdefault((name, members), {}).setdefault(rank, [])
        key = (name, members, len(called))
        tag = -2 - self.numbers.setdefault(key, len(self.numbers)) * 2 * self.ranks
        called.append((kind, size))
        first: list[int] = []
        last: list[int] = []
        for step in collective_steps(kind, members.index(rank), len(members), size):
            made = []
            for is_send, peer, amount in step.messages:
                what = SEND if is_send else RECEIVE
                made += self._add((what, rank, members[peer], amount, tag - step.number))[0]
            self.edges.add(last, made, source)
            first = first or made
            last = made
        return (first, last) if first else self._add((COMPUTE, rank, ANY, 0, 0))

    def _size(self, node: Node, source: str) -> int:
        size = node.values.get("comm_size", 0)
        if not 0 <= size <= _MAX_BYTES:
            raise WrongUseError(f"{source}: node {node.number} exchanges {size} bytes")
        return size

    def _add(self, operation: tuple[int, int, int, int, int]) -> tuple[list[int], list[int]]:
        self.operations.append(operation)
        number = len(self.operations) - 1
        return [number], [number]

    def schedule(self) -> Schedule:
        """Return all of it.

        Raises:
            WrongUseError: ranks call different collectives, or tags are too large.
        """
        for (name, members), by_rank in self.called.items():
            expected = by_rank.get(members[0], [])
            for rank in members:
                if by_rank.get(rank, []) != expected:
                    of_group = f" of group {name!r}" if name else ""
                    raise WrongUseError(
                        f"ranks {members[0]} and {rank} of the trace call different "
                        f"collectives{of_group}, or in another sequence"
                    )
        columns = np.array(self.operations, dtype=np.int64).reshape(-1, 5).T
        # Collectives' tags come after all others, where those who read a trace know only 0 and up.
        tags = columns[4]
        tags[tags < ANY] = tags.max(initial=0) - 1 - tags[tags < ANY]
        if tags.max(initial=0) > MAX_TAG:
            raise WrongUseError(
                f"the trace's tags leave no room for those of its collectives below {MAX_TAG}"
            )
        notes = [
            f"{format_count(count, 'node')} of the trace left out or changed: {what}"
            for what, count in self.left_out.items()
        ]
        return Schedule(self.ranks, *columns, *self.edges.columns(), notes=notes)


def _declared_groups(content: bytes, ranks: int, source: str) -> Mapping[str, Members]:
    """Return the process groups that a rank's file declares."""
    if DECLARATION.encode() not in content:
        return {}
    found: dict[str, Members] = {}
    for place, message in enumerate(protobuf.messages_of(content)):
        if place and DECLARATION.encode() in message:
            node = parse_node(message)
            if DECLARATION in node.name:
                found.update(declared_groups(node.inputs, ranks, f"{source}: node {node.number}"))
    return found
