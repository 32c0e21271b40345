"""Training with an exchange at a hub every so many steps (Douillard et al. 2023, 2025)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any

import torch
from torch import nn
from torch.nn import Parameter
from torch.optim import Optimizer

from plink.base.arguments import check_choice, check_instance, check_integer, check_real
from plink.base.errors import WrongUseError
from plink.hub.calling import HubError
from plink.hub.hyper import Hyper
from plink.hub.worker import Step, Worker
from plink.torch.hub.exchange import Exchange
from plink.torch.hub.fragments import Schedule, deal_layers
from plink.torch.hub.hub import Hub
from plink.torch.hub.layout import Layout
from plink.torch.hub.link import steps_taken

# To join all fragments between two exchanges.
_TRIES = 10
_WIRES = ("float32", "bfloat16", "int8")


class DiLoCo:
    """Local training of a worker, which exchanges its changes at a hub every so many steps.

        diloco = plink.torch.DiLoCo(model, inner, hub=hub, sync_every=100)
        while diloco.rounds < 500:
            inner.zero_grad()
            loss(model(inputs), targets).backward()
            inner.step()

    After `sync_every` steps of `inner` a worker pushes the weights that it began with less those
    that it has now. The hub takes their mean over workers as a gradient, makes a step of SGD with
    Nesterov's momentum (the outer step), and all workers go on from its weights. State of `inner`
    and buffers stay each worker's own. A worker that is lost costs its steps since the last
    exchange; one that joins begins with the hub's weights. An exchange in which some worker's
    weights are not finite changes nothing at the hub, whose weights all workers then take.

    Args:
        model: whose trained parameters are exchanged; all workers leave with the first one's.
        inner: steps them.
        hub: where; with fragments, namespaces beside its own are used: NAME.f1, NAME.f2 and so on,
            whose secrets are in files beside its own, with the same endings.
        sync_every: H, local steps between two exchanges of a parameter.
        outer_lr: of the outer step.
        outer_momentum: of the outer step.
        fragments: P: layers are dealt to so many parts, which are exchanged in turn, H / P steps
            apart, so that the greatest rate falls to 1/P.
        overlap_steps: tau: what comes back is taken in so many steps after it was sent, and
            training goes on meanwhile.
        mixing: alpha: what comes back becomes alpha times the worker's own weights and 1 - alpha
            times the hub's. 0 takes the hub's, which with tau > 0 drops tau steps' work.
        wire: in what changes travel to the hub: "float32", "bfloat16", or "int8" with a scale a
            chunk.

    Raises:
        WrongUseError: an option cannot be, or the hub's service is another.
        PlinkError: the hub cannot be reached.
    """

    def __init__(
        self,
        model: nn.Module,
        inner: Optimizer,
        *,
        hub: Hub,
        sync_every: int,
        outer_lr: float = 0.7,
        outer_momentum: float = 0.9,
        fragments: int = 1,
        overlap_steps: int = 0,
        mixing: float = 0.0,
        wire: str = "float32",
    ) -> None:
        check_instance("model", model, nn.Module, "a torch.nn.Module")
        check_instance("inner", inner, Optimizer, "a torch.optim.Optimizer")
        check_instance("hub", hub, Hub, "a plink.torch.Hub")
        check_integer("sync_every", sync_every, 1)
        check_integer("fragments", fragments, 1)
        check_integer("overlap_steps", overlap_steps, 0)
        check_real("outer_lr", outer_lr, 0.0)
        check_real("outer_momentum", outer_momentum, 0.0)
        check_real("mixing", mixing, 0.0)
        check_choice("wire", wire, _WIRES)
        if mixing >= 1.0:
            raise WrongUseError(f"mixing is {mixing}, expected from 0 to less than 1")
        self.schedule = Schedule(sync_every, fragments, overlap_steps)
        hyper = Hyper(lr=outer_lr, momentum=outer_momentum, nesterov=outer_momentum > 0.0)
        self._mixing = mixing
        parts = [
            Layout([{"params": list(named.values()), "param_names": list(named)}])
            for named in _parts(model, fragments)
        ]
        options = {
            "optimizer": "momentum" if outer_momentum else "sgd",
            "commit": "step",
            "skip_nonfinite": True,
            "wire": wire,
        }
        workers = self._join(hub, parts, options)
        self._exchanges = [
            Exchange(worker, layout, hyper) for worker, layout in zip(workers, parts, strict=True)
        ]
        self._step = self.schedule.begin([one.iteration for one in self._exchanges])
        self._last: Step | None = None
        self._hook = inner.register_step_post_hook(self._after_step)

    @property
    def rounds(self) -> int:
        """Number of outer steps that every fragment has had, also before this worker joined."""
        return min(one.iteration for one in self._exchanges)

    @property
    def step(self) -> int:
        """Number of local steps so far, counted from the beginning of the training.

        A worker that joins begins where the others exchanged last.
        """
        return self._step

    @property
    def last_exchange(self) -> Step | None:
        """Hub's answer to the last exchange that was applied; None before the first."""
        return self._last

    def __enter__(self) -> DiLoCo:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop exchanging; what was sent still counts at the hub, and no result is applied here."""
        self._hook.remove()

    @contextlib.contextmanager
    def global_weights(self) -> Iterator[None]:
        """Give the model the hub's weights, as of each fragment's last exchange, in the context.

        Afterwards it has the worker's own again.
        """
        own = [[one.clone() for one in exchange.parameters] for exchange in self._exchanges]
        for exchange in self._exchanges:
            exchange.show()
        try:
            yield
        finally:
            with torch.no_grad():
                for exchange, kept in zip(self._exchanges, own, strict=True):
                    for parameter, value in zip(exchange.parameters, kept, strict=True):
                        parameter.copy_(value)

    def _join(self, hub: Hub, parts: Sequence[Layout], options: dict[str, Any]) -> list[Worker]:
        """Join the service of every fragment, at rounds that go together; return the workers."""
        for _ in range(_TRIES):
            # All before the first waits for values: the others go on only as far as without them.
            workers = [
                hub.connect(layout.manifest, f".f{number}" if number else "", **options)
                for number, layout in enumerate(parts)
            ]
            rounds = [steps_taken(worker, is_under_way=False) for worker in workers]
            if self.schedule.is_possible(rounds):
                return workers
            for worker in workers:
                hub.leave(worker)
        raise HubError(
            f"the fragments of '{hub.namespace}' are exchanged too quickly to join them",
            "a larger sync_every, or fewer fragments, leave more time",
        )

    def _after_step(self, _inner: Optimizer, _args: Any, _kwargs: Any) -> None:
        self._step += 1
        taken, sent = self.schedule.taken(self._step), self.schedule.sent(self._step)
        if self.schedule.overlap_steps:
            self._take(taken)
            self._send(sent)
        else:
            self._send(sent)
            self._take(sent)

    def _send(self, number: int | None) -> None:
        if number is None:
            return
        round_, fragment = divmod(number, self.schedule.fragments)
        # A worker that joins may contribute to some fragments only from the next round on.
        if round_ >= self._exchanges[fragment].iteration:
            self._exchanges[fragment].send()

    def _take(self, number: int | None) -> None:
        if number is None:
            return
        exchange = self._exchanges[number % self.schedule.fragments]
        if exchange.is_under_way:
            self._last = exchange.take(self._mixing)


def _parts(model: nn.Module, fragments: int) -> list[dict[str, Parameter]]:
    """Return the trained parameters of each fragment by name; those of one module go together."""
    layers: list[dict[str, Parameter]] = []
    seen: set[int] = set()
    for place, module in model.named_modules():
        own: dict[str, Parameter] = {}
        for name, parameter in module.named_parameters(place, recurse=False):
            if parameter.requires_grad and id(parameter) not in seen:
                seen.add(id(parameter))
                own[name] = parameter
        if own:
            layers.append(own)
    if not layers:
        raise WrongUseError("the model has no parameter that is trained")
    sizes = [sum(one.numel() for one in own.values()) for own in layers]
    return [
        {name: one for layer in part for name, one in layers[layer].items()}
        for part in deal_layers(sizes, fragments)
    ]
