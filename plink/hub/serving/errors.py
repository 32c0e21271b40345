"""Errors with which a server refuses a request."""

from __future__ import annotations

from plink.base.errors import PlinkError


class ServiceError(PlinkError):
    """Refusal of a service to do what a worker or an administrator asks for."""
