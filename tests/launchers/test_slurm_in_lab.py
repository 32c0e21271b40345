"""The real Slurm in the lab: it keeps the order, loses it, and takes the topology files.

Jobs order their nodes by themselves (`plink slurm-order`), and unmodified srun follows.
"""

from __future__ import annotations

import json
import random
import re
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from plink.base.replacing import replace
from plink.cli import run
from plink.deploy.launchers import TOPOLOGIES
from plink.formats import cluster as cluster_file
from plink.formats.cluster import Cluster
from plink.formats.groups import Grouping, Partition
from plink.formats.hosts import Group, Host
from plink.probes.hosts.slurm import expand_names
from support.lab import Lab, lab_cluster
from support.slurm import Slurm, require_slurm, slurm_version, start_controller, start_slurm
from verify.orders import write_order

pytestmark = [pytest.mark.lab, pytest.mark.needs("slurm")]

# The first version that takes each format. 23.11 has blocks, too, but not BlockSizes.
SINCE = {
    "slurm-tree": (0, 0),
    "slurm-block": (24, 5),
    "slurm-tree-yaml": (25, 5),
    "slurm-block-yaml": (25, 5),
}


# The task prolog of docs/slurm.md, for jobs that ask for it.
TASK_PROLOG = f"""\
#!/bin/sh
PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin
[ -z "$SLURM_STEP_ID" ] || exit 0
[ -n "$ORDERED" ] || exit 0
{shlex.quote(sys.executable)} -m plink slurm-order --keep "$ORDERED"
exit 0
"""
# A user's job script, but for the names of folders.
JOB = """\
#!/bin/bash
#SBATCH --nodes=6
set -e
PATH={bin}:$PATH
{line}
cat "${{SLURM_HOSTFILE:-/dev/null}}" | sed 's/^/line /'
srun sh -c 'echo task $SLURM_PROCID $(hostname)'
"""
LINE = 'eval "$(plink slurm-order --keep {keep})"'
_LIMIT_S = 60
_PAUSE_S = 0.1


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    require_slurm()
    with lab_cluster(racks=2, hosts=3, hops=16) as standing:
        yield standing


def groups(lab: Lab) -> list[Group]:
    return [Group(rack, hosts) for rack, hosts in lab.racks.items()]


