"""Hosts into which a command leads: `kubectl exec`, `docker exec`, `srun`, `nsenter`, ..."""
