"""The way by pinned memory, walked on the CPU, and on a GPU where there is one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from plink.torch.staging import AcceleratorStage
from pytorch import staging_checks as checks
from pytorch.processes import results
from pytorch.staging_checks import RemoteTensor, Runtime, Stream

pytestmark = pytest.mark.timing


def test_an_accelerators_tensor_goes_to_the_host_and_back() -> None:
    runtime = Runtime()
    tensors = [torch.ones(2, 3).as_subclass(RemoteTensor), torch.full((4,), 2.0)]
    tensors[1] = tensors[1].as_subclass(RemoteTensor)
    stage = AcceleratorStage(tensors, runtime, Stream(runtime.said), pinned=False)
    assert not stage.is_ready
    stage.ready()
    assert stage.host.tolist() == [1.0] * 6 + [2.0] * 4
    stage.host.mul_(10)
    assert tensors[0].tolist() == [[1.0] * 3] * 2
    stage.finish()
    stage.join()
    assert tensors[0].tolist() == [[10.0] * 3] * 2
    assert tensors[1].tolist() == [20.0] * 4
    assert [word for word in runtime.said if word != "recorded"] == [
        "copies wait for caller",
        "copy {",
        "event",
        "}",
        "host waits",
        "copy {",
        "event",
        "}",
        "caller's stream waits",
    ]
    assert runtime.said.count("recorded") == 3


def test_collectives_keep_their_order_whatever_way_they_go(tmp_path: Path) -> None:
    assert results(checks.staged, 2, tmp_path) == [[2.0 * i + 1.0 for i in range(30)]] * 2


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_a_gpus_tensor(tmp_path: Path) -> None:
    assert results(checks.on_gpu, 2, tmp_path) == [[3.0, 3.0]] * 2
