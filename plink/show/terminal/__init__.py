"""Pictures of plink's files for a terminal, and the statistics behind them."""
