"""Catalogue of all schemas by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any

from plink.base.errors import WrongUseError
from plink.files.cluster import Cluster
from plink.files.comparison import Comparison
from plink.files.order import Order
from plink.files.plan import Plan
from plink.schemas import (
    autotune,
    bench,
    doctor,
    hub,
    hub_figures,
    jobs,
    kubernetes,
    measuring,
    order,
    parts,
    plan,
    shown,
    simulation,
    timeline,
)
from plink.schemas.parts import Schema, closed_object, list_of

Make = Callable[[], Schema]

# Of files, by what follows `plink.` in their member `format`. Of a log, one is of each line, of a
# timeline of each event, of a snapshot of its header.
FILES: Mapping[str, Make] = {
    "cluster": lambda: _file(
        Cluster,
        "Hosts, and what was measured between them: what `plink probe` and `plink import` write",
    ),
    "order": lambda: _file(
        Order, "Hosts in rank order, and what the order costs: what `plink order -o` writes"
    ),
    "plan": lambda: _file(Plan, "How ranks aggregate: what `plink plan -o` writes"),
    "comparison": lambda: _file(
        Comparison,
        "What clients, plans and sizes took: what `plink bench -o` writes of more than one",
    ),
    "autotune": autotune.autotune_log,
    "timeline": timeline.timeline_file,
    "snapshot": hub.snapshot_file,
}


def _file(kind: Any, what: str) -> Schema:
    """Return the schema of a file format that a struct of `plink.files` defines."""
    schema = parts.struct(kind)
    (name,) = schema["properties"]["format"]["enum"]
    return parts.document(name, what, schema)


def schema_output() -> Schema:
    """Return the schema of what `plink schema --json` prints."""
    what = "The names of all schemas, or a schema: what `plink schema --json` prints"
    row = closed_object(
        "a schema",
        {"name": parts.text("of the schema"), "of": parts.text("what it is of, in words")},
    )
    of_a_schema = {"description": "a schema", "type": "object", "required": ["$schema"]}
    return parts.document(
        "plink schema --json", what, parts.any_of(what, [list_of("all schemas", row), of_a_schema])
    )


def completion_output() -> Schema:
    """Return the schema of what `plink completion --json` prints."""
    what = "What lets a shell complete commands: what `plink completion --json` prints"
    required = {
        "shell": parts.one_of("that it is for", ["bash", "zsh", "fish"]),
        "script": parts.text("that the shell is to read"),
    }
    return parts.document("plink completion --json", what, closed_object(what, required))


# Of what a verb prints with `--json`.
OUTPUTS: Mapping[str, Make] = {
    "probe": measuring.probe_output,
    "check": measuring.check_output,
    "doctor": doctor.doctor_output,
    "show": shown.show_output,
    "group": shown.group_output,
    "order": order.order_output,
    "plan": plan.plan_output,
    "autotune serve": autotune.serve_output,
    "autotune attach": autotune.attach_output,
    "autotune replay": autotune.replay_output,
    "timeline": timeline.timeline_output,
    "predict": plan.predict_output,
    "simulate": simulation.simulate_output,
    "report": shown.report_output,
    "verify": jobs.verify_output,
    "run": jobs.run_output,
    "renumber": jobs.renumber_output,
    "bench": bench.bench_output,
    "fit": measuring.fit_output,
    "import": measuring.import_output,
    "export": measuring.export_output,
    "slurm-order": jobs.slurm_order_output,
    "kube manifests": kubernetes.manifests_output,
    "kube labels": kubernetes.labels_output,
    "kube metrics": kubernetes.metrics_output,
    "hub serve": hub.serve_output,
    "hub create": hub.create_output,
    "hub status": hub.status_output,
    "hub checkpoint": hub.checkpoint_output,
    "hub restore": hub.restore_output,
    "hub delete": hub.delete_output,
    "hub bounds": hub_figures.bounds_output,
    "hub cost": hub_figures.cost_output,
    "agent": jobs.agent_output,
    "schema": schema_output,
    "completion": completion_output,
}

# Verbs that print an object a line, each of which the schema is of.
PRINT_LINES = ("autotune serve", "autotune attach", "run", "agent")


def output_name(verb: str) -> str:
    """Return the name of a verb's output schema, such as `autotune-serve-output`."""
    return f"{verb.replace(' ', '-')}-output"


def makers() -> dict[str, Make]:
    """Return the function that builds each schema, by schema name: files, then outputs."""
    return {**FILES, **{output_name(verb): make for verb, make in OUTPUTS.items()}}


def schema(name: str) -> Schema:
    """Return the schema called `name`.

    Raises:
        WrongUseError: there is none.
    """
    known = makers()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else "plink schema names them all"
        raise WrongUseError(f"there is no schema {name!r}", hint)
    return known[name]()


def describe_schemas() -> list[dict[str, str]]:
    """Return the name and description of every schema."""
    return [{"name": name, "of": make()["description"]} for name, make in makers().items()]
