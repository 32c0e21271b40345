"""Arguments of plink.torch that cannot be: each is refused by name, before anything is sent."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn

import plink.torch
from plink.base.errors import WrongUseError
from plink.torch import CSC, Control, DataParallel, DistributedOptimizer, Hub, Options, SparseSGD
from plink.training.overlap.schedule import Schedule

NET = nn.Linear(2, 2)
NAMED = list(NET.named_parameters())


@functools.cache
def sgd() -> torch.optim.SGD:
    """Return an optimiser; PyTorch imports its compiler for the first one, which takes seconds."""
    return torch.optim.SGD(NET.parameters(), lr=0.1)


def refused(call: Callable[[], object], argument: str) -> None:
    with pytest.raises(WrongUseError) as caught:
        call()
    assert argument in caught.value.args[0].replace(",", " ").split()


OF_OPTIONS: list[tuple[str, list[Any]]] = [
    ("workers", [0, 65, 2.0, "2", True]),
    ("chunk_bytes", [0, -1, "1MB", 1e6]),
    ("deterministic", ["yes", 1, None]),
    ("addresses", ["10.0.0.1", ["n1"], [1], 5, None]),
    ("port", [-1, 65_536, "7000"]),
    ("congestion_control", ["", 1]),
    ("send_buffer_bytes", [0, 1 << 30, "64KB"]),
    ("shared_memory", ["no", 0]),
    ("tls", [1, True]),
    ("in_flight", [0, 65, None, "2"]),
    ("cores", [3, ["0"], [-1], [1.5]]),
    ("spin_us", [-1.0, 2e6, float("nan"), "200"]),
    ("setup_timeout_s", [0.0, -1, float("inf"), None, "60", timedelta(seconds=60)]),
    ("silence_timeout_s", [0.0, 1e6, float("nan")]),
    ("stall_timeout_s", [0.0, "never"]),
    ("control", ["tree", {}, Control]),
]


@pytest.mark.parametrize(("name", "values"), OF_OPTIONS)
def test_options_of_a_group(name: str, values: list[Any]) -> None:
    for value in values:
        refused(lambda value=value: Options(**{name: value}), name)  # type: ignore[misc]


OF_CONTROL: list[tuple[str, list[Any]]] = [
    ("mode", ["trees", None, 1, ["tree"]]),
    ("cycle_ms", [-1, 1001, "1", None, float("nan"), True]),
    ("fusion_bytes", [-1, "64MB", 1.5, None]),
    ("stall_warning_s", [0, -1.0, float("inf"), None, "60"]),
    ("stall_error_s", [0, "60", float("nan")]),
    ("cache", [0, 1 << 21, "1024", 2.0, None]),
    ("sleep", ["globally", 4, None]),
    ("sync", ["block", None, True]),
    ("timeline", [5, ""]),
]


@pytest.mark.parametrize(("name", "values"), OF_CONTROL)
def test_control(name: str, values: list[Any]) -> None:
    for value in values:
        refused(lambda value=value: Control(**{name: value}), name)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("sparsity", [1, -0.1, "0.85", None, float("nan")]),
        ("chunk", [0, "32000", 1.5, None]),
        ("warmup_steps", [-1, "500", None]),
        ("correction", ["none", None, 1]),
    ],
)
def test_sparse_communication(name: str, values: list[Any]) -> None:
    for value in values:
        refused(lambda value=value: CSC(**{name: value}), name)  # type: ignore[misc]


HUB: dict[str, Any] = {"servers": "h:1", "namespace": "job", "secret_file": "job.key"}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("servers", ["", "h", "h:port", [], [7100], 7100, None, ["h:1", "h"]]),
        ("namespace", ["", 5, None]),
        ("secret_file", [None, 5]),
        ("workers", [0, "2", 2.0, True]),
        ("on_loss", ["die", None]),
        ("grace_s", [-1.0, "5", None]),
        ("timeout_s", [0, "60", float("inf"), None]),
        ("tls", [5, True]),
    ],
)
def test_hub(name: str, values: list[Any]) -> None:
    for value in values:
        refused(lambda value=value: Hub(**{**HUB, name: value}), name)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("optimizer", [NET, None]),
        ("mode", ["synchronous", None]),
        ("staleness", [-1, "1", None]),
        ("clip_norm", ["1", -1.0, float("nan")]),
        ("overlap", ["yes", 1]),
        ("scaler", [1.0, "amp"]),
        ("wire", ["fp16", None]),
        ("deterministic", [None, "no"]),
    ],
)
def test_optimizer_of_a_hub(name: str, values: list[Any]) -> None:
    hub = Hub(**HUB)
    for value in values:
        given = {"optimizer": sgd(), name: value}
        refused(lambda given=given: hub.optimizer(**given), name)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("model", [NAMED, None]),
        ("inner", [NET, None]),
        ("hub", ["h:1", None]),
        ("sync_every", [0, "100", 1.5, None]),
        ("outer_lr", ["0.7", -1.0, float("nan")]),
        ("outer_momentum", [None, -0.1]),
        ("fragments", [0, "2"]),
        ("overlap_steps", [-1, None]),
        ("mixing", [1.0, -0.5, "0"]),
        ("wire", ["float16", None]),
    ],
)
def test_training_that_meets_seldom(name: str, values: list[Any]) -> None:
    for value in values:
        given = {"model": NET, "inner": sgd(), "hub": Hub(**HUB), "sync_every": 100, name: value}
        refused(lambda given=given: plink.torch.DiLoCo(**given), name)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("module", [NAMED, None]),
        ("schedule", [None, 4, "lazily"]),
        ("order", ["weight"]),
    ],
)
def test_caps_of_buckets(name: str, values: list[Any]) -> None:
    for value in values:
        given = {"module": NET, "schedule": "ddp", name: value}
        refused(lambda given=given: plink.torch.bucket_caps(**given), name)  # type: ignore[misc]


def test_a_group_that_programs_make_themselves(tmp_path: Path) -> None:
    store = dist.FileStore(str(tmp_path / "store"), 1)
    given: dict[str, Any] = {"store": store, "rank": 0, "world_size": 1}
    for name, value in [
        ("store", str(tmp_path)),
        ("rank", 1),
        ("rank", "0"),
        ("world_size", 0),
        ("world_size", None),
        ("timeout", 30.0),
        ("members_change", "yes"),
    ]:
        changed = {**given, name: value}
        refused(lambda changed=changed: plink.torch.create(**changed), name)  # type: ignore[misc]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A group of plink's with this process alone, whose collectives have names."""
    store = dist.FileStore(str(tmp_path_factory.mktemp("group") / "store"), 1)
    dist.init_process_group(
        "plink", store=store, rank=0, world_size=1, pg_options=Options(control=Control())
    )
    yield
    dist.destroy_process_group()


