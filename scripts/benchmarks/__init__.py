"""The benchmarks, one module each; `scripts/bench` lists and runs them.

A module has `EXAMPLE` and `QUICK` (arguments: of the example in its help, and small ones with which
it is quick), `add_arguments(parser)` and `run(arguments, report)`.
"""
