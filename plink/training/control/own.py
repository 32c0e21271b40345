"""What this rank itself has announced and not got."""

from __future__ import annotations

from plink.training.control.requests import (
    MOST_DIMENSIONS,
    MOST_NAME_BYTES,
    MOST_TENSOR_BYTES,
    MOST_TENSORS,
    Request,
)


class Own:
    """The requests of one rank."""

    def __init__(self) -> None:
        self._requests: dict[str, Request] = {}
        self._tensors: set[str] = set()
        self._has_joined = False

    def problem(self, requests: tuple[Request, ...]) -> str:
        """Why these cannot be announced, for people; empty where they can."""
        if self._has_joined and requests:
            return f"'{requests[0].name}' is announced after this rank has joined"
        taken: set[str] = set()
        for request in requests:
            if problem := _size_problem(request):
                return problem
            if len(request.names) != len(set(request.names)):
                return f"the group '{request.name}' has a tensor twice"
            names = {request.name, *request.names}
            for name in sorted(names):
                if name in self._requests or name in self._tensors or name in taken:
                    return f"'{name}' is pending already"
            taken |= names
        return ""

    def add(self, requests: tuple[Request, ...]) -> None:
        """They are announced."""
        for request in requests:
            self._requests[request.name] = request
            self._tensors.update(request.names)

    def forget(self, name: str) -> bool:
        """It is released or refused. Returns whether this rank had announced it."""
        request = self._requests.pop(name, None)
        if request is None:
            return False
        self._tensors.difference_update(request.names)
        return True

    def join(self) -> str:
        """This rank announces no more. Returns why it cannot join; empty where it does."""
        if self._has_joined:
            return "this rank has joined already"
        self._has_joined = True
        return ""

    def begin_anew(self) -> None:
        """All have joined."""
        self._has_joined = False


def _size_problem(request: Request) -> str:
    """What no message holds, for people; empty where one does."""
    for name in (request.name, *request.members):
        if len(name.encode()) > MOST_NAME_BYTES:
            return f"the name '{name[:80]}...' has more than {MOST_NAME_BYTES} bytes"
    if len(request.tensors) > MOST_TENSORS:
        return f"the group '{request.name}' has more than {MOST_TENSORS} tensors"
    for tensor in request.tensors:
        if len(tensor.shape) > MOST_DIMENSIONS:
            return f"'{request.name}' has a tensor of more than {MOST_DIMENSIONS} dimensions"
        if tensor.size_bytes > MOST_TENSOR_BYTES:
            return f"'{request.name}' has a tensor of more bytes than can be"
    return ""
