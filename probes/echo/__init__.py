"""Echo tool: plink's own UDP agent on every host."""
