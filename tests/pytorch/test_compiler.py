"""What keeps PyTorch's compiler out of a class, with one that is played."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from plink.torch.compiler import Uncompiled


@pytest.fixture
def disabled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the methods that the compiler was told of."""
    told: list[str] = []
    compiler = ModuleType("torch._dynamo")

    def disable(method: Callable[..., Any]) -> Callable[..., Any]:
        told.append(method.__name__)
        return method

    compiler.disable = disable  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch._dynamo", compiler)
    return told


def group_class() -> type[Any]:
    uncompiled = Uncompiled()

    class Group:
        @uncompiled
        def send(self) -> str:
            return "sent"

        @uncompiled
        def receive(self) -> str:
            return "received"

    return Group


def test_the_compiler_is_told_of_all_methods_once(disabled: list[str]) -> None:
    group = group_class()()
    assert [group.send(), group.receive(), group.send()] == ["sent", "received", "sent"]
    assert disabled == ["send", "receive"]


def test_what_a_subclass_has_instead_stays(disabled: list[str]) -> None:
    class Other(group_class()):  # type: ignore[misc]
        def send(self) -> str:
            return f"otherwise {super().send()}"

    assert Other().send() == "otherwise sent"
    assert Other().send() == "otherwise sent"
    assert Other().receive() == "received"
    assert disabled == ["send", "receive"]
