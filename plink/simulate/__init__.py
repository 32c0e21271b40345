"""Made-up networks and the jobs that train on them, for tests and benchmarks.

Flows share links fairly and readings have noise (`network`); the tuner that is tried on them is the
real one (`jobs`). No training process imports this.
"""
