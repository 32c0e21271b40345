"""The table of benchmarks."""

from __future__ import annotations

from dataclasses import dataclass

_LAB = "root"
_TORCH = "root, torch"


@dataclass(frozen=True)
class Benchmark:
    """One that `scripts/bench` runs.

    Args:
        name: on the command line.
        text: what it shows.
        needs: beside plink; `root` is for a lab of network namespaces.
        takes: with its default arguments, on two cores.
    """

    name: str
    text: str
    needs: str
    takes: str

    @property
    def module(self) -> str:
        """Where it is."""
        return f"benchmarks.{self.name.replace('-', '_')}"


CATALOGUE = (
    Benchmark("probe", "how right and how quick plink probe is", f"{_LAB}, fping", "4 min"),
    Benchmark("passes", "what several passes over all pairs are worth", _LAB, "2 min"),
    Benchmark("interference", "what other work on the machine does to a probe", _LAB, "4 min"),
    Benchmark("faults", "what hosts that fail cost a probe", _LAB, "5 min"),
    Benchmark("large", "every verb with 1,024 to 8,192 hosts", "", "30 min"),
    Benchmark("scale", "time and memory of a probe of many hosts", _LAB, "6 min"),
    Benchmark("callers", "what agents that call cost plink and themselves", "", "2 min"),
    Benchmark("uplinks", "how right the measured uplinks are", f"{_LAB}, iperf3", "5 min"),
    Benchmark("doctor", "faults of drawn labs named first", f"{_LAB}, iperf3, iptables", "40 min"),
    Benchmark("rounds", "ring orders from a sample of rounds, simulated", "", "2 min"),
    Benchmark("sampling", "samples that follow the question, simulated", "scikit-learn", "20 min"),
    Benchmark("discovery", "racks of labs drawn at random", f"{_LAB}, scikit-learn", "10 min"),
    Benchmark("groups", "embeddings and groups of generated networks", "scikit-learn", "45 min"),
    Benchmark("ring", "rings against TSPLIB, bounds and fast-tsp", "data, fast-tsp", "5 min"),
    Benchmark("search", "orders against random ones, bounds and the paper's", "", "30 min"),
    Benchmark("annealers", "orders of rounds and trees, against a plain annealer", "cc", "5 min"),
    Benchmark("limits", "whether orders keep their time limit, at every size", "", "10 min"),
    Benchmark("promises", "limits, large, ring, annealers and trees in one", "cc", "1 h"),
    Benchmark("exact", "what exact engines prove, and how near bounds are", "ortools, z3", "1 h"),
    Benchmark("trees", "how near bounds of trees are", "", "5 min"),
    Benchmark("orders", "a real client in plink's order and in random ones", _TORCH, "5 min"),
    Benchmark("mesh", "iterations of several dimensions in plink's orders", _TORCH, "4 min"),
    Benchmark("correlate", "predicted costs of orders against measured ones", _TORCH, "4 min"),
    Benchmark(
        "accuracy", "predicted times against measured, drawn labs", f"{_TORCH}, mpi", "30 min"
    ),
    Benchmark("chain", "from a host list to an all-reduce, on drawn labs", _TORCH, "2 min"),
    Benchmark("lightgbm", "LightGBM's training in plink's order", f"{_LAB}, lightgbm", "10 min"),
    Benchmark("engine", "the engine against Gloo", _TORCH, "1 min"),
    Benchmark("streams", "loopback, Unix sockets and shared memory", "g++", "1 min"),
    Benchmark("interfaces", "several and unequal interfaces of each host", _LAB, "3 min"),
    Benchmark("wide-area", "regions 100 ms apart: engine, Gloo and ring orders", _TORCH, "8 min"),
    Benchmark("tls", "what encrypting the engine's connections costs", "", "1 min"),
    Benchmark("init", "init_process_group by plink and by Gloo", _TORCH, "1 min"),
    Benchmark("renumber", "ranks that follow the network by one line", _TORCH, "5 min"),
    Benchmark("members", "from a kill to the next step, beside torchft", "torchft", "3 min"),
    Benchmark("diloco", "DiLoCo at a hub, beside torchft's", "root, torchft", "5 min"),
    Benchmark("torchrun", "torchrun's agents, killed and joined by chance", "torch", "15 min"),
    Benchmark("training", "trainings without computing, over plink and Gloo", _TORCH, "30 min"),
    Benchmark(
        "training-sparse", "what is learnt, and how soon, where less is sent", _TORCH, "15 min"
    ),
    Benchmark("sharded", "FSDP2, ZeRO, experts and pipelines over Gloo and plink", _TORCH, "5 min"),
    Benchmark("training-control", "how ranks agree on an order, in all modes", _TORCH, "20 min"),
    Benchmark(
        "training-control-simulated", "the same at scale, beside the papers", "torch", "20 min"
    ),
    Benchmark(
        "training-overlap", "gradients under way while the rest is computed", _TORCH, "20 min"
    ),
    Benchmark("hub", "the parameter service beside all-reduces", _TORCH, "10 min"),
    Benchmark("digits", "one small real training on Gloo and on plink", _TORCH, "3 min"),
    Benchmark("simulate", "orders at scale on SimGrid, beside plink's model", "simgrid", "40 min"),
    Benchmark("autotune", "what tuning gains on simulated networks", "", "3 min"),
    Benchmark("autotune-lab", "what tuning gains in the lab", f"{_TORCH}, iperf3", "5 min each"),
    Benchmark("autotune-cost", "what being tuned costs a job", _TORCH, "4 min"),
    Benchmark("autotune-ranks", "decisions where very many ranks report", "", "1 min"),
    Benchmark("interrupts", "200 interrupts of each verb, at drawn moments", "", "50 min"),
    Benchmark("switches", "what a change of plan costs a running job", _TORCH, "4 min"),
)
BY_NAME = {benchmark.name: benchmark for benchmark in CATALOGUE}
