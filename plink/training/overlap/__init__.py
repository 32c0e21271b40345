"""When to send which gradients together, so that communication hides behind computing.

Pure: no clock, no I/O, nothing but numpy. Gradients stand in one pool in the order in which they
become ready; a schedule is where that pool is cut into collectives, and how many of these are in
flight at once.
"""
