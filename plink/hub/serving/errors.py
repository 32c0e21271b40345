"""Errors with which a server refuses a request."""

from __future__ import annotations

from plink.base.errors import PlinkError


class ServiceError(PlinkError):
    """A service cannot do what a worker or a person asks for."""
