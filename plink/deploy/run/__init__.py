"""A job on the hosts of an order, started over SSH: a process a rank."""
