"""Which gradients are reduced when: agreed by all ranks, in whatever order each announces them.

Machines without a clock, chance, threads or sockets: `step(event, now_s)` returns what is to be
done. The same ones run in ranks and in simulations.
"""
