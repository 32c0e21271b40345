"""Deferred imports: modules imported at the top of a file and loaded at their first use."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class _Deferring(threading.local):
    """Per-thread state: whether the thread is in a block of `lazy_imports`."""

    is_on = False


_deferring = _Deferring()
# Of whoever replaces `sys.meta_path`.
_lock = threading.Lock()


class _DeferredModule(ModuleType):
    """Stand-in for a module, which is imported at the first access to an attribute."""

    def __getattr__(self, name: str) -> Any:
        if _deferring.is_on or name.startswith("__"):
            raise AttributeError(name)
        return getattr(_load(self.__name__), name)


def _load(name: str) -> ModuleType:
    """Import a module at once, even if an import of it is deferred in another thread."""
    if isinstance(sys.modules.get(name), _DeferredModule | None):
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            _remove_deferred(".".join(parts[:end]))
    return importlib.import_module(name)


def _remove_deferred(name: str) -> None:
    if isinstance(sys.modules.get(name), _DeferredModule):
        sys.modules.pop(name, None)


class _DeferringFinder:
    """Import finder and loader that answers its thread's imports with a `_DeferredModule`."""

    def __init__(self) -> None:
        self.modules: list[_DeferredModule] = []
        self._thread = threading.get_ident()

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        if threading.get_ident() != self._thread:
            return None
        return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        self.modules.append(_DeferredModule(spec.name))
        return self.modules[-1]

    def exec_module(self, _: ModuleType) -> None:
        pass

    def forget(self) -> None:
        """Remove the stand-ins from `sys.modules`, so that other imports load the modules."""
        for module in self.modules:
            parent, _, name = module.__name__.rpartition(".")
            if sys.modules.get(module.__name__) is module:
                del sys.modules[module.__name__]
            if vars(sys.modules.get(parent, self)).get(name) is module:
                delattr(sys.modules[parent], name)


@contextmanager
def lazy_imports() -> Iterator[None]:
    """Defer loading the modules that are imported in this block until they are used.

    `plink COMMAND --help` starts without numpy this way, with all imports at the top of the file.
    Import modules, not what is in them: `from package import module`, never `from module import
    name`; and not a package's own modules in its `__init__`, which would lose their names again.
    Imports of other threads are not deferred.
    """
    finder = _DeferringFinder()
    # Another list each time: other threads may be going through the one that is there.
    with _lock:
        sys.meta_path = [finder, *sys.meta_path]
    _deferring.is_on = True
    try:
        yield
    finally:
        _deferring.is_on = False
        with _lock:
            sys.meta_path = [other for other in sys.meta_path if other is not finder]
        finder.forget()
