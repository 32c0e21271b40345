"""What `import plink` offers: the commands as functions."""
