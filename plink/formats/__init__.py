"""File formats of plink: cluster, order, plan and comparison files, read and written."""
