"""The options of a service, and which of them cannot go together."""

from __future__ import annotations

import dataclasses
import math
import re
from dataclasses import dataclass, field
from typing import Any

from plink.base.errors import WrongUseError
from plink.files.fields import Fields
from plink.hub.hyper import OPTIMIZERS
from plink.hub.manifest import CHUNK_BYTES

MODES = ("sync", "async", "ssp")
COMMITS = ("stream", "step")
LOSS_POLICIES = ("fail", "wait", "shrink")
WIRES = ("float32", "bfloat16", "float16", "int8")
GRANULARITIES = ("chunk", "key")
INTERFACES = ("key", "worker")

MOST_WORKERS = 4096
MOST_STALENESS = 1 << 20
MOST_GRACE_S = 7 * 86_400.0
LEAST_CHUNK_BYTES = 1 << 10
MOST_CHUNK_BYTES = 64 << 20
CHUNK_STEP_BYTES = 64
MOST_WEIGHT = 1e6
MOST_QUOTA_BYTES = 1 << 50
MOST_CONNECTIONS = 1 << 20
_LARGEST = 1.7e308

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")

_CHOICES = {
    "optimizer": OPTIMIZERS,
    "mode": MODES,
    "commit": COMMITS,
    "on_loss": LOSS_POLICIES,
    "wire": WIRES,
    "granularity": GRANULARITIES,
    "interfaces": INTERFACES,
}


def is_namespace(name: str) -> bool:
    """Letters, digits, `_`, `.` and `-`, 64 at most, a letter or a digit first."""
    return _NAME.fullmatch(name) is not None


@dataclass(frozen=True)
class Quotas:
    """Limits of a service on a server; checked before anything is allocated.

    Args:
        bytes: of buffers.
        workers: at the same time.
        connections: of all workers, for data.

    Raises:
        WrongUseError: one of them cannot be.
    """

    bytes: int = 64 << 30
    workers: int = MOST_WORKERS
    connections: int = 1 << 16

    def __post_init__(self) -> None:
        most = {
            "bytes": MOST_QUOTA_BYTES,
            "workers": MOST_WORKERS,
            "connections": MOST_CONNECTIONS,
        }
        for name, high in most.items():
            if not 0 < getattr(self, name) <= high:
                raise WrongUseError(
                    f"a quota of {getattr(self, name)} {name}, expected 1 to {high}"
                )


