from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

DTYPE_BYTES: dict[str, int]

class EngineFailed(RuntimeError): ...
class MeshError(RuntimeError): ...

class DType:
    float32: DType
    float64: DType
    float16: DType
    bfloat16: DType
    int32: DType
    int64: DType

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

def agreement(forest: Forest, chunk_bytes: int, in_order: bool) -> int: ...
def deal(
    forest: Forest, items: int, item_bytes: int, chunk_bytes: int, workers: int
) -> tuple[int, list[int], list[int]]: ...
def chunk_bytes(size_bytes: int, routes: int) -> int: ...

class Mesh:
    def __init__(
        self,
        rank: int,
        ranks: int,
        workers: int,
        job: bytes,
        plan: int,
        listeners: Sequence[int],
        endpoints: Sequence[Sequence[tuple[str, int]]],
        congestion: str,
    ) -> None: ...
    def step(self, milliseconds: int) -> bool: ...
    def missing(self) -> list[int]: ...

class Work:
    @property
    def number(self) -> int: ...
    @property
    def is_over(self) -> bool: ...
    @property
    def is_done(self) -> bool: ...
    def wait(self, seconds: float) -> bool: ...

class ConnectionFigures: ...

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
        cores: Sequence[int],
    ) -> None: ...
    def post(self, buffer: Any, items: int, dtype: DType, op: Op) -> Work: ...
    def install(self, forest: Forest, at: int) -> None: ...
    @property
    def posted(self) -> int: ...
    def check(self) -> None: ...
    def close(self) -> None: ...
    def figures(self) -> list[ConnectionFigures]: ...
