"""Terminal output of plink's files, with the statistics behind it."""
