"""Requests that this rank has announced and that are not released."""

from __future__ import annotations

from plink.training.control.actions import RefuseHere
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

    def announce(self, requests: tuple[Request, ...], failed: str) -> RefuseHere | None:
        """Record the requests of one call, all or none.

        Args:
            requests: all of one call.
            failed: why nothing goes on; empty where it does.

        Returns:
            Why they cannot be; None where they are.
        """
        if problem := failed or self._problem(requests):
            return RefuseHere(tuple(request.name for request in requests), problem)
        for request in requests:
            self.keep(request)
        return None

    def keep(self, request: Request) -> None:
        """Record a request that was announced, and known elsewhere until now."""
        self._requests[request.name] = request
        self._tensors.update(request.names)

    @property
    def has_joined(self) -> bool:
        """Whether this rank announces no more."""
        return self._has_joined

    @property
    def is_empty(self) -> bool:
        """Whether nothing is announced."""
        return not self._requests

    def join(self, failed: str) -> RefuseHere | None:
        """Join. Returns why this rank cannot; None if it does."""
        problem = "this rank has joined already" if self._has_joined else ""
        if problem := failed or problem:
            return RefuseHere((), problem)
        self._has_joined = True
        return None

    def begin_anew(self) -> None:
        """All have joined."""
        self._has_joined = False

    def forget(self, name: str) -> bool:
        """Forget a released or refused name; return whether this rank had announced it."""
        request = self._requests.pop(name, None)
        if request is None:
            return False
        self._tensors.difference_update(request.names)
        return True

    def _problem(self, requests: tuple[Request, ...]) -> str:
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


def _size_problem(request: Request) -> str:
    """Say why no message can hold the request; empty if one can."""
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
