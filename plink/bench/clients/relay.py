"""The store in which an engine's ranks meet, kept here and reached over their standard streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# What ranks set is an address or a table of them.
_MOST_BYTES = 1 << 24


class Relay:
    """Keys and values of one launch. A `get` of a key that nobody has set waits for it."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._waiting: dict[str, list[int]] = {}

    def takes(self, message: Mapping[str, Any]) -> bool:
        """Whether a worker's message is for the store."""
        return message["event"] in ("set", "get") and isinstance(message.get("key"), str)

    def handle(self, seat: int, message: Mapping[str, Any]) -> list[tuple[int, dict[str, Any]]]:
        """Take a message; the answers that are due now, and the seats that they go to."""
        key = str(message["key"])
        if message["event"] == "set":
            value = str(message.get("value"))
            if len(value) <= _MOST_BYTES:
                self._values[key] = value
        else:
            self._waiting.setdefault(key, []).append(seat)
        if key not in self._values:
            return []
        answer = {"do": "value", "key": key, "value": self._values[key]}
        return [(waiting, answer) for waiting in self._waiting.pop(key, [])]
