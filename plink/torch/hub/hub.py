"""Hub: the connection of a training process to a namespace of the parameter service."""

from __future__ import annotations

import atexit
import os
import sys
import weakref
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
from torch.optim import Optimizer

from plink.base.arguments import (
    check_choice,
    check_flag,
    check_instance,
    check_integer,
    check_real,
    check_text,
)
from plink.base.errors import WrongUseError
from plink.base.text import brief
from plink.hub.manifest import Manifest
from plink.hub.service import (
    LOSS_POLICIES,
    MODES,
    MOST_GRACE_S,
    MOST_WORKERS,
    WIRES,
    ServiceOptions,
)
from plink.hub.worker import Worker, WorkerOptions
from plink.torch.hub.kinds import hyper_of, kind_of
from plink.torch.hub.layout import Layout
from plink.torch.hub.link import connect_worker
from plink.torch.hub.optimizer import HubOptimizer
from plink.transport.proofs import read_secret
from plink.transport.tls import Tls, tls_of

_LEAST_TIMEOUT_S = 1e-3


def _servers(servers: str | Sequence[str]) -> list[str]:
    """Return the listed servers, each checked to be HOST:PORT.

    Raises:
        WrongUseError: none is listed, or one is not HOST:PORT.
    """
    found = servers.split(",") if isinstance(servers, str) else servers
    check_instance("servers", found, Sequence, "a list of servers, each HOST:PORT")
    for server in found:
        host, colon, port = server.rpartition(":") if isinstance(server, str) else ("", "", "")
        if not host or not colon or not (port.isascii() and port.isdigit()):
            raise WrongUseError(
                f"servers has {brief(server)}, expected HOST:PORT", 'as in "10.0.0.9:7100"'
            )
    if not found:
        raise WrongUseError("servers is empty, expected at least one HOST:PORT")
    return list(found)


def _leave_at_exit(reference: weakref.ref[Hub]) -> None:
    hub = reference()
    # A process that was forked has no connections of its own.
    if hub is None or hub._process != os.getpid():
        return
    # Python keeps the error that ended the program there: its worker is lost, as `on_loss` says.
    if getattr(sys, "last_value", None) is None:
        hub.close()
    else:
        hub.abandon()


