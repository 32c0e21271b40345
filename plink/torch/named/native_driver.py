"""Native negotiation machine of a rank, run by native threads without Python."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from plink.base.errors import PlinkError
from plink.engine import Engine
from plink.training.control import _native
from plink.training.control.actions import Action, Warn
from plink.training.control.events import Event, Lost

_LOG = logging.getLogger("plink.torch.named")
# Nothing has to be looked at so seldom.
_LONGEST_SLEEP_S = 3600.0


class NativeDriver:
    """Native thread that runs a machine until `close`; a Python thread does its actions.

    Args:
        machine: of this rank; used by nobody else.
        engine: whose letters the machine takes and posts.
        do: what the machine wants beyond messages, sleep and warnings; called in Python's thread.
    """

    def __init__(
        self, machine: _native.Machine, engine: Engine, do: Callable[[Action], None]
    ) -> None:
        self._engine = engine
        self._do = do
        self._native = _native.Driver(machine, engine.letter_box)
        # A daemon: a process that fails must not wait for the network at its end.
        self._thread = threading.Thread(target=self._run, name="plink-control", daemon=True)
        self._thread.start()

    def tell(self, event: Event) -> None:
        """Pass an event of this rank to the machine."""
        self._native.tell(event)

    def close(self, text: str) -> None:
        """End the threads; pending collectives fail with `text`."""
        self._native.close(text)
        if self._thread is not threading.current_thread():
            self._thread.join()

    @property
    def busy_s(self) -> float:
        """Processor time that the machine has taken, in s."""
        return self._native.busy_s

    def _run(self) -> None:
        has_ended = False
        while not has_ended:
            actions, is_cut_off, has_ended = self._native.next(_LONGEST_SLEEP_S)
            for action in actions:
                if isinstance(action, Warn):
                    _LOG.warning("%s", action.text)
                else:
                    self._do(action)
            if is_cut_off:
                self._native.tell(Lost(self._reason()))

    def _reason(self) -> str:
        try:
            self._engine.check()
        except PlinkError as error:
            return str(error)
        return "the engine is closed"
