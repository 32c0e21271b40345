"""Schemas of the output of `plink kube`."""

from __future__ import annotations

from plink.schemas import parts
from plink.schemas.parts import Schema, by_name, closed_object, list_of


def manifests_output() -> Schema:
    """Return the schema of what `plink kube manifests --json` prints."""
    what = "The files that were written: what `plink kube manifests --json` prints"
    required = {
        "output": parts.text("the folder"),
        "files": parts.texts("their names in it"),
    }
    return parts.document("plink kube manifests --json", what, closed_object(what, required))


def labels_output() -> Schema:
    """Return the schema of what `plink kube labels --json` prints."""
    what = "Labels, and what changed: what `plink kube labels --json` prints"
    labels = by_name("key to value", parts.text("of the label"))
    required = {
        "dry_run": parts.flag("whether nothing was changed: then the rest would be"),
        "keys": parts.texts("of the labels of each tier, the nearest first"),
        "tiers": parts.whole("how many were found, which may be more than there are keys"),
        "labels": by_name("node to labels", labels),
        "changed": parts.texts("nodes with labels that changed"),
        "cleared": parts.texts("nodes that lost all that plink had written"),
        "kept": parts.texts("nodes that were not measured and keep what they have"),
        "conflicts": by_name("node to keys that something else wrote", parts.texts("keys")),
        "not_nodes": parts.texts("hosts that are no nodes"),
        "gone": parts.texts("nodes that went meanwhile"),
    }
    return parts.document("plink kube labels --json", what, closed_object(what, required))


def metrics_output() -> Schema:
    """Return the schema of what `plink kube metrics --json` prints."""
    what = "Figures of a measurement: what `plink kube metrics --json` prints"
    domains = _figures("domains of each tier", {"tier": parts.text("its number, 0 the nearest")})
    rtt = _figures("median round trip to other hosts, in s", {"host": parts.text("its name")})
    required = {
        "measured_timestamp_seconds": _figures("when that began, in s since 1970; 0 if unknown"),
        "probing_seconds": _figures("how long it took, in s"),
        "hosts": _figures("that were measured"),
        "unreachable_hosts": _figures("that were not reached"),
        "pairs_missing": _figures("directed pairs without a reading"),
        "probes_lost": _figures("probes without an answer"),
        "tier_domains": domains,
        "host_rtt_seconds": rtt,
    }
    return parts.document("plink kube metrics --json", what, closed_object(what, required))


def _figures(what: str, labels: dict[str, Schema] | None = None) -> Schema:
    return list_of(what, closed_object("a figure", {**(labels or {}), "value": parts.number(what)}))
