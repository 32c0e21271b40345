"""Schemas of a snapshot's header (`plink.hub.snapshot_file`) and of the output of `plink hub`."""

from __future__ import annotations

from plink.hub.hyper import OPTIMIZERS, STATES
from plink.hub.manifest import MOST_DIMENSIONS, MOST_GROUPS, MOST_ITEMS, MOST_KEYS, TYPES
from plink.hub.placement import MOST_SERVERS
from plink.hub.service import (
    COMMITS,
    GRANULARITIES,
    INTERFACES,
    LEAST_CHUNK_BYTES,
    LOSS_POLICIES,
    MODES,
    MOST_CHUNK_BYTES,
    MOST_CONNECTIONS,
    MOST_GRACE_S,
    MOST_QUOTA_BYTES,
    MOST_STALENESS,
    MOST_WEIGHT,
    MOST_WORKERS,
    WIRES,
)
from plink.hub.snapshot import VALUES
from plink.hub.snapshot_file import FORMAT, MOST_ITERATION, MOST_PIECES, VERSION
from plink.schemas import parts
from plink.schemas.parts import Schema, closed_object, list_of, or_null

_NAMESPACE = "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
_SHA256 = "^[0-9a-f]{64}$"


def snapshot_file() -> Schema:
    """Return the schema of the header of one part of a snapshot."""
    what = "What one server of a service held: the header of a file of `plink hub checkpoint`"
    arrays = sorted({VALUES, *(name for names in STATES.values() for name in names)})
    required = {
        **parts.head(FORMAT, VERSION),
        "service": service(),
        "manifest": manifest(),
        "server": parts.whole("which server held it, from 0", 0, MOST_SERVERS - 1),
        "servers": parts.whole("of the service", 1, MOST_SERVERS),
        "iteration": parts.whole("how many were completed", 0, MOST_ITERATION),
        "groups": list_of("hyperparameters of the last step by group, or none", hyper()),
        "arrays": list_of(
            "names of the arrays that follow the header, in their order",
            {"enum": arrays},
            minItems=1,
        ),
        "pieces": _pieces(),
        "data_sha256": {**parts.text("SHA-256 of the arrays"), "pattern": _SHA256},
    }
    return parts.document("plink.snapshot", what, closed_object(what, required))


def service() -> Schema:
    """Return the schema of a service's options, as `ServiceOptions.to_json` encodes them."""
    quotas = {
        "bytes": parts.whole("of buffers on a server, in bytes", 1, MOST_QUOTA_BYTES),
        "workers": parts.whole("at the same time", 1, MOST_WORKERS),
        "connections": parts.whole("for data, of all workers", 1, MOST_CONNECTIONS),
    }
    required = {
        "namespace": {**parts.text("the service's name"), "pattern": _NAMESPACE},
        "workers": parts.whole("how many it was made for", 1, MOST_WORKERS),
        "optimizer": parts.one_of("what steps the values", OPTIMIZERS),
        "mode": parts.one_of("whether workers wait for each other", MODES),
        "staleness": parts.whole("iterations that ssp allows between workers", 0, MOST_STALENESS),
        "commit": parts.one_of("whether chunks are stepped one by one or together", COMMITS),
        "on_loss": parts.one_of("what follows when a worker is lost", LOSS_POLICIES),
        "grace_s": parts.number("how long a lost worker is waited for, in s", 0.0, MOST_GRACE_S),
        "deterministic": parts.flag("contributions are added in the order of workers"),
        "chunk_bytes": parts.whole(
            "of a chunk's values, in bytes", LEAST_CHUNK_BYTES, MOST_CHUNK_BYTES
        ),
        "wire": parts.one_of("the type in which gradients are pushed", WIRES),
        "clip_norm": or_null(parts.number("the most that the gradients' norm may be")),
        "skip_nonfinite": parts.flag("steps with infinities or NaN change nothing"),
        "granularity": parts.one_of("what is sent and stepped at once", GRANULARITIES),
        "interfaces": parts.one_of("what has its own port", INTERFACES),
        "weight": parts.number("when servers share out their time", 0.0, MOST_WEIGHT),
        "quotas": closed_object("what it takes of a server at most", quotas),
    }
    return closed_object("the options of the service", required)


def manifest() -> Schema:
    """Return the schema of a service's tensors, as `Manifest.to_json` encodes them."""
    key = closed_object(
        "a parameter",
        {
            "name": parts.text("its own in the manifest"),
            "shape": list_of(
                "in numbers",
                {"type": "integer", "minimum": 1, "maximum": MOST_ITEMS},
                minItems=1,
                maxItems=MOST_DIMENSIONS,
            ),
            "group": parts.whole("of its hyperparameters, from 0", 0, MOST_GROUPS - 1),
            "type": parts.one_of("in which workers hold it", TYPES),
        },
    )
    required = {
        "keys": list_of("in the order of the flat array", key, minItems=1, maxItems=MOST_KEYS),
        "groups": parts.whole("how many there are", 1, MOST_GROUPS),
    }
    return closed_object("what the service holds", required)


def hyper() -> Schema:
    """Return the schema of a parameter group's hyperparameters, named as in `torch.optim`."""
    numbers = ("lr", "momentum", "weight_decay", "eps")
    required = {
        **{name: parts.number(f"`{name}`") for name in numbers},
        "dampening": parts.number("`dampening`", None),
        **{name: parts.number(f"`{name}`, less than 1", 0.0, 1.0) for name in ("beta1", "beta2")},
        **{name: parts.flag(f"`{name}`") for name in ("nesterov", "maximize")},
    }
    return closed_object("hyperparameters of a group", required)


def _pieces() -> Schema:
    whats = {
        "offsets_items": ("where each begins in the flat array, in numbers", 0, MOST_ITEMS),
        "items": ("how many numbers each has", 1, MOST_ITEMS),
        "steps": ("how many steps were made there", 0, MOST_ITERATION),
    }
    required = {
        name: list_of(
            what, {"type": "integer", "minimum": low, "maximum": high}, maxItems=MOST_PIECES
        )
        for name, (what, low, high) in whats.items()
    }
    return closed_object("contiguous pieces of the flat array that this file holds", required)
