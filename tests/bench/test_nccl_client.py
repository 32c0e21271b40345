"""The NCCL client: its sentences where there is no GPU, and its way on a PyTorch that plays one."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any, cast
from unittest import mock

import pytest

from bench.local_sessions import local_remote_hosts, process_of, wait_for_ends
from plink.bench.clients.client import Launch, Workload
from plink.bench.clients.nccl import NcclClient
from plink.bench.workers import torch_collectives
from plink.probes.errors import HostError

pytestmark = [
    pytest.mark.timing,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch"),
]

# PyTorch as on a machine with GPUs, which keep to the processor and exchange by Gloo.
PRETENCE = """\
import functools
import os
import torch
import torch.distributed as dist

def in_memory(make):
    return lambda *arguments, device=None, **keywords: make(*arguments, **keywords)

begin = dist.init_process_group
torch.empty, torch.arange = in_memory(torch.empty), in_memory(torch.arange)
torch.zeros = in_memory(torch.zeros)
torch.cuda.is_available = lambda: {gpus} > 0
torch.cuda.device_count = lambda: {gpus}
torch.cuda.set_device = lambda gpu: os.environ.update(GPU=str(gpu))
torch.cuda.synchronize = lambda: None
torch.cuda.get_device_name = lambda gpu: "H" + os.environ["NCCL_ALGO"]
torch.cuda.nccl.version = lambda: (2, 21, 5)
dist.is_nccl_available = lambda: True
dist.init_process_group = lambda backend, **more: begin({{"nccl": "gloo"}}[backend], **more)
"""


def pretending(folder: Path, gpus: int) -> str:
    (folder / "sitecustomize.py").write_text(PRETENCE.format(gpus=gpus))
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={folder} exec {sys.executable} "$@"\n')
    python.chmod(0o700)
    return str(python)


def refusal(gpus: int, *, has_nccl: bool = True) -> str:
    """What a rank that is to take the second GPU of a host says of itself."""
    rank = cast("Any", object.__new__(torch_collectives.NcclRank))
    rank.torch, rank.dist = mock.Mock(), mock.Mock()
    rank.torch.cuda.is_available.return_value = gpus > 0
    rank.torch.cuda.device_count.return_value = gpus
    rank.dist.is_nccl_available.return_value = has_nccl
    with pytest.raises(RuntimeError) as caught:
        rank.start({"gpu": 1})
    return f"RuntimeError: {caught.value}"


@pytest.mark.parametrize(
    ("reason", "said", "hint"),
    [
        (refusal(0), "sees no GPU", "the client gloo needs no GPU"),
        (refusal(2, has_nccl=False), "built without NCCL", "the client gloo needs no GPU"),
        (refusal(1), "PyTorch sees too few GPUs: 1", "--slots K"),
    ],
)
def test_a_host_without_a_gpu_for_each_rank_is_told_what_is_missing(
    reason: str, said: str, hint: str, tmp_path: Path
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho '{json.dumps({'event': 'failed', 'reason': reason})}'\n")
    python.chmod(0o700)
    hosts = local_remote_hosts(1)
    nccl = NcclClient(hosts, str(python), 60.0, "ring")
    try:
        with pytest.raises(HostError, match=said) as caught:
            nccl.start()
        assert hint in (caught.value.hint or "")
    finally:
        nccl.close()
        wait_for_ends(hosts)


def test_each_rank_takes_a_gpu_and_every_element_is_checked(tmp_path: Path) -> None:
    hosts = local_remote_hosts(2)
    nccl = NcclClient(hosts, pretending(tmp_path, 8), 60.0, "tree")
    try:
        record = nccl.start()
        assert record.versions["nccl"] == "2.21.5"
        assert record.versions["gpu"] == "HTree"
        assert record.settings == {"NCCL_SOCKET_IFNAME": "lo", "NCCL_ALGO": "Tree"}
        workload = Workload(4 * 100_003, warmups=1, repetitions=2, timeout_s=30.0)
        seconds = nccl.launch(Launch([1, 0], workload)).seconds
        assert len(seconds) == 2
        assert all(0.0 < value < 30.0 for value in seconds)
        process_of(hosts[1]).kill()
        with pytest.raises(HostError, match="the NCCL worker ended") as caught:
            nccl.launch(Launch([1, 0], workload))
        assert caught.value.host == "h1"
    finally:
        nccl.close()
        wait_for_ends(hosts)
