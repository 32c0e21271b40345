from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.uint32]

class LineOptions:
    def __init__(
        self,
        near: str = "",
        far: str = "",
        near_buffer_bytes: int = 0,
        certificate: str = "",
        key: str = "",
        authority: str = "",
    ) -> None: ...

def apply(
    optimizer: int,
    hyper: bytes,
    step: int,
    sums: Floats,
    values: Floats,
    state: Sequence[Floats],
    divisor: float,
    scale: float = 1.0,
    instruction_set: str = "",
) -> None: ...
def divide(sums: Floats, divisor: float, instruction_set: str = "") -> float: ...
def has_instruction_set(name: str) -> bool: ...
def narrow(wire: int, values: Floats) -> bytes: ...
def add(wire: int, into: Floats, data: bytes, is_first: bool) -> None: ...

class LaneOptions:
    tenant: int
    lane: int
    workers: int
    groups: int
    optimizer: int
    mode: int
    wire: int
    staleness: int
    is_by_step: bool
    is_in_order: bool
    skips_nonfinite: bool
    clip: float
    racks: int
    rack: int

    def __init__(self) -> None: ...

class LaneFigures:
    iteration: int
    steps: int
    skipped: int
    replays: int
    early_bytes: int
    most_early_bytes: int
    bytes_in: int
    bytes_out: int
    queued_bytes: int

class LinkFigures:
    lane: int
    worker: int
    bytes_in: int
    bytes_out: int

LOST: int
FAULT: int
FILLED: int
MISSED: int
PEER_LOST: int
COPIED: int

class Event:
    what: int
    tenant: int
    lane: int
    worker: int
    incarnation: int
    text: str
    iteration: int

class Events:
    def __init__(self) -> None: ...
    def fd(self) -> int: ...
    def take(self) -> list[Event]: ...

class Loop:
    def __init__(self, events: Events, core: int) -> None: ...
    def open(
        self, options: LaneOptions, ids: Numbers, items: Numbers, groups: Numbers, weight: float
    ) -> None: ...
    def adopt(
        self,
        tenant: int,
        lane: int,
        worker: int,
        incarnation: int,
        fd: int,
        line: LineOptions,
    ) -> None: ...
    def adopt_peer(
        self, tenant: int, lane: int, rack: int, fd: int, line: LineOptions, is_caller: bool
    ) -> None: ...
    def fail(self, tenant: int, why: str) -> None: ...
    def retire(self, tenant: int, worker: int, why: str) -> None: ...
    def admit(self, tenant: int, worker: int, since: int) -> bool: ...
    def drop(self, tenant: int, worker: int, since: int, revision: int) -> None: ...
    def gather(self, tenant: int) -> None: ...
    def pass_over(self, tenant: int, iteration: int) -> bool: ...
    def has_all_of(self, tenant: int, worker: int, iteration: int) -> bool: ...
    def cut(self, tenant: int, worker: int) -> None: ...
    def copy_at(self, tenant: int, iteration: int) -> bool: ...
    def copy_now(
        self, tenant: int, lane: int, iteration: int
    ) -> tuple[int, int, bytes, list[Floats]] | None: ...
    def take_copy(self, tenant: int, lane: int) -> tuple[int, int, bytes, list[Floats]]: ...
    def load(
        self, tenant: int, lane: int, iteration: int, steps: int, arrays: Sequence[Floats]
    ) -> None: ...
    def close(self, tenant: int) -> None: ...
    def figures(self, tenant: int, lane: int) -> LaneFigures: ...
    def links(self, tenant: int) -> list[LinkFigures]: ...
    def stop(self) -> None: ...

class StepResult:
    iteration: int
    squares: float
    is_skipped: bool
    workers: int

class ClientLinkFigures:
    link: int
    bytes_in: int
    bytes_out: int

class Client:
    def __init__(
        self,
        items: Numbers,
        links: Numbers,
        gradients: Floats,
        values: Floats,
        wire: int,
        incarnation: int,
        is_by_step: bool,
        iteration: int,
        fds: Sequence[int],
        servers: Sequence[str],
        line: LineOptions,
    ) -> None: ...
    def initialise(self, is_source: bool) -> None: ...
    def begin(self, hypers: bytes) -> int: ...
    def push(self, first: int, end: int) -> None: ...
    def wait(self, seconds: float) -> StepResult | None: ...
    def last_contribution(self) -> int: ...
    def is_lost(self) -> bool: ...
    def resume(
        self, incarnation: int, fds: Sequence[int], servers: Sequence[str], line: LineOptions
    ) -> None: ...
    def figures(self) -> list[ClientLinkFigures]: ...
    def close(self) -> None: ...
