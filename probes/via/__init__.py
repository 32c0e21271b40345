"""Sessions through a command such as `kubectl exec`, `docker exec`, `srun` or `nsenter`."""
