"""The files that plink's verbs read and write."""
