"""Catalogue of the JSON Schemas of all files and outputs, by name."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_origin

from plink.autotune.log.records import Line, Start
from plink.autotune.log.replay import ReplayedDecision
from plink.autotune.protocol.status import StatusMessage
from plink.base.errors import WrongUseError
from plink.bench.order_report import OrdersBench
from plink.deploy.kubernetes.writing import NodeLabels
from plink.deploy.nccl_order import NcclVerdict
from plink.deploy.verify import LaunchVerdict
from plink.doctor.finding import DoctorOutput
from plink.formats import outputs
from plink.formats.cluster import Cluster
from plink.formats.comparison import Comparison
from plink.formats.order import NOT_SHOWN, Order, OrderHosts
from plink.formats.plan import Plan
from plink.formats.structs import describe_struct
from plink.hub.cost import Costs
from plink.hub.snapshot_file import SnapshotHeader
from plink.optimize.leaving_out import Limiting
from plink.optimize.plans.forecasting import PlanForecast
from plink.optimize.prediction import Forecast
from plink.renumber.launch import RenumberedProcess
from plink.show.groups import GroupsOutput
from plink.show.page.parts import ReportOutline
from plink.show.summary import ShownCluster, Summary
from plink.show.terminal.hub import FoundBounds
from plink.show.terminal.plan import PlannedOutput, ShownPlan
from plink.show.timelines import ShownTimeline
from plink.show.tuned import TunedRun
from plink.simulate.simulation import Simulation
from plink.training.timeline.lines import FORMAT as TIMELINE
from plink.training.timeline.lines import Event, HeadEvent

Schema = dict[str, Any]
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
    "autotune": lambda: _document(
        "plink.autotune",
        "A line of the log of a tuned job: what `plink autotune serve --log` writes",
        _by_case([({"required": ["format"]}, describe_struct(Start))], describe_struct(Line)),
    ),
    "timeline": lambda: _document(
        TIMELINE,
        "An event of a timeline: what a rank writes with PLINK_TIMELINE, or `plink timeline -o`",
        _by_case([(_says("name", TIMELINE), describe_struct(HeadEvent))], describe_struct(Event)),
    ),
    "snapshot": lambda: _file(
        SnapshotHeader,
        "What one server of a service held: the header of a file of `plink hub checkpoint`",
    ),
}


def _file(kind: Any, what: str) -> Schema:
    """Return the JSON Schema of the file format that a struct defines, with a description."""
    schema = describe_struct(kind)
    (name,) = schema["properties"]["format"]["enum"]
    return _document(name, what, schema)


def _document(title: str, what: str, schema: Schema) -> Schema:
    """Return a JSON Schema as a top-level document, with dialect, title and description."""
    dialect = "https://json-schema.org/draft/2020-12/schema"
    members = {name: member for name, member in schema.items() if name != "description"}
    return {"$schema": dialect, "title": title, "description": what, **members}


def _says(member: str, value: str) -> Schema:
    """Return a JSON Schema of objects in which one member has a fixed text."""
    return {"required": [member], "properties": {member: {"const": value}}}


def _by_case(cases: Sequence[tuple[Schema, Schema]], otherwise: Schema) -> Schema:
    """Return a JSON Schema that applies the schema of the first matching case, or `otherwise`."""
    for case, schema in reversed(cases):
        otherwise = {"if": case, "then": schema, "else": otherwise}
    return otherwise


def _describe_order() -> Schema:
    """Return the schema of what `plink order --json` prints."""
    summary, order = describe_struct(OrderHosts), describe_struct(Order)
    shown = {name: part for name, part in order["properties"].items() if name not in NOT_SHOWN}
    schema = {
        **summary,
        "required": [*summary["required"], *(name for name in order["required"] if name in shown)],
        "properties": {**shown, **summary["properties"], **describe_struct(Limiting)["properties"]},
    }
    what = "The order and its costs: what `plink order --json` prints"
    return _document("plink order --json", what, schema)


def _describe_shown() -> Schema:
    """Return the schema of what `plink show --json` prints."""
    cases = [
        (_says("of", "plink.plan"), describe_struct(ShownPlan)),
        (_says("of", "plink.autotune"), describe_struct(TunedRun)),
        (_says("of", TIMELINE), describe_struct(ShownTimeline)),
        (_says("format", "plink.order"), describe_struct(Order)),
        (_says("format", "plink.comparison"), describe_struct(Comparison)),
    ]
    cluster, rtt = describe_struct(ShownCluster), describe_struct(Summary)
    either = {
        **cluster,
        "properties": {**cluster["properties"], **rtt["properties"]},
        # All that is said of round-trip times, or nothing.
        "dependentRequired": dict.fromkeys(("tool", "measured"), rtt["required"]),
    }
    what = "A file: what `plink show --json` prints"
    return _document("plink show --json", what, _by_case(cases, either))


# What each verb prints with `--json`: a struct, several where it depends on the input, or a list.
OUTPUTS: Mapping[str, Any] = {
    "probe": outputs.ProbeOutput,
    "check": outputs.CheckOutput,
    "doctor": DoctorOutput,
    "show": _describe_shown,
    "group": GroupsOutput,
    "order": _describe_order,
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


def output_name(verb: str) -> str:
    """Return the name of a verb's output schema, such as `autotune-serve-output`."""
    return f"{verb.replace(' ', '-')}-output"


def makers() -> dict[str, Make]:
    """Return the functions that build the schemas of files and of verbs' outputs, by name."""
    made = {output_name(verb): functools.partial(_describe_output, verb) for verb in OUTPUTS}
    return {**FILES, **made}


def _describe_output(verb: str) -> Schema:
    """Return the JSON Schema of what a verb prints with `--json`."""
    kinds = OUTPUTS[verb]
    if not isinstance(kinds, type | tuple) and callable(kinds) and get_origin(kinds) is None:
        made: Schema = kinds()
        return made
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    schemas = [describe_struct(kind) for kind in kinds]
    about = (ABOUT.get(verb) or schemas[0]["description"]).removesuffix(".")
    schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    return _document(f"plink {verb} --json", f"{about}: what `plink {verb} --json` prints", schema)


def schema(name: str) -> Schema:
    """Return the schema called `name`, or raise WrongUseError if there is none."""
    known = makers()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else "plink schema names them all"
        raise WrongUseError(f"there is no schema {name!r}", hint)
    return known[name]()


def describe_schemas() -> list[dict[str, str]]:
    """Return the name and description of every schema."""
    return [{"name": name, "of": make()["description"]} for name, make in makers().items()]
