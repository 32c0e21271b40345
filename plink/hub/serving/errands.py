"""Background tasks of a service."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from plink.hub.serving.errors import ServiceError


class Errands:
    """Background tasks of one service; a `ServiceError` that ends one of them is ignored."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_over = False

    def begin(self, errand: Coroutine[Any, Any, None]) -> None:
        """Start a background task, unless the server is ending."""
        if self._is_over:
            errand.close()
            return
        task = asyncio.get_running_loop().create_task(errand)
        self._tasks.add(task)
        task.add_done_callback(self._finish)

    def stop(self) -> None:
        """Cancel all tasks and start no further ones."""
        self._is_over = True
        for task in self._tasks:
            task.cancel()

    def _finish(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, ServiceError):
            raise error
