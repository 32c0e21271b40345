"""Facts and decisions of a job's run under `plink autotune`, for `plink show` and `report`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Annotated

from msgspec.structs import asdict

from plink.autotune.log.history import Change, History
from plink.autotune.tuner.interface import Action, TunerOptions
from plink.base.text import bytes_text, format_count, seconds_text, share_text
from plink.formats.limits import Amount, Positive, Text, Whole, constrain_to_words
from plink.formats.structs import Output
from plink.show.tables import Column, Fact

# Clocks of simulated runs begin at 0.
_LEAST_DATE_S = 1e9
_MOST_DATE_S = 1e11


def decision_columns(run: History) -> list[Column[tuple[int, Change]]]:
    """Return the columns of the table of a tuned run's decisions."""

    def time_text(change: Change, side: int) -> str:
        seconds = run.around(change)[side]
        return "" if seconds is None else seconds_text(seconds)

    return [
        Column("decision", lambda row: f"{row[0]} {row[1].what}", is_text=True),
        Column("after", lambda row: _span_text(float(run.at_s[row[1].window] - run.at_s[0]))),
        Column("plan", lambda row: str(row[1].plan)),
        Column("before", lambda row: time_text(row[1], 0)),
        Column("then", lambda row: time_text(row[1], 1) if row[1].is_new_plan else ""),
        Column("reason", lambda row: row[1].reason, is_text=True),
    ]


def numbered_decisions(run: History) -> list[tuple[int, Change]]:
    """Return the tuner's decisions other than to wait, numbered from 1."""
    return list(enumerate(run.changes, 1))


def run_facts(run: History) -> list[Fact]:
    """Return table rows (name, lines) on a tuned run: its job, speed, plans and balance."""
    hosts, ranks = len(run.hosts), len(run.plan.ranks)
    job = f"{run.plan.kind} plan of {format_count(hosts, 'host')}"
    if ranks != hosts:
        job += f", {format_count(ranks, 'rank')}"
    size = bytes_text(run.plan.size_bytes)
    facts: list[Fact] = [("job", [f"{job}, {size} an iteration"])]
    if not run.windows:
        return [*facts, ("measured", ["nothing yet"])]
    measured = f"{format_count(run.windows, 'window')} in {_span_text(run.seconds)}"
    if _LEAST_DATE_S <= run.at_s[0] <= _MOST_DATE_S:
        moment = datetime.fromtimestamp(float(run.at_s[0]), tz=timezone.utc)
        measured += f" from {moment:%Y-%m-%d %H:%M:%S} UTC on"
    if run.is_cut:
        measured += "; the log goes on from an earlier one"
    speeds = run.throughput_bytes_s / 1e6
    edge = max(1, min(5, run.windows // 2))
    first, last = (sorted(part)[len(part) // 2] for part in (speeds[:edge], speeds[-edge:]))
    speed = (
        f"{first:,.1f} MB/s reduced at first, {speeds.min():,.1f} in the slowest window, "
        f"{last:,.1f} at the end ({share_text(float(last / first))} of the first)"
    )
    counts = Counter(change.what for change in run.changes)
    plans = "no decision but to wait"
    if counts:
        made = ", ".join(f"{count} {what}" for what, count in counts.items())
        plans = f"{format_count(len(run.new_plans), 'new plan')}: {made}"
    before, after = (
        "unknown" if each is None else f"{each:.2f}"
        for each in (run.balance(0), run.balance(run.windows - 1))
    )
    balance = f"the busiest host sends {before} times what the least busy does, {after} at the end"
    facts += [
        ("measured", [measured]),
        ("speed", [speed]),
        ("plans", [plans]),
        ("balance", [balance]),
    ]
    probed = sum(change.action is Action.REPROBE for change in run.changes)
    if probed:
        facts.append(("asked", [f"{format_count(probed, 'time')} for hosts to be probed again"]))
    return facts


def option_facts(run: History) -> list[Fact]:
    """Return the options of the tuner that differ from their defaults."""
    usual = asdict(TunerOptions())
    changed = [
        f"{name} {value}" for name, value in asdict(run.options).items() if value != usual[name]
    ]
    return [("options", [", ".join(changed)])] if changed else []


class TunedDecision(Output, frozen=True):
    """Decision of the tuner to act, with its reason and the iteration time before and after.

    Attributes:
        at_s: when, in s since 1970
        action: what was done
        reason: why, in words
        plan: number of the plan in force from then on
        is_new_plan: whether it is another than before
        before_s, after_s: median iteration of the windows before and after it, in s
    """

    at_s: float
    action: Annotated[str, constrain_to_words(*(action.value for action in Action), "begun anew")]
    reason: Text
    plan: Whole
    is_new_plan: bool
    before_s: Amount | None
    after_s: Amount | None


class TunedRun(Output, frozen=True, kw_only=True, tag_field="of", tag="plink.autotune"):
    """Summary of a job's run under `plink autotune`, from the tuner's log.

    Attributes:
        hosts: names of the hosts
        ranks: number of ranks
        size_bytes: bytes that are reduced in an iteration
        windows: number of windows
        seconds: time from the first window's end to the last's, in s
        first_iteration_s: an iteration at first, in s
        last_iteration_s: an iteration at the end, in s
        plan: number of the last plan
        new_plans: number of new plans
        balance: most over least bytes of a host at the end
        decisions: decisions other than to wait
    """

    hosts: Sequence[str]
    ranks: Positive
    size_bytes: Positive
    windows: Whole
    seconds: Amount
    first_iteration_s: Amount | None
    last_iteration_s: Amount | None
    plan: Whole
    new_plans: Whole
    balance: Amount | None
    decisions: Sequence[TunedDecision]


def describe_tuned(run: History) -> TunedRun:
    """Return the run as `plink show --json` prints it."""
    last_plan = int(run.plans[-1]) if run.windows else 0
    return TunedRun(
        hosts=run.hosts,
        ranks=len(run.plan.ranks),
        size_bytes=run.plan.size_bytes,
        windows=run.windows,
        seconds=run.seconds,
        first_iteration_s=float(run.iteration_s[0]) if run.windows else None,
        last_iteration_s=float(run.iteration_s[-1]) if run.windows else None,
        plan=int(run.changes[-1].plan) if run.changes else last_plan,
        new_plans=len(run.new_plans),
        balance=run.balance(run.windows - 1) if run.windows else None,
        decisions=[
            TunedDecision(
                float(run.at_s[change.window]),
                change.what,
                change.reason,
                change.plan,
                change.is_new_plan,
                *run.around(change),
            )
            for change in run.changes
        ],
    )


def _span_text(seconds: float) -> str:
    """Return a duration since the beginning: `50.0 s`, `3:20 min`, `2:05:00 h`."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02} h"
    return f"{whole // 60}:{whole % 60:02} min" if whole >= 100 else f"{seconds:.1f} s"
