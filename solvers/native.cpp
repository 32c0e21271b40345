#include <nanobind/nanobind.h>

#include "annealing/bindings.hpp"
#include "bounds/bindings.hpp"
#include "contention/bindings.hpp"
#include "limits/bindings.hpp"
#include "orders/bindings.hpp"
#include "ring/bindings.hpp"

NB_MODULE(_native, module) {
    module.doc() = "Native solvers; use them through their Python modules.";
    plink::limits::register_limits(module);
    plink::orders::register_orders(module);
    plink::bounds::register_bounds(module);
    plink::contention::register_contention(module);
    plink::ring::register_ring(module);
    plink::annealing::register_annealing(module);
}
