"""The options of a service, and which of them cannot go together."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from plink.base.errors import WrongUseError
from plink.formats.limits import Complete, Namespace, constrain_to_words
from plink.formats.structs import check_members
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


class Quotas(Complete, frozen=True, forbid_unknown_fields=True):
    """Limits of a service on a server; checked before anything is allocated.

    Attributes:
        bytes: size of its buffers on a server, in bytes
        workers: number of workers at the same time
        connections: number of connections for data, of all workers

    Raises:
        WrongUseError: one of them is outside its limits.
    """

    bytes: Annotated[int, Meta(ge=1, le=MOST_QUOTA_BYTES)] = 64 << 30
    workers: Annotated[int, Meta(ge=1, le=MOST_WORKERS)] = MOST_WORKERS
    connections: Annotated[int, Meta(ge=1, le=MOST_CONNECTIONS)] = 1 << 16

    def __post_init__(self) -> None:
        check_members(self)


class ServiceOptions(Complete, frozen=True, forbid_unknown_fields=True):
    """Options of a service, which are the same for all its workers and servers.

    Attributes:
        namespace: name of the service
        workers: number of workers that contribute; an iteration begins with as many
        optimizer: optimiser that steps the values
        mode: sync: an iteration has one contribution of every worker. async: every push is stepped
            by itself. ssp: async, but nobody is more than `staleness` iterations ahead
        staleness: iterations that ssp allows between workers
        commit: stream: a chunk is stepped as soon as it has all contributions. step: all chunks
            are aggregated first, so that their norm can decide about the step
        on_loss: what follows when a worker is lost: all fail, all wait `grace_s` for it to come
            back, or the others go on without it (shrink)
        grace_s: time for which a lost worker is waited for, in s
        deterministic: whether contributions are added in the order of the workers' numbers
        chunk_bytes: size of a chunk's float32 values, in bytes
        wire: type in which gradients are pushed
        clip_norm: largest norm of the gradients; null for any
        skip_nonfinite: whether a step whose gradients hold inf or NaN changes nothing
        granularity: chunk, or key for comparison: a whole key is sent and stepped at once
        interfaces: key: a chunk has its port for all workers. worker, for comparison: a worker has
            its port for all chunks
        weight: share of the servers' time beside those of other services
        quotas: what the service takes of a server at most

    Raises:
        WrongUseError: one of them is outside its limits, or two exclude each other.
    """

    namespace: Namespace
    workers: Annotated[int, Meta(ge=1, le=MOST_WORKERS)]
    optimizer: Annotated[str, constrain_to_words(*OPTIMIZERS)] = "sgd"
    mode: Annotated[str, constrain_to_words(*MODES)] = "sync"
    staleness: Annotated[int, Meta(ge=0, le=MOST_STALENESS)] = 0
    commit: Annotated[str, constrain_to_words(*COMMITS)] = "stream"
    on_loss: Annotated[str, constrain_to_words(*LOSS_POLICIES)] = "fail"
    grace_s: Annotated[float, Meta(ge=0, le=MOST_GRACE_S)] = 0.0
    deterministic: bool = False
    chunk_bytes: Annotated[
        int, Meta(ge=LEAST_CHUNK_BYTES, le=MOST_CHUNK_BYTES, multiple_of=CHUNK_STEP_BYTES)
    ] = CHUNK_BYTES
    wire: Annotated[str, constrain_to_words(*WIRES)] = "float32"
    clip_norm: Annotated[float, Meta(gt=0, le=_LARGEST)] | None = None
    skip_nonfinite: bool = False
    granularity: Annotated[str, constrain_to_words(*GRANULARITIES)] = "chunk"
    interfaces: Annotated[str, constrain_to_words(*INTERFACES)] = "key"
    weight: Annotated[float, Meta(gt=0, le=MOST_WEIGHT)] = 1.0
    quotas: Quotas = field(default_factory=Quotas)

    def __post_init__(self) -> None:
        check_members(self)
        if self.workers > self.quotas.workers:
            raise WrongUseError(
                f"a service of {self.workers} workers, expected 1 to {self.quotas.workers}"
            )
        self._check_together()

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
