"""Catalogue of all schemas by name."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_origin

from plink.autotune.log.replay import ReplayedDecision
from plink.autotune.protocol.status import StatusMessage
from plink.base.errors import WrongUseError
from plink.bench.order_report import OrdersBench
from plink.deploy.kubernetes.writing import NodeLabels
from plink.deploy.nccl_order import NcclVerdict
from plink.deploy.verify import LaunchVerdict
from plink.doctor.finding import DoctorOutput
from plink.files import outputs
from plink.files.cluster import Cluster
from plink.files.comparison import Comparison
from plink.files.order import Order
from plink.files.plan import Plan
from plink.files.structs import describe_struct
from plink.hub.cost import Costs
from plink.optimize.plans.forecasting import PlanForecast
from plink.optimize.prediction import Forecast
from plink.renumber.launch import RenumberedProcess
from plink.schemas import (
    autotune,
    hub,
    order,
    parts,
    timeline,
)
from plink.schemas.parts import Schema
from plink.show.groups import GroupsOutput
from plink.show.page.outline import ReportOutline
from plink.show.summary import ShownCluster, Summary
from plink.show.terminal.hub import FoundBounds
from plink.show.terminal.plan import PlannedOutput, ShownPlan
from plink.show.timelines import ShownTimeline
from plink.show.tuned import TunedRun
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
    schema = describe_struct(kind)
    (name,) = schema["properties"]["format"]["enum"]
    return parts.document(name, what, schema)


def _describe_shown() -> Schema:
    """Return the schema of what `plink show --json` prints."""
    cases = [
        (parts.says("of", "plink.plan"), describe_struct(ShownPlan)),
        (parts.says("of", "plink.autotune"), describe_struct(TunedRun)),
        (parts.says("of", "plink.timeline"), describe_struct(ShownTimeline)),
        (parts.says("format", "plink.order"), describe_struct(Order)),
        (parts.says("format", "plink.comparison"), describe_struct(Comparison)),
    ]
    cluster, rtt = describe_struct(ShownCluster), describe_struct(Summary)
    either = {
        **cluster,
        "properties": {**cluster["properties"], **rtt["properties"]},
        # All that is said of round-trip times, or nothing.
        "dependentRequired": dict.fromkeys(("tool", "measured"), rtt["required"]),
    }
    what = "A file: what `plink show --json` prints"
    return parts.document("plink show --json", what, parts.by_case(cases, either))


# What each verb prints with `--json`: a struct, several where it depends on the input, or a list.
OUTPUTS: Mapping[str, Any] = {
    "probe": outputs.ProbeOutput,
    "check": outputs.CheckOutput,
    "doctor": DoctorOutput,
    "show": _describe_shown,
    "group": GroupsOutput,
    "order": order.order_output,
    "plan": PlannedOutput,
    "autotune serve": outputs.JobEnvironment,
    "autotune attach": StatusMessage,
    "autotune replay": Sequence[ReplayedDecision],
    "timeline": ShownTimeline,
    "predict": (PlanForecast, Forecast),
    "simulate": Simulation,
    "report": ReportOutline,
    "verify": (LaunchVerdict, NcclVerdict),
    "run": (outputs.OutputLine, outputs.SucceededJob, outputs.FailedJob),
    "renumber": RenumberedProcess,
    "bench": (OrdersBench, Comparison),
    "fit": outputs.FitOutput,
    "import": outputs.ImportOutput,
    "export": (outputs.ExportedMatrix, outputs.ExportedTopology),
    "slurm-order": (outputs.SlurmOrder, outputs.SlurmGivenOrder),
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
    "agent": outputs.AgentState,
    "schema": (Sequence[outputs.SchemaRow], outputs.JsonSchema),
    "completion": outputs.Completion,
}

# What is printed, where it is not of a single struct.
ABOUT = {
    "schema": "The names of all schemas, or a schema",
    "predict": "What algorithms or collectives take",
    "autotune serve": "What a job is started with, a line each",
    "autotune replay": "Decisions made again",
    "bench": "What was measured",
    "verify": "Where every rank was",
    "run": "A line of output, and at the end the status",
    "agent": "A change, a line each",
    "export": "A matrix, or switches",
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
