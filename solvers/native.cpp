#include <nanobind/nanobind.h>

#include "ring/bindings.hpp"

NB_MODULE(_native, module) {
    module.doc() = "Native solvers; use them through their Python modules.";
    plink::ring::register_ring(module);
}
