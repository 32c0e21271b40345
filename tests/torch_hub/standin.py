"""A service within this process, for threads: what a worker of plink.hub.worker does, by torch."""

from __future__ import annotations

import sys
import threading
import types
from dataclasses import dataclass

import numpy as np
import torch


@dataclass(frozen=True)
class Step:
    iteration: int
    norm: float
    skipped: bool
    workers: int


class Worker:
    def __init__(self, service, number):
        self.service, self.number = service, number
        n = service.manifest.items
        self.gradients = np.zeros(n, np.float32)
        self.values = np.zeros(n, np.float32)
        self.iteration = service.iteration
        self.sent = 0

    @property
    def workers(self):
        return len(self.service.members)

    def initialise(self, values):
        self.service.initialise(values)
        self.values[:] = self.service.values

    def begin(self, hyper):
        self.hyper = list(hyper)
        self.ready = set()
        return self.iteration

    def push(self, first, last):
        keys = set(range(first, last))
        assert not keys & self.ready
        self.ready |= keys

    def wait(self, timeout_s=None):
        assert len(self.ready) == len(self.service.manifest.keys)
        step = self.service.contribute(self)
        self.iteration += 1
        return step

    def state(self):
        return self.service.state()

    def load_state(self, steps, arrays):
        self.service.load_state(steps, arrays)

    def close(self):
        self.service.leave(self)


class Service:
    def __init__(self, asked, manifest):
        self.options, self.manifest = asked, manifest
        self.members, self.given = {}, {}
        self.values = None
        self.iteration = 0
        self.lock = threading.Condition()
        self.opt = None
        self.hyper = None
        self.loaded = None

    def join(self):
        with self.lock:
            worker = Worker(self, len(self.members))
            self.members[worker.number] = worker
            return worker

    def leave(self, worker):
        with self.lock:
            self.members.pop(worker.number, None)
            self._maybe()

    def initialise(self, values):
        with self.lock:
            if self.values is None:
                self.values = values.copy()
                flat = torch.from_numpy(self.values)
                bounds = []
                offsets = self.manifest.offsets_items
                self.parts = []
                for g in range(self.manifest.groups):
                    idx = [i for i, k in enumerate(self.manifest.keys) if k.group == g]
                    self.parts.append(
                        flat[offsets[idx[0]] : offsets[idx[-1] + 1]] if idx else flat[:0]
                    )
                kinds = {
                    "sgd": torch.optim.SGD,
                    "momentum": torch.optim.SGD,
                    "adam": torch.optim.Adam,
                    "adamw": torch.optim.AdamW,
                }
                groups = [{"params": [p]} for p in self.parts]
                self.opt = kinds[self.options.optimizer](groups, lr=0.1)

    def contribute(self, worker):
        with self.lock:
            now = self.iteration
            self.given[worker.number] = (worker.gradients.copy(), worker.hyper)
            self._maybe()
            while self.iteration == now:
                self.lock.wait(20)
            worker.values[:] = self.values
            return self.last

    def _maybe(self):
        from plink.hub.hyper import to_torch

        if not self.given or len(self.given) < max(len(self.members), self.options.workers):
            return
        n = len(self.given)
        hypers = [h for _, h in self.given.values()]
        assert all(h == hypers[0] for h in hypers)
        total = sum(g for g, _ in self.given.values()) / np.float32(n)
        norm = float(np.linalg.norm(total.astype(np.float64)))
        skipped = self.options.skip_nonfinite and not np.isfinite(norm)
        if self.options.clip_norm and norm > self.options.clip_norm:
            total *= np.float32(self.options.clip_norm / (norm + 1e-6))
        if not skipped:
            whole = torch.from_numpy(total.astype(np.float32))
            base = self.parts[0].data_ptr()
            start = 0
            for group, part, hyper in zip(self.opt.param_groups, self.parts, hypers[0]):
                part.grad = whole[start : start + part.numel()]
                start += part.numel()
                group.update(to_torch(self.options.optimizer, hyper))
            self.opt.step()
        self.last = Step(self.iteration, norm, skipped, n)
        self.given = {}
        self.iteration += 1
        self.lock.notify_all()

    def state(self):
        from plink.hub.hyper import STATES

        steps, arrays = 0, {}
        for name in STATES[self.options.optimizer]:
            arrays[name] = np.concatenate(
                [
                    self.opt.state[p].get(name, torch.zeros_like(p)).numpy()
                    if p in self.opt.state
                    else np.zeros(p.numel(), np.float32)
                    for p in self.parts
                ]
            )
        for p in self.parts:
            if p in self.opt.state:
                steps = int(self.opt.state[p].get("step", self.iteration))
        return steps, arrays

    def load_state(self, steps, arrays):
        with self.lock:
            start = 0
            for p in self.parts:
                own = {
                    n: torch.from_numpy(a[start : start + p.numel()].copy())
                    for n, a in arrays.items()
                }
                if self.options.optimizer.startswith("adam"):
                    own["step"] = torch.tensor(float(steps))
                if steps:
                    self.opt.state[p] = own
                start += p.numel()


SERVICES = {}
LOCK = threading.Lock()


def connected(servers, secret, asked, manifest, *, creates, timeout_s):
    with LOCK:
        service = SERVICES.setdefault((tuple(servers), asked.namespace), None) or Service(
            asked, manifest
        )
        SERVICES[tuple(servers), asked.namespace] = service
        assert service.manifest.digest == manifest.digest
        return service.join()


def install():
    try:
        import plink.hub.worker  # noqa
    except ImportError:
        module = types.ModuleType("plink.hub.worker")
        module.Worker, module.Step = Worker, Step
        sys.modules["plink.hub.worker"] = module
