"""Exclusion of a group's methods from PyTorch's compiler.

Within a compiled model C++ calls them, and the compiler would take these calls for the model's own.
It is told to leave them alone once something else has imported it, which takes seconds: DDP does so
when it is made, before anything can be compiled with it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

_COMPILER = "torch._dynamo"


class Uncompiled:
    """Decorator of methods that PyTorch's compiler never compiles."""

    def __init__(self) -> None:
        # What stands in the class, and what it calls.
        self._methods: list[tuple[Callable[..., Any], Callable[..., Any]]] = []

    def __call__(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a method; the first call of any after the compiler's import excludes all of them."""

        @functools.wraps(method)
        def call(group: Any, *args: Any, **kwargs: Any) -> Any:
            if hasattr(sys.modules.get(_COMPILER), "disable"):
                self._tell_compiler(type(group))
            return method(group, *args, **kwargs)

        self._methods.append((call, method))
        return call

    def _tell_compiler(self, kind: type) -> None:
        """Exclude all decorated methods where they are defined; a subclass's overrides stay."""
        disabled = {call: sys.modules[_COMPILER].disable(method) for call, method in self._methods}
        for owner in kind.__mro__:
            for name, call in list(vars(owner).items()):
                if isinstance(call, FunctionType) and call in disabled:
                    setattr(owner, name, disabled[call])


uncompiled = Uncompiled()