@dataclass(frozen=True)
class ServiceOptions:
    """How a service works; the same for all its workers and servers.

    Args:
        namespace: its name.
        workers: how many contribute; an iteration begins with as many.
        optimizer: one of `OPTIMIZERS`.
        mode: sync: an iteration has one contribution of every worker. async: every push is stepped
            by itself. ssp: async, but nobody is more than `staleness` iterations ahead.
        staleness: in iterations, for ssp alone.
        commit: stream: a chunk is stepped as soon as it has all contributions. step: all chunks
            are aggregated first, so that their norm can decide about the step.
        on_loss: what follows when a worker is lost: all fail, all wait `grace_s` for it to come
            back, or the others go on without it.
        grace_s: for wait alone.
        deterministic: contributions are added in the order of the workers' numbers.
        chunk_bytes: of a chunk's float32 values, a multiple of 64.
        wire: the type in which gradients are pushed.
        clip_norm: the gradients' norm is not above it; None leaves it.
        skip_nonfinite: a step whose gradients hold inf or NaN changes nothing.
        granularity: chunk, or key for comparison: a whole key is sent and stepped at once.
        interfaces: key: a chunk has its port for all workers. worker, for comparison: a worker has
            its port for all chunks.
        weight: of the service when servers share out their time.
        quotas: what it takes at most.

    Raises:
        WrongUseError: one of them cannot be, or two not together.
    """

    namespace: str
    workers: int
    optimizer: str = "sgd"
    mode: str = "sync"
    staleness: int = 0
    commit: str = "stream"
    on_loss: str = "fail"
    grace_s: float = 0.0
    deterministic: bool = False
    chunk_bytes: int = CHUNK_BYTES
    wire: str = "float32"
    clip_norm: float | None = None
    skip_nonfinite: bool = False
    granularity: str = "chunk"
    interfaces: str = "key"
    weight: float = 1.0
    quotas: Quotas = field(default_factory=Quotas)

    def __post_init__(self) -> None:
        if not is_namespace(self.namespace):
            raise WrongUseError(
                f"{self.namespace[:80]!r} is no namespace",
                "letters, digits, _, . and -, 64 at most",
            )
        for name, values in _CHOICES.items():
            if getattr(self, name) not in values:
                found = getattr(self, name)
                raise WrongUseError(f"{name} is {found!r}, expected {_either(values)}")
        self._check_numbers()
        self._check_together()

    def _check_numbers(self) -> None:
        most = min(MOST_WORKERS, self.quotas.workers)
        if not 0 < self.workers <= most:
            raise WrongUseError(f"a service of {self.workers} workers, expected 1 to {most}")
        if not 0 <= self.staleness <= MOST_STALENESS:
            raise WrongUseError(
                f"staleness is {self.staleness}, expected 0 to {MOST_STALENESS} iterations"
            )
        if not 0.0 <= self.grace_s <= MOST_GRACE_S:
            raise WrongUseError(f"grace_s is {self.grace_s}, expected 0 to {MOST_GRACE_S:.0f}")
        if (
            not LEAST_CHUNK_BYTES <= self.chunk_bytes <= MOST_CHUNK_BYTES
            or self.chunk_bytes % CHUNK_STEP_BYTES
        ):
            raise WrongUseError(
                f"chunks of {self.chunk_bytes} bytes, expected a multiple of {CHUNK_STEP_BYTES} "
                f"from {LEAST_CHUNK_BYTES} to {MOST_CHUNK_BYTES}"
            )
        if self.clip_norm is not None and not 0.0 < self.clip_norm < math.inf:
            raise WrongUseError(f"clip_norm is {self.clip_norm}, expected a number above 0")
        if not 0.0 < self.weight <= MOST_WEIGHT:
            raise WrongUseError(f"weight is {self.weight}, expected above 0 to {MOST_WEIGHT:.0f}")

    def _check_together(self) -> None:
        is_sync = self.mode == "sync"
        refusals = [
            (
                self.staleness > 0 and self.mode != "ssp",
                f"staleness has no meaning in mode {self.mode}",
                "choose mode ssp",
            ),
            (
                not is_sync and self.commit == "step",
                (
                    "commit step needs the gradients of all workers, "
                    f"which mode {self.mode} does not wait for"
                ),
                "choose mode sync or commit stream",
            ),
            (
                not is_sync and self.deterministic,
                f"a fixed order of additions needs mode sync, not {self.mode}",
                None,
            ),
            (
                self.clip_norm is not None and self.commit != "step",
                "clip_norm needs the norm of all gradients before the first of them is used",
                "choose commit step",
            ),
            (
                self.skip_nonfinite and self.commit != "step",
                "skip_nonfinite must see all gradients before the first of them is used",
                "choose commit step",
            ),
            (
                self.optimizer == "none" and not is_sync,
                f"without an optimiser there is nothing that mode {self.mode} could change",
                "choose mode sync",
            ),
            (
                self.grace_s > 0.0 and self.on_loss != "wait",
                f"grace_s has no meaning with on_loss {self.on_loss}",
                "choose on_loss wait",
            ),
            (
                self.grace_s == 0.0 and self.on_loss == "wait",
                "on_loss wait needs grace_s, how long to wait",
                None,
            ),
            (
                self.on_loss == "shrink" and is_sync and self.commit != "step",
                (
                    "on_loss shrink needs chunks that are stepped together: else some would be "
                    "means with the lost worker and some without"
                ),
                "choose commit step",
            ),
        ]
        for is_wrong, message, hint in refusals:
            if is_wrong:
                raise WrongUseError(message, hint)

    def to_json(self) -> dict[str, Any]:
        """Encode the options for messages and snapshots."""
        return dataclasses.asdict(self)


def options_from_json(fields: Fields) -> ServiceOptions:
    """Parse the output of `ServiceOptions.to_json`, with all its members and no others.

    Raises:
        WrongUseError: it is not valid.
    """
    _check_names(fields, ServiceOptions)
    quotas = fields.object("quotas")
    _check_names(quotas, Quotas)
    return ServiceOptions(
        namespace=fields.text("namespace"),
        workers=fields.integer("workers", 1, MOST_WORKERS),
        staleness=fields.integer("staleness", 0, MOST_STALENESS),
        grace_s=fields.number("grace_s", 0.0, MOST_GRACE_S),
        deterministic=fields.flag("deterministic"),
        chunk_bytes=fields.integer("chunk_bytes", LEAST_CHUNK_BYTES, MOST_CHUNK_BYTES),
        clip_norm=fields.optional_number("clip_norm", 0.0, _LARGEST),
        skip_nonfinite=fields.flag("skip_nonfinite"),
        weight=fields.number("weight", 0.0, MOST_WEIGHT),
        quotas=Quotas(
            quotas.integer("bytes", 1, MOST_QUOTA_BYTES),
            quotas.integer("workers", 1, MOST_WORKERS),
            quotas.integer("connections", 1, MOST_CONNECTIONS),
        ),
        **{name: fields.text(name) for name in _CHOICES},
    )


def _check_names(fields: Fields, kind: type[ServiceOptions | Quotas]) -> None:
    names = [known.name for known in dataclasses.fields(kind)]
    for name in names:
        if name not in fields.values:
            raise fields.error(name, "an option")
    for name in fields.names():
        if name not in names:
            raise WrongUseError(f"{fields.place}: {name[:40]!r} is not known")


def _either(values: tuple[str, ...]) -> str:
    *rest, last = values
    return f"{', '.join(rest)} or {last}"
