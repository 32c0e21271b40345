"""Trainings whose ranks agree by the machines that real ranks run (`plink.training.control`).

Time is simulated: of messages, of the threads that run machines, of processors that ranks share,
of computing and of what is reduced. What is said and decided is not: each rank has a machine of its
own, and every message is one that a machine made and another takes.
"""
