"""Errors with which a server refuses a request."""

from __future__ import annotations

from plink.base.errors import PlinkError
from plink.hub.session.messages import Failure


class ServiceError(PlinkError):
    """Refusal of a service to do what a worker or an administrator asks for."""


class PastIterationError(ServiceError):
    """Refusal because the iteration asked for is past; a later one may do."""


def build_failure(error: PlinkError) -> Failure:
    """Return the message that tells the other end of an error."""
    return Failure(str(error), error.hint, isinstance(error, PastIterationError))
