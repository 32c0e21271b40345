"""torchrun rendezvous that numbers ranks in plink's order (`docs/torchrun.md`).

    torchrun --rdzv-backend=plink --rdzv-endpoint=HOST:PORT --rdzv-conf order=order.json train.py

An *agent* is what torchrun runs on a host; it starts that host's workers. A *round* is a meeting of
agents, after which workers begin, or begin again. PyTorch decides which agents are in a round;
plink decides how they are numbered.
"""
