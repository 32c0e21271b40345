"""Futures with the types that PyTorch's communication hooks in C++ take.

A future that is made in Python holds an object of Python's. DDP's builtin hook FP16_COMPRESS wants
a list of tensors, which the future of a task of TorchScript holds.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from types import FrameType
from typing import Any

import torch
from torch import Tensor
from torch.futures import Future

_SOURCE = """
def after(ended: Future[int], tensors: List[Tensor]) -> List[Tensor]:
    torch.jit._wait(ended)
    return tensors

def typed(ended: Future[int], tensors: List[Tensor]):
    return torch.jit._fork(after, ended, tensors)
"""


def holding_tensors(ended: Future[Any], tensors: Sequence[Tensor]) -> Future[Any]:
    """Return a future of CPU tensors that completes soon after another, or fails as that does.

    Its callbacks run in PyTorch's few threads for tasks, where they must not wait for collectives.
    """
    future: Future[Any] = _compile().typed(ended, list(tensors))
    return future


def is_asked_by_hook(tensors: Sequence[Tensor], asked: FrameType | None) -> bool:
    """Return whether a C++ hook asks for the future of what it compressed to 16 bits.

    Args:
        tensors: of the collective.
        asked: the frame of `get_future`. If C++ calls that, the frame above is one that does not
            mention it, or there is none.
    """
    if asked is None or any(tensor.dtype != torch.float16 for tensor in tensors):
        return False
    caller = asked.f_back
    return caller is None or asked.f_code.co_name not in caller.f_code.co_names


@functools.cache
def _compile() -> Any:
    return torch.jit.CompilationUnit(_SOURCE)
