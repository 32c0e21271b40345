#include <nanobind/nanobind.h>

NB_MODULE(_native, module) { module.doc() = "Native solvers; use them through their Python modules."; }
