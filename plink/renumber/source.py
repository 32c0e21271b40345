"""Source of a job's new ranks: an order file, a cluster file, or a measurement in the job."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from plink.base.errors import WrongUseError
from plink.base.opening import open_input
from plink.base.request import option

if TYPE_CHECKING:
    import os
    from typing import TypeAlias

    from plink.formats.cluster import Cluster
    from plink.formats.order import Order
    from plink.renumber.numbering import Basis

    OrderLike: TypeAlias = str | os.PathLike[str] | Order | Cluster

PROBE = "probe"
CLUSTER_VARIABLE = "PLINK_CLUSTER"

OnFailure = Literal["launcher", "error"]

_MOST_BYTES = 1 << 30
_ORDER_HINT = "the order is `probe`, an order file, or a cluster file (or set PLINK_CLUSTER)"


@dataclass(frozen=True)
class RenumberRequest:
    """Order that the ranks of a job follow: options of `plink renumber`.

    Attributes:
        loaded: order or cluster that the caller has read, in place of `order`.
    """

    order: str | None = option(
        None,
        metavar="ORDER",
        help="Order that ranks follow: an order file, a cluster file, or probe to measure the "
        "hosts from inside the job (probe:FOLDER keeps the measurements there).  [default: the "
        "cluster file that PLINK_CLUSTER names]",
    )
    loaded: Order | Cluster | None = None
    mesh: str | None = option(
        None, metavar="SIZES", help="Search an order for a mesh, as in plink order."
    )
    algorithm: str = option(
        "ring", "--algo", metavar="NAME", help="Collective algorithm to search an order for."
    )
    on_failure: OnFailure = option(
        "launcher",
        help="Reaction if hosts cannot be measured: keep the launcher's ranks, or fail.",
    )
    timeout_s: float = option(
        300.0,
        "--within",
        low=1.0,
        high=86_400.0,
        metavar="SECONDS",
        help="Seconds to wait for all processes.",
    )

    def __post_init__(self) -> None:
        if self.on_failure not in ("launcher", "error"):
            raise WrongUseError(
                f"on_failure is {self.on_failure!r}, expected 'launcher' or 'error'"
            )

    @property
    def is_probed(self) -> bool:
        """Whether the hosts are to be measured from inside the job."""
        return (
            self.loaded is None
            and self.order is not None
            and (self.order == PROBE or self.order.startswith(f"{PROBE}:"))
        )


@dataclass(frozen=True)
class OrderSource:
    """Order, cluster or `probe` that a process was given, as it was read.

    Args:
        label: what messages call it.
        digest: equal where processes were given the same.
        path: of the file; empty where there is none.
    """

    label: str
    digest: str
    path: str = ""

    @classmethod
    def of(cls, request: RenumberRequest, environment: Mapping[str, str]) -> OrderSource:
        """Read the order that a process was given, by its request or its environment.

        Raises:
            WrongUseError: nothing was, or the file cannot be read.
        """
        if request.loaded is not None:
            from plink.formats import cluster, order, structs  # noqa: PLC0415  as `msgspec`, only here

            loaded = request.loaded
            data = (
                structs.encode(loaded)
                if isinstance(loaded, order.Order)
                else cluster.encode_cluster(loaded)
            )
            from plink.formats import document  # noqa: PLC0415

            return cls("a loaded order", document.digest(document.dump(data)))
        path = request.order or environment.get(CLUSTER_VARIABLE)
        if not path:
            raise WrongUseError("no order is given, and PLINK_CLUSTER is not set", _ORDER_HINT)
        if request.is_probed:
            return cls(PROBE, PROBE)
        try:
            with open_input(path, _MOST_BYTES) as stream:
                digest = hashlib.sha256(stream.read()).hexdigest()
        except OSError as error:
            raise WrongUseError(f"{path}: {error.strerror}", _ORDER_HINT) from None
        return cls(f"{path} ({digest[:8]})", digest, path)

    def basis(self, request: RenumberRequest) -> Basis:
        """Load what the order of hosts follows from; only the process that decides calls this.

        Raises:
            WrongUseError: the file is no order and no cluster, or does not go with the mesh.
        """
        # Only the process that decides needs the file formats.
        from plink.base.size import DEFAULT_SIZE_BYTES  # noqa: PLC0415
        from plink.formats import cluster, document, order  # noqa: PLC0415
        from plink.formats.mesh import parse_mesh  # noqa: PLC0415
        from plink.renumber.numbering import Basis  # noqa: PLC0415
        from plink.solvers.collectives.registry import ALGORITHMS  # noqa: PLC0415

        if request.is_probed:
            from plink.renumber import measuring  # noqa: F401, PLC0415

        if request.algorithm not in ALGORITHMS:
            raise WrongUseError(
                f"no algorithm is called {request.algorithm!r}",
                "plink order --list-algorithms names them",
            )
        mesh = parse_mesh(request.mesh, None, DEFAULT_SIZE_BYTES) if request.mesh else None
        loaded: object = request.loaded
        if self.path:
            found = document.read(self.path)
            loaded = (
                cluster.open_cluster(found)
                if found.format == cluster.FORMAT
                else order.decode_order(found.data, found.source)
            )
        if isinstance(loaded, order.Order):
            if mesh is not None:
                raise WrongUseError(
                    "{mesh=} and an order file exclude each other",
                    "plink order --mesh makes an order for a mesh",
                    arguments={"mesh": request.mesh},
                )
            return Basis(order=loaded)
        known = loaded if isinstance(loaded, cluster.Cluster) else None
        return Basis(cluster=known, algorithm=request.algorithm, mesh=mesh)
