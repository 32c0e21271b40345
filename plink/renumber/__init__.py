"""Ranks of a job that a launcher has started, numbered anew so that they follow an order.

Used by `plink.torch.init_process_group`, `plink renumber`, torchrun's rendezvous (`plink.torchrun`)
and Ray (`plink.ray`): `meeting` is how processes agree, `numbering` and `assignment` say who gets
which rank, `measuring` and `echo_agent` measure the hosts from inside the job.
"""
