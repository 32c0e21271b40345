"""The lab: hosts, racks and switches in network namespaces, with `sshd` in every host.

Standard library only, so that it runs with the system's python3. Pure files (`rates`, `shape`,
`subnets`, `topology`, `wiring`, `texts`) know no process, socket or clock; the others do the work.
"""
