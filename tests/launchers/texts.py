"""The text of every launcher's file for three hosts, one of them with two slots."""

from __future__ import annotations

from plink.formats.hosts import Host

HOSTS = [
    Host("gpu3", "10.0.0.3"),
    Host("gpu1", "10.0.0.1", slots=2),
    Host("node-2.example.org", "10.0.0.2", ssh_address="203.0.113.2", user="bob", port=2222),
]

HOSTS_TEXT = """\
gpu3
gpu1
node-2.example.org
"""

OPENMPI_TEXT = """\
gpu3
gpu1
gpu1
node-2.example.org
"""

RANKFILE_TEXT = """\
rank 0=gpu3 slot=0
rank 1=gpu1 slot=0
rank 2=gpu1 slot=1
rank 3=node-2.example.org slot=0
"""

MPICH_TEXT = """\
gpu3:1
gpu1:2
node-2.example.org:1
"""

TORCHRUN_TEXT = """\
gpu3 GLOO_SOCKET_IFNAME=$(ip -o addr show to 10.0.0.3 | cut -d' ' -f2) torchrun \
--rdzv-backend=static --nnodes=3 --node-rank=0 --nproc-per-node=1 \
--master-addr=10.0.0.3 --master-port=29500
gpu1 GLOO_SOCKET_IFNAME=$(ip -o addr show to 10.0.0.1 | cut -d' ' -f2) torchrun \
--rdzv-backend=static --nnodes=3 --node-rank=1 --nproc-per-node=2 \
--master-addr=10.0.0.3 --master-port=29500
node-2.example.org GLOO_SOCKET_IFNAME=$(ip -o addr show to 10.0.0.2 | cut -d' ' -f2) torchrun \
--rdzv-backend=static --nnodes=3 --node-rank=2 --nproc-per-node=1 \
--master-addr=10.0.0.3 --master-port=29500
"""

ENV_TEXT = """\
gpu3 RANK=0 WORLD_SIZE=4 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=10.0.0.3 \
MASTER_PORT=29500 GLOO_SOCKET_IFNAME=$(ip -o addr show to 10.0.0.3 | cut -d' ' -f2)
gpu1 RANK=1 WORLD_SIZE=4 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 MASTER_ADDR=10.0.0.3 \
MASTER_PORT=29500 GLOO_SOCKET_IFNAME=$(ip -o addr show to 10.0.0.1 | cut -d' ' -f2)
gpu1 RANK=2 WORLD_SIZE=4 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 MASTER_ADDR=10.0.0.3 \
MASTER_PORT=29500 GLOO_SOCKET_IFNAME=$(ip -o addr show to 10.0.0.1 | cut -d' ' -f2)
node-2.example.org RANK=3 WORLD_SIZE=4 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=10.0.0.3 \
MASTER_PORT=29500 GLOO_SOCKET_IFNAME=$(ip -o addr show to 10.0.0.2 | cut -d' ' -f2)
"""

INTELMPI_TEXT = """\
gpu3:1
gpu1:2
node-2.example.org:1
"""

SLURM_TEXT = """\
gpu3
gpu1
gpu1
node-2.example.org
"""

TORCHRUN_SCRIPT_TEXT = """\
#!/bin/sh
# torchrun on every host, in plink's order. Its arguments are the training script and its options.
script=
for word; do
  script="$script '$(printf %s "$word" | sed "s/'/'\\\\\\\\''/g")'"
done
started=
on() {
  ssh -n "$1" "$2 $script" &
  started="$started $!"
}
trap 'kill $started 2>/dev/null' INT TERM HUP
on gpu3 'GLOO_SOCKET_IFNAME=$(ip -o addr show to 10.0.0.3 | cut -d'\\'' '\\'' -f2) torchrun \
--rdzv-backend=static --nnodes=3 --node-rank=0 --nproc-per-node=1 \
--master-addr=10.0.0.3 --master-port=29500'
on gpu1 'GLOO_SOCKET_IFNAME=$(ip -o addr show to 10.0.0.1 | cut -d'\\'' '\\'' -f2) torchrun \
--rdzv-backend=static --nnodes=3 --node-rank=1 --nproc-per-node=2 \
--master-addr=10.0.0.3 --master-port=29500'
on node-2.example.org 'GLOO_SOCKET_IFNAME=$(ip -o addr show to 10.0.0.2 | cut -d'\\'' '\\'' -f2) \
torchrun --rdzv-backend=static --nnodes=3 --node-rank=2 --nproc-per-node=1 \
--master-addr=10.0.0.3 --master-port=29500'
status=0
for process in $started; do
  wait "$process" || status=$?
done
exit $status
"""