class Hub:
    """Namespace at a hub, the parameter service, for one worker (`docs/hub-torch.md`).

        with plink.torch.Hub("10.0.0.9:7100", "job", secret_file="job.key") as hub:
            optimizer = hub.optimizer(torch.optim.AdamW(model.parameters()), clip_norm=1.0)

    A worker that ends without leaving is lost to the service, which fails by default. So the worker
    leaves at the end of the block; a program without one leaves when it ends, unless by an error
    that nobody caught.

    Args:
        servers: "host:port" of each server, in the service's order; separated by commas, or a list.
        namespace: of the service.
        secret_file: with the secret of the namespace; with `workers` that of the servers.
        workers: how many there will be: the first creates the service, as `hub.optimizer` or
            `DiLoCo` then says. None where `plink hub create` has made it.
        on_loss: what follows when a worker is lost, for a service that is created: "fail", "wait"
            or "shrink".
        grace_s: for "wait" alone: how long for, in seconds.
        timeout_s: of each answer while it connects.
        tls: folder of this host's certificate (`plink plan --certificates`), for connections by
            TLS; None for what PLINK_TLS names, clear ones if nothing.
    """

    def __init__(
        self,
        servers: str | Sequence[str],
        namespace: str,
        *,
        secret_file: str | Path,
        workers: int | None = None,
        on_loss: str = "fail",
        grace_s: float = 0.0,
        timeout_s: float = 60.0,
        tls: str | Path | None = None,
    ) -> None:
        self.servers = _servers(servers)
        check_text("namespace", namespace)
        check_instance("secret_file", secret_file, (str, os.PathLike), "the name of a file")
        if workers is not None:
            check_integer("workers", workers, 1, MOST_WORKERS)
        check_choice("on_loss", on_loss, LOSS_POLICIES)
        check_real("grace_s", grace_s, 0.0, MOST_GRACE_S)
        check_real("timeout_s", timeout_s, _LEAST_TIMEOUT_S)
        if tls is not None:
            check_instance("tls", tls, (str, os.PathLike), "the name of a folder")
        self.namespace = namespace
        self.workers = workers
        self.on_loss = on_loss
        self.grace_s = grace_s
        files = tls_of(os.environ) if tls is None else Tls.of_folder(os.fspath(tls))
        self._options = WorkerOptions(timeout_s=timeout_s, tls=files.for_host() if files else None)
        self._secret_file = secret_file
        self._open: dict[str, Worker] = {}
        self._process = os.getpid()
        atexit.register(_leave_at_exit, weakref.ref(self))

    def __enter__(self) -> Hub:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave the hub's services; the other workers go on without this one."""
        for worker in self._open.values():
            worker.close()
        self._open.clear()

    def abandon(self) -> None:
        """Drop out of the service as if killed, to try out `on_loss`."""
        for worker in self._open.values():
            worker.abandon()
        self._open.clear()

    def leave(self, worker: Worker) -> None:
        """Leave the service of one worker that `connect` returned."""
        worker.close()
        self._open = {name: one for name, one in self._open.items() if one is not worker}

    def optimizer(
        self,
        optimizer: Optimizer,
        *,
        mode: str = "sync",
        staleness: int = 0,
        clip_norm: float | None = None,
        overlap: bool = True,
        scaler: torch.amp.GradScaler | None = None,
        wire: str = "float32",
        deterministic: bool = False,
    ) -> HubOptimizer:
        """Return an optimizer whose gradients go to the hub, which takes its steps.

        All workers start from the first worker's weights.

        Args:
            optimizer: new, of torch.optim.SGD, Adam or AdamW, with all its groups.
            mode: "sync"; "async" steps with every worker's gradients alone; "ssp" so too, and no
                worker is more than `staleness` iterations ahead.
            staleness: for "ssp" alone.
            clip_norm: the gradients' norm, after the mean over workers, is clipped to it.
            overlap: push while the backward pass goes on. Without, gradients may be changed until
                `step`.
            scaler: the `GradScaler` by which losses are scaled; a step whose gradients are not
                finite is skipped on all workers.
            wire: in what gradients travel: "float32", "bfloat16", "float16" or "int8".
            deterministic: add gradients in the order of workers' numbers: equal bits in every run.

        Raises:
            WrongUseError: the hub has no such optimizer, or options cannot go together.
            PlinkError: the hub cannot be reached.
        """
        check_instance(
            "optimizer",
            optimizer,
            Optimizer,
            "a torch.optim.Optimizer",
            "such as torch.optim.AdamW(model.parameters())",
        )
        check_choice("mode", mode, MODES)
        check_integer("staleness", staleness, 0)
        if clip_norm is not None:
            check_real("clip_norm", clip_norm, 0.0)
        check_flag("overlap", overlap)
        if scaler is not None:
            check_instance("scaler", scaler, torch.amp.GradScaler, "a torch.amp.GradScaler")
        check_choice("wire", wire, WIRES)
        check_flag("deterministic", deterministic)
        kind = kind_of(optimizer)
        hyper_of(kind, optimizer.param_groups)
        layout = Layout(optimizer.param_groups)
        is_scaled = scaler is not None and scaler.is_enabled()
        is_whole = clip_norm is not None or is_scaled or self.on_loss == "shrink"
        worker = self.connect(
            layout.manifest,
            optimizer=kind,
            mode=mode,
            staleness=staleness,
            commit="step" if is_whole else "stream",
            clip_norm=clip_norm,
            skip_nonfinite=is_scaled,
            wire=wire,
            deterministic=deterministic,
        )
        worker.initialise(layout.gathered())
        return HubOptimizer(optimizer, layout, worker, kind, overlap=overlap, scaler=scaler)

    def connect(self, manifest: Manifest, suffix: str = "", **options: Any) -> Worker:
        """Connect a worker to the namespace, or to one whose name has a suffix.

        Args:
            manifest: what it holds.
            suffix: of the namespace's name, and of the file with its secret.
            options: of `ServiceOptions`: a service that is there must have them.

        Raises:
            WrongUseError: the secret cannot be read, or the service works otherwise.
            PlinkError: the hub cannot be reached.
        """
        namespace = self.namespace + suffix
        if namespace in self._open:
            raise WrongUseError(
                f"namespace '{namespace}' has an optimizer of this hub already",
                "give each optimizer a Hub with a namespace of its own",
            )
        asked = ServiceOptions(
            namespace,
            self.workers or 1,
            on_loss=self.on_loss,
            grace_s=self.grace_s,
            **options,
        )
        worker = connect_worker(
            self.servers,
            read_secret(f"{self._secret_file}{suffix if self.workers is None else ''}"),
            asked,
            manifest,
            creates=self.workers is not None,
            options=self._options,
        )
        self._open[namespace] = worker
        return worker
