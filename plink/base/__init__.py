"""What every part of plink may use: errors, interrupts, progress, sizes, text."""
