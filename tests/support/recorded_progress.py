"""A progress that keeps what the user is told."""

from __future__ import annotations


class RecordedProgress:
    """Shows nothing."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def stage(self, name: str, total: int) -> None:
        pass

    def step(self) -> None:
        pass

    def say(self, text: str) -> None:
        self.said.append(text)
