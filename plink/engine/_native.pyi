from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

DTYPE_BYTES: dict[str, int]

class MeshError(RuntimeError): ...

class Kind:
    all_reduce: Kind
    reduce_scatter: Kind
    all_gather: Kind
    broadcast: Kind
    reduce: Kind
    gather: Kind
    scatter: Kind
    all_to_all: Kind

class DType:
    float32: DType
    float64: DType
    float16: DType
    bfloat16: DType
    int32: DType
    int64: DType
    uint8: DType

    @property
    def name(self) -> str: ...

class Op:
    sum: Op
    mean: Op
    min: Op
    max: Op
    and_: Op

class Forest:
    def __init__(
        self,
        ranks: int,
        weights: Sequence[float],
        reduce_parents: npt.NDArray[np.int32],
        broadcast_parents: npt.NDArray[np.int32],
    ) -> None: ...
    def hops(self, route: int, rank: int) -> tuple[int, int, dict[int, int]]: ...

def agreement(forest: Forest, chunk_bytes: int, in_order: bool) -> int: ...
def deal(
    forest: Forest,
    items: int,
    item_bytes: int,
    chunk_bytes: int,
    workers: int,
    weights: Sequence[float] = ...,
) -> tuple[list[int], list[int], list[int]]: ...
def chunk_bytes(size_bytes: int, routes: int) -> int: ...

class Pace:
    bytes_per_s: float
    is_followed: bool
    def __init__(self) -> None: ...

class Governor:
    def __init__(self) -> None: ...
    def follow(
        self,
        *,
        busy_us: int,
        segments: int,
        again: int,
        trip_us: int,
        least_trip_us: int,
        rate: int,
    ) -> int | None: ...

class Window:
    def __init__(
        self, pace: Pace, chunks: int, low: int, chunk_bytes: float, routes: int
    ) -> None: ...
    @property
    def end(self) -> int: ...
    def advance(self, low: int, at_s: float) -> bool: ...

class WorkerFigures:
    busy_us: int
    bytes: int
    weight: float

class Mesh:
    def __init__(
        self,
        rank: int,
        ranks: int,
        workers: int,
        job: bytes,
        plan: int,
        listeners: Sequence[int],
        local_listener: int,
        endpoints: Sequence[Sequence[tuple[str, int]]],
        congestion: str,
        memory_bytes: int,
        tls: TlsContext | None,
    ) -> None: ...
    def step(self, milliseconds: int) -> bool: ...
    def missing(self) -> list[int]: ...
    def dropped(self) -> str: ...
    def observed(self) -> str: ...

HAS_TLS: bool

class TlsContext:
    def __init__(
        self,
        certificate: str,
        key: str,
        authority: str,
        names: Sequence[int],
        records_per_key: int,
        is_record_by_record: bool,
    ) -> None: ...

class Work:
    @property
    def number(self) -> int: ...
    @property
    def peer(self) -> int | None: ...
    @property
    def posted_s(self) -> float: ...
    @property
    def begun_s(self) -> float | None: ...
    @property
    def ended_s(self) -> float | None: ...
    def done(self) -> bool: ...
    def wait(self, timeout_s: float | None = None) -> None: ...

class ConnectionFigures: ...
class Letters: ...

class Engine:
    def __init__(
        self,
        rank: int,
        ranks: int,
        mesh: Mesh,
        forest: Forest,
        names: Sequence[str],
        chunk_bytes: int,
        in_order: bool,
        silence_s: float,
        stall_s: float,
        send_buffer_bytes: int,
        spin_us: float,
        spins_carefully: bool,
        cores: Sequence[int],
        in_flight: int,
        far_congestion: str,
        distant_congestion: str,
    ) -> None: ...
    def post(
        self, buffer: Any, items: int, dtype: DType, op: Op, priority: int, layout: int
    ) -> Work: ...
    def post_lent(
        self, array: Any, dtype: DType | None, op: Op, priority: int, layout: int
    ) -> Work | None: ...
    def post_call(
        self,
        kind: Kind,
        source: Any,
        result: Any,
        dtype: DType,
        op: Op,
        root: int,
        counts: Sequence[int],
        receive_counts: Sequence[int],
        priority: int,
        layout: int,
    ) -> Work: ...
    def post_message(
        self, array: Any, peer: int, tag: int, type_code: int, is_received: bool
    ) -> Work: ...
    def post_message_at(
        self,
        owner: Any,
        address: int,
        size_bytes: int,
        peer: int,
        tag: int,
        type_code: int,
        is_received: bool,
    ) -> Work: ...
    def install(self, forest: Forest, at: int) -> None: ...
    def weigh_workers(self, weights: Sequence[float], at: int) -> None: ...
    @property
    def posted(self) -> int: ...
    def check(self) -> None: ...
    def tell(self, text: str) -> None: ...
    def hear(self, seconds: float) -> tuple[int, str | None] | None: ...
    def post_letter(self, rank: int, letter: bytes) -> None: ...
    def letters(self, seconds: float) -> list[tuple[int, bytes | None]] | None: ...
    def wake_letters(self) -> None: ...
    @property
    def letter_box(self) -> Letters: ...
    def drain(self, grace_s: float) -> None: ...
    def close(self) -> None: ...
    def figures(self) -> list[ConnectionFigures]: ...
    def worker_figures(self) -> list[WorkerFigures]: ...

HELLO_BYTES: int
ANSWER_BYTES: int

def encode_frame(collective: int, signature: int, chunk: int, is_broadcast: bool) -> bytes: ...
def decode_frame(data: bytes, /) -> tuple[int, int, int, bool]: ...

class Hello:
    def __init__(
        self,
        version: int = 2,
        *,
        channel: int,
        rank: int,
        ranks: int,
        workers: int,
        job: bytes,
        plan: int,
    ) -> None: ...
    @property
    def version(self) -> int: ...
    @property
    def channel(self) -> int: ...
    @property
    def rank(self) -> int: ...
    @property
    def ranks(self) -> int: ...
    @property
    def workers(self) -> int: ...
    @property
    def job(self) -> bytes: ...
    @property
    def plan(self) -> int: ...
    def encode(self) -> bytes: ...

def parse_hello(data: bytes, /) -> Hello | None: ...
def refusal(theirs: Hello, ours: Hello) -> str: ...
def who_goes(sources: list[str], most: int) -> list[bool]: ...
def encode_answer(reason: str, /) -> bytes: ...
def parse_answer(data: bytes, /) -> tuple[bool, int] | None: ...
def encode_message(kind: int, value: int, cause: int, text: str, /) -> bytes: ...

class MessageReader:
    def feed(self, data: bytes, /) -> list[tuple[int, int, int, bytes]]: ...

def decisive(reports: Sequence[tuple[int, tuple[int, int]]], /) -> tuple[int, int, int]: ...
