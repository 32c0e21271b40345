"""Catalogue of all schemas by name."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_origin

from plink.base.errors import WrongUseError
from plink.deploy.kubernetes.writing import NodeLabels
from plink.doctor.finding import Diagnosis
from plink.files import outputs
from plink.files.cluster import Cluster
from plink.files.comparison import Comparison
from plink.files.order import Order
from plink.files.plan import Plan
from plink.files.structs import describe_struct
from plink.hub.cost import Costs
from plink.optimize.plans.forecasting import PlanForecast
from plink.optimize.prediction import Forecast
from plink.schemas import (
    autotune,
    bench,
    hub,
    jobs,
    measuring,
    order,
    parts,
    shown,
    timeline,
)
from plink.schemas.parts import Schema
from plink.show.terminal.hub import FoundBounds
from plink.show.terminal.plan import PlannedOutput
from plink.simulate.simulation import Simulation

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


# What each verb prints with `--json`: a struct, several where it depends on the input, or a list.
OUTPUTS: Mapping[str, Any] = {
    "probe": measuring.probe_output,
    "check": measuring.check_output,
    "doctor": Diagnosis,
    "show": shown.show_output,
    "group": shown.group_output,
    "order": order.order_output,
    "plan": PlannedOutput,
    "autotune serve": autotune.serve_output,
    "autotune attach": autotune.attach_output,
    "autotune replay": autotune.replay_output,
    "timeline": timeline.timeline_output,
    "predict": (PlanForecast, Forecast),
    "simulate": Simulation,
    "report": shown.report_output,
    "verify": jobs.verify_output,
    "run": jobs.run_output,
    "renumber": jobs.renumber_output,
    "bench": bench.bench_output,
    "fit": measuring.fit_output,
    "import": measuring.import_output,
    "export": measuring.export_output,
    "slurm-order": jobs.slurm_order_output,
    "kube manifests": outputs.Manifests,
    "kube labels": NodeLabels,
    "kube metrics": outputs.Metrics,
    "hub serve": outputs.HubAddresses,
    "hub create": outputs.CreatedService,
    "hub status": outputs.HubStatus,
    "hub checkpoint": outputs.Snapshots,
    "hub restore": outputs.RestoredService,
    "hub delete": outputs.DeletedService,
    "hub bounds": FoundBounds,
    "hub cost": Costs,
    "agent": jobs.agent_output,
    "schema": (Sequence[outputs.SchemaRow], outputs.JsonSchema),
    "completion": outputs.Completion,
}

# What is printed, where it is not of a single struct.
ABOUT = {
    "schema": "The names of all schemas, or a schema",
    "predict": "What algorithms or collectives take",
}

# Verbs that print an object a line, each of which the schema is of.
PRINT_LINES = ("autotune serve", "autotune attach", "run", "agent")


def output_name(verb: str) -> str:
    """Return the name of a verb's output schema, such as `autotune-serve-output`."""
    return f"{verb.replace(' ', '-')}-output"


def makers() -> dict[str, Make]:
    """Return the function that builds each schema, by schema name: files, then outputs."""
    made = {output_name(verb): functools.partial(_describe_output, verb) for verb in OUTPUTS}
    return {**FILES, **made}


def _describe_output(verb: str) -> Schema:
    """Return the schema of what a verb prints; its description is that of the first struct."""
    kinds = OUTPUTS[verb]
    if not isinstance(kinds, type | tuple) and callable(kinds) and get_origin(kinds) is None:
        made: Schema = kinds()
        return made
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    schemas = [describe_struct(kind) for kind in kinds]
    about = (ABOUT.get(verb) or schemas[0]["description"]).removesuffix(".")
    schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    return parts.document(
        f"plink {verb} --json", f"{about}: what `plink {verb} --json` prints", schema
    )


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
