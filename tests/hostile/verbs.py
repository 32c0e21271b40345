"""Every verb, and where it takes a file. A new verb needs a line here, and gets all inputs.

In a line, `{kind}` stands for a valid file of that kind (`valid.py`), and is replaced by
hostile ones; `{kind>}` for a copy that the verb may change, and `{out}` for a new file.
Options are found by themselves: each gets some of `texts.VALUES` after the first line of its verb.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import click

VERBS: Mapping[str, Sequence[str]] = {
    "probe": (
        "{hosts} -F {ssh_config} -o {out}",
        "--resume {cluster} -F {ssh_config} -o {out}",
        "{hosts} --tool dpdk --nics {nics} -F {ssh_config} -o {out}",
        "--resume {cluster} --tool uplinks --groups {truth} -F {ssh_config} -o {out}",
        "{hosts} -i {identity} -F {ssh_config} -o {out}",
    ),
    "check": ("{cluster} -F {ssh_config}",),
    "doctor": (
        "{cluster}",
        "{cluster} --before {cluster} --json",
        "{log}",
        "{comparison} --before {comparison}",
        "{cluster} --live -F {ssh_config} -o {out}",
    ),
    "show": (
        "{cluster}",
        "{order}",
        "{plan}",
        "{comparison}",
        "{log}",
        "{cluster} --json",
        "{comparison} --json",
        "{log} --json",
        "{timeline}",
        "{timeline} --json",
    ),
    "group": (
        "{cluster} -o {out}",
        "{cluster} --truth {truth}",
        "{cluster} --given {truth} -o {out}",
    ),
    "order": (
        "{cluster} --algo ring --time-limit 0.05 -o {out}",
        "{order} --format openmpi",
        "{order} --format torchrun-script",
        "{cluster} --trace {goal} --time-limit 0.05 -o {out}",
    ),
    "plan": (
        "{cluster} --size 1MB -o {out}",
        "{cluster} --size 1MB --kind ps --servers gpu00:2 -o {out}",
    ),
    "autotune serve": (
        "{plan>} --listen 127.0.0.1:0 --secret-file {secret>} --log {log>}",
        "{plan>} --listen 127.0.0.1:0 --secret-file {secret>} --cluster {cluster} -o {out}",
        "{plan>} --listen 127.0.0.1:0 --secret-file {secret>} --hosts {hosts} -o {out}",
    ),
    "autotune attach": ("127.0.0.1:1 --secret-file {secret}",),
    "autotune replay": ("{log}",),
    "timeline": ("{timeline} -o {out}", "{timeline} --json"),
    "predict": ("{order} --cluster {cluster}", "--network {network} --size 1MB"),
    "fit": ("{cluster} --client engine -F {ssh_config} -o {out}",),
    "simulate": (
        # Nothing is simulated, which takes a program that only some machines can compile.
        "{order} --cluster {cluster} --size 1kB --trace goal -o {out}",
        "{plan} --cluster {cluster} --size 1kB --trace goal -o {out}",
        "{goal} --cluster {cluster} --trace goal -o {out}",
    ),
    "report": ("{cluster} {order} -o {out}", "{log} -o {out}", "{timeline} -o {out}"),
    "verify": ("{order} --launcher openmpi -F {ssh_config} --timeout 5",),
    "run": ("{order} -F {ssh_config} --env TOKEN=hushhushhushhush-3f9a -- true",),
    "renumber": ("--order {order} --meet 127.0.0.1:1 --within 1",),
    "bench": ("{cluster} -F {ssh_config} --plan {plan} --client engine -o {out}",),
    "import": ("{csv} -o {out}", "{network} -o {out}", "{pairs}", "{mpigraph}", "{osu}"),
    "export": ("{cluster} -o {out}", "{cluster} --format slurm-topology -o {out}"),
    "slurm-order": ("--keep {out} --groups {cluster}",),
    "kube manifests": ("-o {out} --image plink", "-o {out} --image plink --secret-file {secret}"),
    "kube labels": (
        "{cluster} --api http://127.0.0.1:1 --timeout 0",
        "{cluster} --api https://127.0.0.1:1 --timeout 0 --token-file {secret} --ca-file {csv}",
    ),
    "kube metrics": ("{cluster} -o {out}",),
    "hub serve": (
        "--listen 127.0.0.1:x --secret-file {secret>}",
        "{plan} --host a --secret-file {secret}",
    ),
    "hub create": (
        "127.0.0.1:1 --workers 2 --secret-file {secret} --worker-secret-file {out}",
        "{plan} --secret-file {secret} --worker-secret-file {out}",
    ),
    "hub status": ("127.0.0.1:1 --secret-file {secret}",),
    "hub checkpoint": ("127.0.0.1:1 --secret-file {secret}",),
    "hub restore": ("127.0.0.1:1 --snapshot job-1 --secret-file {secret}",),
    "hub delete": ("127.0.0.1:1 --secret-file {secret}",),
    "hub bounds": ("--model resnet50 --workers 8", "--model 1MB --iteration 1 --workers 8"),
    "hub cost": ("",),
    "schema": ("", "cluster"),
    "completion": ("bash",),
    "agent": ("--join 127.0.0.1:1 --secret-file {secret} --wait 0",),
}

# What a verb may write where its option says.
OUTPUTS = {"worker_secret_file", "certificates", "output", "plot", "log", "secret_file"}


def verbs(command: click.Command, name: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every verb of the command line, as its user writes it."""
    if not isinstance(command, click.Group):
        yield name, command
        return
    context = click.Context(command)
    for each in command.list_commands(context):
        found = command.get_command(context, each)
        if found is not None:
            yield from verbs(found, f"{name} {each}".strip())
