"""Layout of the parameters that a hub holds in a worker's flat arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import Parameter

from plink.base.errors import WrongUseError
from plink.hub.manifest import Key, Manifest

Floats = npt.NDArray[np.float32]

_TYPES = {torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16"}


class Layout:
    """Parameters as the keys of a manifest, in the order of their groups.

    A parameter that several modules share is one key. What is not trained has none.

    Args:
        groups: as `param_groups` of an optimizer: "params", and "param_names" where it has them.

    Raises:
        WrongUseError: there is nothing to train, or a hub cannot hold a parameter.
    """

    def __init__(self, groups: Sequence[Mapping[str, Any]]) -> None:
        self.parameters: list[Parameter] = []
        keys: list[Key] = []
        seen: set[int] = set()
        for group, (name, parameter) in _named_parameters(groups):
            if id(parameter) in seen or not parameter.requires_grad:
                continue
            seen.add(id(parameter))
            self.parameters.append(parameter)
            keys.append(Key(name, tuple(parameter.shape) or (1,), group, _type(name, parameter)))
        if not keys:
            raise WrongUseError("there is no parameter that is trained")
        self.manifest = Manifest(tuple(keys), len(groups))
        self.names = [key.name for key in keys]
        self._offsets = [int(offset) for offset in self.manifest.offsets_items]

    def __len__(self) -> int:
        return len(self.parameters)

    def views(self, flat: Floats) -> list[Tensor]:
        """Return each parameter's part of a flat array, in its shape and sharing its memory."""
        whole = torch.from_numpy(flat)
        return [
            whole[begin:end].view(parameter.shape)
            for parameter, begin, end in zip(
                self.parameters, self._offsets, self._offsets[1:], strict=False
            )
        ]

    def gathered(self) -> Floats:
        """Return all parameters in one float32 array, (items,)."""
        flat = np.empty(self.manifest.items, np.float32)
        with torch.no_grad():
            for view, parameter in zip(self.views(flat), self.parameters, strict=True):
                view.copy_(parameter)
        return flat

    @torch.no_grad()
    def scatter(self, views: Sequence[Tensor]) -> None:
        """Copy views, one for each parameter, into the parameters."""
        for parameter, view in zip(self.parameters, views, strict=True):
            parameter.copy_(view)


def _named_parameters(
    groups: Sequence[Mapping[str, Any]],
) -> Iterator[tuple[int, tuple[str, Parameter]]]:
    for number, group in enumerate(groups):
        parameters = list(group["params"])
        names = group.get("param_names") or [f"{number}.{i}" for i in range(len(parameters))]
        for name, parameter in zip(names, parameters, strict=True):
            yield number, (name, parameter)


def _type(name: str, parameter: Parameter) -> str:
    if type(parameter.data) is not Tensor:
        raise WrongUseError(
            f"parameter '{name}' is a {type(parameter.data).__name__}, of which a hub holds none",
            "a hub takes whole parameters, not shards of them",
        )
    if parameter.dtype not in _TYPES:
        raise WrongUseError(
            f"parameter '{name}' is {str(parameter.dtype).removeprefix('torch.')}, and a hub "
            "computes in float32",
            "model.float() makes them so",
        )
    if not parameter.numel():
        raise WrongUseError(f"parameter '{name}' is empty")
    return _TYPES[parameter.dtype]
