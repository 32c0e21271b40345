"""PyTorch with Gloo."""

from __future__ import annotations

from plink.bench.clients.pytorch import PyTorchClient


class GlooClient(PyTorchClient):
    """Gloo's collectives; its allreduce is always the ring in PyTorch."""

    title = "Gloo"
    library = "gloo"

    def _switches(self) -> dict[str, str]:
        return {"GLOO_SOCKET_IFNAME": self._interfaces()}
