"""PyTorch with NCCL: a GPU a rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from plink.bench.clients.pytorch import PyTorchClient
from plink.bench.clients.workers import Message
from plink.deploy.remote.hosts import RemoteHost

# What NCCL calls its algorithms (NCCL_ALGO).
_NCCL_ALGO = {"ring": "Ring", "tree": "Tree"}
_HINT = "the client gloo needs no GPU"


class NcclClient(PyTorchClient):
    """NCCL's allreduce by one of its algorithms; a host's ranks take its GPUs in turn."""

    title = "NCCL"
    library = "nccl"

    def __init__(
        self, hosts: Sequence[RemoteHost], python: str | None, idle_limit_s: float, algorithm: str
    ) -> None:
        super().__init__(hosts, python, idle_limit_s)
        self._algo = _NCCL_ALGO[algorithm]

    def _parts(self) -> dict[str, str]:
        return {**super()._parts(), "nccl": "NCCL", "gpu": "GPU"}

    def _settings_of_ranks(self) -> Sequence[Message]:
        taken: Counter[str] = Counter()
        told = []
        for host in self._hosts:
            told.append({"gpu": taken[host.name], "nccl_algo": self._algo})
            taken[host.name] += 1
        return told

    def _switches(self) -> dict[str, str]:
        return {"NCCL_SOCKET_IFNAME": self._interfaces(), "NCCL_ALGO": self._algo}

    def _explain(self, reason: str) -> tuple[str, str] | None:
        if "PyTorch has no NCCL" in reason:
            said = "the remote PyTorch was built without NCCL"
            return said, f"install a build of torch with CUDA there; {_HINT}"
        if "PyTorch sees no GPU" in reason:
            return "the remote PyTorch sees no GPU", f"nvidia-smi there says why; {_HINT}"
        if "too few GPUs" in reason:
            return reason.partition(": ")[2] or reason, "--slots K takes K GPUs of every host"
        return super()._explain(reason)
