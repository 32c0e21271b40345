"""Names of values that options take, for completion.

They are defined elsewhere, together with what takes long to import.
"""

from __future__ import annotations

# `plink order --algo`, `plink predict --algo`
ALGORITHMS = (
    "ring",
    "halving-doubling",
    "tree",
    "bcube",
    "gloo-ring",
    "gloo-ring-legacy",
    "gloo-ring-chunked",
    "gloo-halving-doubling",
    "gloo-bcube",
    "gloo-bcube-new",
    "openmpi-linear",
    "openmpi-recursive-doubling",
    "openmpi-ring",
    "openmpi-segmented-ring",
    "openmpi-rabenseifner",
    "mpich-recursive-doubling",
    "mpich-reduce-scatter-allgather",
    "mpich-ring",
    "mpich-tree",
    "mpich-tree-knomial",
    "nccl-ring",
    "nccl-tree",
    "lightgbm-recursive-halving",
    "lightgbm-recursive-halving-ring",
    "lightgbm-bruck",
    "lightgbm-ring",
    "lightgbm-ring-bruck",
    "all-to-all",
    "gloo-reduce-scatter",
    "gloo-all-gather",
    "gloo-send-receive",
    "gloo-broadcast",
    "gloo-reduce",
    "gloo-gather",
    "gloo-scatter",
    "gloo-all-to-all",
    "gloo-barrier",
)

# `plink order --format`
FORMATS = (
    "hosts",
    "openmpi",
    "openmpi-rankfile",
    "openmpi5-rankfile",
    "mpich",
    "intelmpi",
    "slurm",
    "torchrun",
    "torchrun-script",
    "env",
    "nccl",
    "horovod",
    "deepspeed",
    "lightgbm",
    "jax",
    "mlx",
    "pytorchjob",
    "trainjob",
    "mpijob",
    "leaderworkerset",
    "jobset",
    "slurm-tree",
    "slurm-block",
    "slurm-tree-yaml",
    "slurm-block-yaml",
)

# `plink verify --launcher`
LAUNCHERS = (
    "renumber",
    "openmpi",
    "openmpi-rankfile",
    "openmpi5-rankfile",
    "mpich",
    "intelmpi",
    "slurm",
    "torchrun",
    "torchrun-script",
    "deepspeed",
    "env",
    "nccl",
    "horovod",
    "jax",
    "mlx",
)

# `plink bench --client`
CLIENTS = (
    "engine",
    "hub",
    "gloo",
    "nccl",
    "openmpi",
    "mpich",
)
