"""Engine: collectives over TCP and shared memory, with all-reduce along the trees of a plan.

    with Engine(rank, ranks, DirectoryStore("/shared/job-17"), forest) as engine:
        engine.allreduce(gradients, op="mean").wait()

Of plink it imports the errors and the forests of plans only, of others numpy: what trains starts
fast.
"""

from plink.engine._native import Work
from plink.engine.choice import Choice
from plink.engine.engine import Engine
from plink.engine.failure import EngineError
from plink.engine.forest import Prepared
from plink.engine.membership import Members
from plink.engine.options import Options
from plink.engine.redis_store import RedisStore
from plink.engine.statistics import (
    ConnectionStatistics,
    PeerStatistics,
    Statistics,
    WorkerStatistics,
)
from plink.engine.store import C10dStore, DirectoryStore, SharedStore, Store
from plink.plans.forest import Forest
from plink.transport.tls import Tls

__all__ = [
    "C10dStore",
    "Choice",
    "ConnectionStatistics",
    "DirectoryStore",
    "Engine",
    "EngineError",
    "Forest",
    "Members",
    "Options",
    "PeerStatistics",
    "Prepared",
    "RedisStore",
    "SharedStore",
    "Statistics",
    "Store",
    "Tls",
    "Work",
    "WorkerStatistics",
]
