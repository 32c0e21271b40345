"""Errors that the library raises in place of those of `probes`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from plink.base.errors import PlinkError
from plink.base.lazy import lazy_imports
from plink.measure.errors import to_plink_error
from plink.probes.errors import ProbesError

with lazy_imports():
    from plink.measure.probing import request as probing_request

if TYPE_CHECKING:
    from plink.verbs.cluster import MeasuredCluster


_NAMED = 3


class ProbeInterrupted(KeyboardInterrupt):
    """Error that the user stopped a probe; `cluster` holds the measurements so far."""

    def __init__(self, cluster: MeasuredCluster) -> None:
        super().__init__("interrupted; the exception's cluster has what was measured")
        self.cluster = cluster


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise errors of `probes` as plink's own, naming hosts that were not reached."""
    try:
        yield
    except probing_request.TooFewReachedError as error:
        reasons = "; ".join(f"{failure.host}: {failure}" for failure in error.failures[:_NAMED])
        raise PlinkError(f"{error}: {reasons}" if reasons else str(error), error.hint) from None
    except ProbesError as error:
        raise to_plink_error(error) from None