@pytest.fixture(scope="module")
def slurm(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Slurm:
    """A Slurm that knows the racks, which must not move ranks."""
    files = {"topology.conf": TOPOLOGIES["slurm-tree"].render(groups(lab))}
    folder = tmp_path_factory.mktemp("slurm")
    prolog = folder / "task_prolog.sh"
    prolog.write_text(TASK_PROLOG)
    prolog.chmod(0o755)
    return start_slurm(lab, folder / "run", "tree", files, more=f"TaskProlog={prolog}")


@pytest.fixture
def hosts(lab: Lab) -> list[Host]:
    """Four in an order that is neither sorted nor the lab's; one has two slots."""
    names = sorted(lab.names)[:4]
    random.Random(5).shuffle(names)
    assert names != sorted(names)
    addresses = lab.truth["addresses"]
    return [
        Host(name, addresses[name], slots=2 if rank == 1 else 1) for rank, name in enumerate(names)
    ]


def verify(slurm: Slurm, hosts: list[Host], folder: Path, *own: str) -> tuple[int, str]:
    """The exit code and the output of `plink verify` on the host where Slurm's commands run."""
    order = write_order(folder / "order.json", hosts)
    words = ["verify", str(order), "-F", str(slurm.lab.ssh_config), "--launcher", "slurm", *own]
    done = slurm.run(sys.executable, "-m", "plink", *words, check=False)
    return done.returncode, done.stdout + done.stderr


def test_the_host_file_keeps_the_order(slurm: Slurm, hosts: list[Host], tmp_path: Path) -> None:
    expected = "slurm keeps the order: 5 ranks on 4 hosts\n"
    assert verify(slurm, hosts, tmp_path) == (0, expected)


def test_a_list_of_nodes_does_not(slurm: Slurm, hosts: list[Host], tmp_path: Path) -> None:
    hosts = [replace(host, slots=1) for host in hosts]
    own = ["--json", "--", "srun --nodelist=$(paste -sd, FILE) -n RANKS PROGRAM"]
    status, said = verify(slurm, hosts, tmp_path, *own)
    assert status == 4, said
    shown = json.loads(said)
    assert "sorted by name" in shown["reason"]
    found = [rank["found"] for rank in shown["ranks"]]
    assert found == sorted(found)


@pytest.mark.parametrize("name", SINCE)
def test_slurmctld_takes_the_topology(name: str, lab: Lab, tmp_path: Path) -> None:
    if slurm_version() < SINCE[name]:
        pytest.skip(f"needs Slurm {SINCE[name][0]}.{SINCE[name][1]:02d}")
    kind = "block" if "block" in name else "tree"
    file = "topology.yaml" if name.endswith("yaml") else "topology.conf"
    text = TOPOLOGIES[name].render(groups(lab))
    port = 7000 + list(SINCE).index(name)
    slurm = start_controller(lab, tmp_path / "slurm", lab.names[1], kind, {file: text}, port=port)
    shown = slurm.run("scontrol", "show", "topology").stdout
    fields = [dict(word.split("=", 1) for word in line.split()) for line in shown.splitlines()]
    found = {}
    for line in fields:
        nodes = expand_names(line["Nodes"], "scontrol")
        found[line.get("SwitchName") or line["BlockName"]] = sorted(nodes)
    assert {group.name: found.pop(group.name) for group in groups(lab)} == lab.racks
    assert list(found) == (["plink-root"] if kind == "tree" else [])


def test_slurmctld_takes_nested_tiers(lab: Lab, tmp_path: Path) -> None:
    hosts = [Host(name, lab.truth["addresses"][name]) for name in lab.names]
    racks = [list(names) for names in lab.racks.values()]
    alone = [[name] for name in lab.names]
    grouping = Grouping("levels", "raw", levels=[Partition(racks), Partition(alone)])
    groups = [Group(f"g{number}", names) for number, names in enumerate(alone)]
    measured = tmp_path / "cluster.json"
    cluster_file.write_cluster(str(measured), Cluster(hosts, groups=groups, grouping=grouping))
    written = tmp_path / "topology.conf"
    words = ["export", str(measured), "--format", "slurm-topology", "-o", str(written)]
    assert run(words) == 0
    files = {"topology.conf": written.read_text()}
    slurm = start_controller(lab, tmp_path / "s", lab.names[1], "tree", files, port=7010)
    shown = slurm.run("scontrol", "show", "topology").stdout
    fields = [dict(word.split("=", 1) for word in line.split()) for line in shown.splitlines()]
    # Slurm counts levels from the leaves, as it read them.
    assert sorted(int(line["Level"]) for line in fields) == [0] * len(lab.names) + [1, 1, 2]
    found = {line["SwitchName"]: sorted(expand_names(line["Nodes"], "scontrol")) for line in fields}
    assert [found["spine-1"], found["spine-2"]] == [sorted(names) for names in racks]


def test_hosts_of_an_allocation(
    slurm: Slurm, hosts: list[Host], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = sorted(host.name for host in hosts[1:3])
    said = slurm.run("salloc", f"--nodelist={','.join(names)}", "-n", "3", "env").stdout
    for line in said.splitlines():
        name, _, value = line.partition("=")
        if name.startswith("SLURM_"):
            monkeypatch.setenv(name, value)
    out = tmp_path / "cluster.json"
    words = ["probe", "@slurm", "-F", str(slurm.lab.ssh_config), "--count", "10", "-o", str(out)]
    assert run(words) == 0
    cluster = cluster_file.read_cluster(str(out))
    assert [host.name for host in cluster.hosts] == names
    assert sorted(host.slots for host in cluster.hosts) == [1, 2]


@pytest.mark.parametrize(
    "hosts", [("@slurm", "--via", "srun --overlap -N1 -n1 -w {host}"), ("slurm:",)]
)
def test_an_allocation_is_probed_without_ssh(
    hosts: tuple[str, ...], slurm: Slurm, tmp_path: Path
) -> None:
    out = tmp_path / "cluster.json"
    done = slurm.run("salloc", "-N", "3", *probe(*hosts, out=out), check=False)
    assert done.returncode == 0, done.stderr
    check_probed(slurm, out)


def test_a_job_is_probed_from_outside_of_it(slurm: Slurm, tmp_path: Path) -> None:
    # Its one other step has all of it, as a training would.
    batch = ["sbatch", "--parsable", "-N", "3", "-n", "6", "-o", "/dev/null", "-J", "NodeList=x y"]
    job = slurm.run(*batch, "--wrap", "srun sleep 100").stdout.strip()
    out = tmp_path / "cluster.json"
    try:
        waiting = f"until squeue -hj {job} -t R | grep -q .; do sleep 0.1; done"
        slurm.run("timeout", "50", "sh", "-c", waiting)
        done = slurm.run(*probe(f"slurm:{job}", out=out), check=False)
    finally:
        slurm.run("scancel", job, check=False)
    assert done.returncode == 0, done.stderr
    cluster = check_probed(slurm, out)
    assert [host.slots for host in cluster.hosts] == [2, 2, 2]
    # What comes next can be typed anywhere that Slurm's commands are.
    assert cluster.way is not None
    assert cluster.way.via == f"srun --overlap --jobid {job} -N1 -n1 -w {{host}}"
    over = slurm.run(*probe(f"slurm:{job}", out=out), check=False)
    assert over.returncode == 2
    assert f"slurm:{job}: the job is " in over.stderr


def probe(*words: str, out: Path) -> list[str]:
    few = ["--count", "10", "--passes", "1", "-o", str(out)]
    return [sys.executable, "-m", "plink", "probe", *words, *few]


def check_probed(slurm: Slurm, out: Path) -> Cluster:
    cluster = cluster_file.read_cluster(str(out))
    assert cluster.rtt is not None
    assert not cluster.rtt.failures
    addresses = slurm.lab.truth["addresses"]
    assert {host.name: host.address for host in cluster.hosts}.items() <= addresses.items()
    assert len(cluster.hosts) == 3
    return cluster


def ended(slurm: Slurm, folder: Path, script: str, *options: str) -> tuple[list[str], list[str]]:
    """Submit a job; the lines of its host file and, by rank, the nodes of its tasks, at its end.

    What it said is in `folder / "out"`.
    """
    (folder / "bin").mkdir(exist_ok=True)
    plink = folder / "bin" / "plink"
    plink.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m plink "$@"\n')
    plink.chmod(0o755)
    job, out = folder / "job.sh", folder / "out"
    job.write_text(f"{script}echo ended\n")
    out.unlink(missing_ok=True)
    slurm.run("sbatch", f"--output={out}", f"--chdir={folder}", *options, str(job))
    deadline = time.monotonic() + _LIMIT_S
    while not (out.exists() and out.read_text().endswith("ended\n")):
        assert time.monotonic() < deadline, out.read_text() if out.exists() else "not begun"
        time.sleep(_PAUSE_S)
    said = out.read_text()
    tasks = {int(rank): name for rank, name in re.findall(r"task (\d+) (\S+)", said)}
    assert sorted(tasks) == list(range(len(tasks))), said
    return re.findall(r"line (\S+)", said), [tasks[rank] for rank in sorted(tasks)]


def script(folder: Path, line: str = LINE) -> str:
    line = line.format(keep=folder / "kept", bin=folder / "bin")
    return JOB.format(bin=folder / "bin", line=line)


def boundaries(lab: Lab, names: list[str]) -> int:
    """How often a ring of these hosts leaves a rack."""
    rack_of = lab.truth["hosts"]
    return sum(rack_of[a] != rack_of[b] for a, b in zip(names, [*names[1:], names[0]], strict=True))


def test_an_unmodified_srun_follows_the_order_that_a_job_finds(
    slurm: Slurm, tmp_path: Path
) -> None:
    lines, nodes = ended(slurm, tmp_path, script(tmp_path))
    assert nodes == lines
    assert sorted(nodes) == sorted(slurm.lab.names)
    assert boundaries(slurm.lab, nodes) == 2
    assert "30 directed pairs measured" in (tmp_path / "out").read_text()
    # The next job, with two tasks on each node, measures nothing.
    lines, again = ended(slurm, tmp_path, script(tmp_path), "--ntasks-per-node=2")
    assert again == lines == [name for name in nodes for _ in range(2)]
    said = (tmp_path / "out").read_text()
    assert "nothing measured" in said
    # Nor does one of fewer nodes; the task prolog of a site does the same without a line.
    export = f"--export=ALL,ORDERED={tmp_path / 'kept'}"
    lines, fewer = ended(slurm, tmp_path, script(tmp_path, ""), "--nodes=5", export)
    assert fewer == lines
    assert len(fewer) == 5


def test_hosts_under_a_switch_stand_for_one_another(slurm: Slurm, tmp_path: Path) -> None:
    one, two = slurm.lab.racks.values()
    known, new = [*one[:2], *two[:2]], [one[0], one[2], two[0], two[2]]
    options = ["--nodes=4", f"--nodelist={','.join(known)}"]
    lines, nodes = ended(slurm, tmp_path, script(tmp_path), *options)
    assert nodes == lines
    options = ["--nodes=4", f"--nodelist={','.join(new)}"]
    lines, nodes = ended(slurm, tmp_path, script(tmp_path), *options)
    assert nodes == lines
    assert sorted(nodes) == sorted(new)
    assert "those of their switches" in (tmp_path / "out").read_text()
    grouped = Cluster(
        [Host(name, name) for name in (*one, *two)], groups=[Group("a", one), Group("b", two)]
    )
    cluster_file.write_cluster(str(tmp_path / "grouped.json"), grouped)
    file = tmp_path / "grouped.json"
    line = f'eval "$(plink slurm-order --keep {{keep}} --groups {file})"'
    options = ["--nodes=4", f"--nodelist={','.join([*one[1:], *two[1:]])}"]
    lines, nodes = ended(slurm, tmp_path, script(tmp_path, line), *options)
    assert nodes == lines
    assert "those of their groups" in (tmp_path / "out").read_text()


def test_a_job_runs_in_the_given_order_where_measuring_fails(slurm: Slurm, tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    broken = tmp_path / "broken" / "srun"
    broken.write_text("#!/bin/sh\necho no step today >&2\nexit 1\n")
    broken.chmod(0o755)
    line = f'eval "$(PATH={tmp_path / "broken"}:$PATH plink slurm-order --keep {{keep}})"'
    lines, nodes = ended(slurm, tmp_path, script(tmp_path, line))
    assert (lines, nodes) == ([], sorted(slurm.lab.names))
    said = (tmp_path / "out").read_text()
    assert "the job runs in the given order: fewer than two hosts can be reached" in said
    assert "no step today" in said


def test_agents_that_one_step_starts_measure_as_well(slurm: Slurm, tmp_path: Path) -> None:
    line = "plink slurm-order --keep {keep} --reach agents --json > found.json"
    lines, _ = ended(slurm, tmp_path, script(tmp_path, line), "--nodes=3")
    assert lines == []
    found = json.loads((tmp_path / "found.json").read_text())
    assert (found["ordered"], found["pairs_measured"], found["source"]) == (True, 6, "measured")
