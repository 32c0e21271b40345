"""Programs that run on the hosts. Each is sent there whole, and needs no plink."""
