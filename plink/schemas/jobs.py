"""Schemas of the output of verbs that start or inspect jobs, and of `plink agent`."""

from __future__ import annotations

from plink.schemas import parts
from plink.schemas.parts import Schema, closed_object, list_of, or_null


def verify_output() -> Schema:
    """Return the schema of what `plink verify --json` prints."""
    what = "Where every rank was: what `plink verify --json` prints"
    by_case = parts.by_case([(parts.has("command"), _launch())], _job_log())
    return parts.document("plink verify --json", what, by_case)


def _ranks() -> Schema:
    rank = closed_object(
        "a rank",
        {
            "rank": parts.whole("its number"),
            "expected": parts.text("the host that the order has"),
            "found": parts.text("the host that it was on"),
        },
    )
    return list_of("rank by rank", rank)


def _launch() -> Schema:
    return closed_object(
        "of a launcher that was run",
        {
            "launcher": parts.text("its format"),
            "command": parts.text("that was run"),
            "kept": parts.flag("whether every rank was where the order has it"),
            "reason": or_null(parts.text("why not; null if that is not known")),
            "ranks": _ranks(),
        },
    )


def _job_log() -> Schema:
    ring = closed_object(
        "a ring of NCCL's",
        {
            "channel": parts.whole("its number"),
            "hosts": parts.texts("from that of rank 0 on"),
            "is_whole": parts.flag("whether all of it is known"),
            "is_kept": parts.flag("whether it goes as the order does, in either direction"),
        },
    )
    return closed_object(
        "of a job's log (`--log`)",
        {
            "launcher": parts.text("its format"),
            "kept": parts.flag("whether all ranks and rings follow the order"),
            "version": or_null(parts.text("of NCCL")),
            "networks": parts.texts("what NCCL uses between hosts"),
            "ranks": _ranks(),
            "rings": list_of("of every channel", ring),
            "trees": parts.whole("channels that logged a tree"),
            "other_trees": parts.whole_numbers("channels whose tree joins other hosts"),
        },
    )


def run_output() -> Schema:
    """Return the schema of one line that `plink run --json` prints."""
    what = "A line of output, and at the end the status: what `plink run --json` prints"
    rank = parts.whole("its number")
    line = closed_object(
        "a line of output", {"rank": rank, "line": {"description": "it", "type": "string"}}
    )
    done = closed_object(
        "all ranks succeeded", {"status": {"description": "of the job", "const": 0}}
    )
    failed = closed_object(
        "a rank failed",
        {
            "status": parts.whole("of the job"),
            "rank": {**rank, "description": "that failed first"},
            "host": parts.text("that it ran on"),
            "reason": or_null(parts.text("why; null if its status says it")),
        },
    )
    by_case = parts.by_case([(parts.has("line"), line), (parts.has("host"), failed)], done)
    return parts.document("plink run --json", what, by_case)


def agent_output() -> Schema:
    """Return the schema of one line that `plink agent --json` prints."""
    what = "A change, a line each: what `plink agent --json` prints"
    states = ["waiting", "connected", "left", "refused"]
    required = {
        "state": parts.one_of("of the call", states),
        "message": parts.text("the same for a person"),
    }
    return parts.document("plink agent --json", what, closed_object(what, required))


def slurm_order_output() -> Schema:
    """Return the schema of what `plink slurm-order --json` prints."""
    what = "The order of a Slurm job's nodes: what `plink slurm-order --json` prints"
    host = closed_object(
        "a node", {"name": parts.text("its name"), "tasks": parts.whole("on it", low=1)}
    )
    sources = ["kept", "switches", "groups", "measured"]
    done = closed_object(
        "there is an order",
        {
            "ordered": {"description": "whether there is an order", "const": True},
            "hostfile": parts.text("path of the file that srun reads"),
            "hosts": parts.list_of("nodes in the order of their tasks", host),
            "algorithm": parts.text("that the order is for"),
            "cost_us": parts.number("of the order, in µs"),
            "cost_given_us": parts.number("of Slurm's own order, in µs"),
            "source": parts.one_of("where the round-trip times are from", sources),
            "pairs_measured": parts.whole("directed pairs that were measured now and are kept"),
            "unknown": parts.texts("names of nodes of which nothing is known, which come last"),
            "seconds": parts.number("that it took, in s"),
        },
    )
    failed = closed_object(
        "the job runs in the given order",
        {
            "ordered": {"description": "whether there is an order", "const": False},
            "reason": parts.text("why, in words"),
        },
    )
    by_case = parts.by_case([(parts.has("hostfile"), done)], failed)
    return parts.document("plink slurm-order --json", what, by_case)


def renumber_output() -> Schema:
    """Return the schema of what `plink renumber --json` prints."""
    what = "Where a process is in an order of the hosts: what `plink renumber --json` prints"
    required = {
        "rank": parts.whole("new rank of the process"),
        "ranks": parts.whole("number of ranks of the job", low=1),
        "local_rank": parts.whole("number of the process on its host"),
        "local_ranks": parts.whole("number of ranks on its host", low=1),
        "host_rank": parts.whole("number of its host, in the order of their first ranks"),
        "hosts": parts.texts("names of the hosts in that order"),
        "host_of_rank": parts.whole_numbers("number of each rank's host"),
        "former_ranks": parts.whole_numbers("rank that the launcher gave to each rank"),
        "master_address": parts.text("address of the host of rank 0"),
        "variables": parts.by_name("variables that change", parts.text("the new value")),
    }
    return parts.document("plink renumber --json", what, closed_object(what, required))
