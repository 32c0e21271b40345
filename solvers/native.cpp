#include <nanobind/nanobind.h>

#include "annealing/bindings.hpp"
#include "contention/bindings.hpp"
#include "ring/bindings.hpp"

NB_MODULE(_native, module) {
    module.doc() = "Native solvers; use them through their Python modules.";
    plink::contention::register_contention(module);
    plink::ring::register_ring(module);
    plink::annealing::register_annealing(module);
}
