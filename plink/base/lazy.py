"""Modules that are imported at the top of a file and loaded when they are first used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class _DeferredModule(ModuleType):
    """Module that stands for another one, which it imports at the first access to it."""

    is_deferring = False

    def __getattr__(self, name: str) -> Any:
        if _DeferredModule.is_deferring or name.startswith("__"):
            raise AttributeError(name)
        return getattr(importlib.import_module(self.__name__), name)


class _DeferringFinder:
    """Finder and loader that answers every import with a `_DeferredModule`."""

    def __init__(self) -> None:
        self.modules: list[_DeferredModule] = []

    def find_spec(self, name: str, *_: object) -> ModuleSpec:
        return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        self.modules.append(_DeferredModule(spec.name))
        return self.modules[-1]

    def exec_module(self, _: ModuleType) -> None:
        pass

    def forget(self) -> None:
        """Let other imports of the same modules load them."""
        for module in self.modules:
            parent, _, name = module.__name__.rpartition(".")
            sys.modules.pop(module.__name__, None)
            if vars(sys.modules.get(parent, self)).get(name) is module:
                delattr(sys.modules[parent], name)


@contextmanager
def lazy_imports() -> Iterator[None]:
    """Defer loading the modules that are imported in this block until they are used.

    `plink COMMAND --help` starts without numpy this way, with all imports at the top of the file.
    Import modules, not what is in them: `from package import module`, never `from module import
    name`.
    """
    finder = _DeferringFinder()
    sys.meta_path.insert(0, finder)
    _DeferredModule.is_deferring = True
    try:
        yield
    finally:
        _DeferredModule.is_deferring = False
        sys.meta_path.remove(finder)
        finder.forget()
