"""The NCCL client: its sentences where there is no GPU, and its way on a PyTorch that plays one."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from bench.local_sessions import local_remote_hosts, wait_for_ends
from plink.bench.clients.client import Launch, Workload
from plink.bench.clients.nccl import NcclClient
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


def test_a_host_without_a_gpu_is_named_with_what_is_missing() -> None:
    hosts = local_remote_hosts(2)
    nccl = NcclClient(hosts, sys.executable, 60.0, "ring")
    try:
        with pytest.raises(HostError, match=r"sees no GPU|built without NCCL") as caught:
            nccl.start()
        assert "the client gloo needs no GPU" in (caught.value.hint or "")
    finally:
        nccl.close()
        wait_for_ends(hosts)


def test_more_ranks_than_gpus_are_refused(tmp_path: Path) -> None:
    hosts = local_remote_hosts(1) * 2
    nccl = NcclClient(hosts, pretending(tmp_path, 1), 60.0, "ring")
    try:
        with pytest.raises(HostError, match="PyTorch sees too few GPUs: 1"):
            nccl.start()
    finally:
        nccl.close()
        wait_for_ends(hosts[:1])


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
    finally:
        nccl.close()
        wait_for_ends(hosts)
