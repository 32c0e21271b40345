#include <nanobind/nanobind.h>

#include "contention/bindings.hpp"
#include "ring/bindings.hpp"
#include "rounds/bindings.hpp"
#include "trees/bindings.hpp"

NB_MODULE(_native, module) {
    module.doc() = "Native solvers; use them through their Python modules.";
    plink::contention::register_contention(module);
    plink::ring::register_ring(module);
    plink::rounds::register_rounds(module);
    plink::trees::register_trees(module);
}