NCCL_TEXT = """\
gpu3 RANK=0 WORLD_SIZE=4 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=10.0.0.3 MASTER_PORT=29500 \
NCCL_SOCKET_IFNAME=$(ip -o addr show to 10.0.0.3 | cut -d' ' -f2 | sed 's/^/=/')
gpu1 RANK=1 WORLD_SIZE=4 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 MASTER_ADDR=10.0.0.3 MASTER_PORT=29500 \
NCCL_SOCKET_IFNAME=$(ip -o addr show to 10.0.0.1 | cut -d' ' -f2 | sed 's/^/=/')
gpu1 RANK=2 WORLD_SIZE=4 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 MASTER_ADDR=10.0.0.3 MASTER_PORT=29500 \
NCCL_SOCKET_IFNAME=$(ip -o addr show to 10.0.0.1 | cut -d' ' -f2 | sed 's/^/=/')
node-2.example.org RANK=3 WORLD_SIZE=4 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=10.0.0.3 \
MASTER_PORT=29500 NCCL_SOCKET_IFNAME=$(ip -o addr show to 10.0.0.2 | cut -d' ' -f2 | sed 's/^/=/')
"""

SLOTS_TEXT = """\
gpu3 slots=1
gpu1 slots=2
node-2.example.org slots=1
"""

LIGHTGBM_TEXT = """\
10.0.0.3 12400
10.0.0.1 12400
10.0.0.1 12401
10.0.0.2 12400
"""

JAX_TEXT = """\
gpu3 JAX_COORDINATOR_ADDRESS=10.0.0.3:29500 JAX_NUM_PROCESSES=4 JAX_PROCESS_ID=0
gpu1 JAX_COORDINATOR_ADDRESS=10.0.0.3:29500 JAX_NUM_PROCESSES=4 JAX_PROCESS_ID=1
gpu1 JAX_COORDINATOR_ADDRESS=10.0.0.3:29500 JAX_NUM_PROCESSES=4 JAX_PROCESS_ID=2
node-2.example.org JAX_COORDINATOR_ADDRESS=10.0.0.3:29500 JAX_NUM_PROCESSES=4 JAX_PROCESS_ID=3
"""

MLX_TEXT = """\
[
{"ssh": "gpu3", "ips": ["10.0.0.3"]},
{"ssh": "gpu1", "ips": ["10.0.0.1"]},
{"ssh": "gpu1", "ips": ["10.0.0.1"]},
{"ssh": "node-2.example.org", "ips": ["10.0.0.2"]}
]
"""

TEXTS = {
    "hosts": HOSTS_TEXT,
    "openmpi": OPENMPI_TEXT,
    "openmpi-rankfile": RANKFILE_TEXT,
    "openmpi5-rankfile": RANKFILE_TEXT,
    "mpich": MPICH_TEXT,
    "intelmpi": INTELMPI_TEXT,
    "slurm": SLURM_TEXT,
    "torchrun": TORCHRUN_TEXT,
    "torchrun-script": TORCHRUN_SCRIPT_TEXT,
    "env": ENV_TEXT,
    "nccl": NCCL_TEXT,
    "horovod": SLOTS_TEXT,
    "deepspeed": SLOTS_TEXT,
    "lightgbm": LIGHTGBM_TEXT,
    "jax": JAX_TEXT,
    "mlx": MLX_TEXT,
}
