"""Public functions of `import plink`, one for each command."""