ONES = torch.ones(3)


@pytest.mark.usefixtures("alone")
def test_collectives_by_name() -> None:
    reduce: Any = plink.torch.all_reduce
    together: Any = plink.torch.grouped_all_reduce
    for name, call in [
        ("tensor", lambda: reduce([1.0], "a")),
        ("name", lambda: reduce(ONES, "")),
        ("name", lambda: reduce(ONES, None)),
        ("name", lambda: reduce(ONES, 5)),
        ("op", lambda: reduce(ONES, "a", "sum")),
        ("op", lambda: reduce(ONES, "a", None)),
        ("group", lambda: reduce(ONES, "a", group="world")),
        ("prescale_factor", lambda: reduce(ONES, "a", prescale_factor="2")),
        ("postscale_factor", lambda: reduce(ONES, "a", postscale_factor=float("nan"))),
        ("tensors", lambda: together(ONES, "a")),
        ("tensors", lambda: together([], "a")),
        ("tensors", lambda: together(5, "a")),
        ("tensor", lambda: together([ONES, "b"], "a")),
        ("group", lambda: plink.torch.join(5)),  # type: ignore[arg-type]
    ]:
        refused(call, name)


@pytest.mark.usefixtures("alone")
def test_distributed_optimizer() -> None:
    wrap: Any = DistributedOptimizer
    for name, call in [
        ("optimizer", lambda: wrap(NET, NAMED)),
        ("named_parameters", lambda: wrap(sgd(), NET.parameters())),
        ("named_parameters", lambda: wrap(sgd(), None)),
        ("named_parameters", lambda: wrap(sgd(), NET)),
        ("named_parameters", lambda: wrap(sgd(), [("weight", torch.ones(2))])),
        ("groups", lambda: wrap(sgd(), NAMED, groups=-1)),
        ("groups", lambda: wrap(sgd(), NAMED, groups=True)),
        ("groups", lambda: wrap(sgd(), NAMED, groups=1.5)),
        ("groups", lambda: wrap(sgd(), NAMED, groups=["weight", "bias"])),
        ("backward_passes_per_step", lambda: wrap(sgd(), NAMED, backward_passes_per_step=0)),
        ("backward_passes_per_step", lambda: wrap(sgd(), NAMED, backward_passes_per_step="2")),
        ("op", lambda: wrap(sgd(), NAMED, op=dist.ReduceOp.MAX)),
        ("op", lambda: wrap(sgd(), NAMED, op="mean")),
        ("group", lambda: wrap(sgd(), NAMED, group="world")),
    ]:
        refused(call, name)


@pytest.mark.usefixtures("alone")
def test_data_parallel() -> None:
    wrap: Any = DataParallel
    for name, call in [
        ("module", lambda: wrap(NAMED)),
        ("schedule", lambda: wrap(NET, schedule=None)),
        ("schedule", lambda: wrap(NET, schedule="automatic")),
        ("schedule", lambda: wrap(NET, schedule=(1, 2))),
        ("group", lambda: wrap(NET, group="world")),
        ("find_unused_parameters", lambda: wrap(NET, find_unused_parameters="no")),
        ("broadcast_buffers", lambda: wrap(NET, broadcast_buffers=1)),
    ]:
        refused(call, name)
    for cuts in ((), (2, 1), (0,)):
        with pytest.raises(ValueError, match="cuts"):
            Schedule(cuts)


@pytest.mark.usefixtures("alone")
def test_sparse_optimizer() -> None:
    wrap: Any = SparseSGD
    for name, given in [
        ("lr", {"lr": "0.1"}),
        ("lr", {"lr": -0.1}),
        ("lr", {"lr": float("nan")}),
        ("momentum", {"momentum": 1.0}),
        ("momentum", {"momentum": None}),
        ("weight_decay", {"weight_decay": -1.0}),
        ("nesterov", {"nesterov": "yes"}),
        ("csc", {"csc": 0.85}),
        ("scaler", {"scaler": True}),
        ("group", {"group": "world"}),
    ]:
        refused(lambda given=given: wrap(nn.Linear(2, 2), **{"lr": 0.1, **given}), name)  # type: ignore[misc]
