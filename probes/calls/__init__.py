"""Agents that call home: hosts that nobody can reach connect to plink, which runs commands there.

The connection is SSH turned round: the agent connects, and is the server on that connection. Both
prove that they know one secret, from which both of their keys are derived.
"""
