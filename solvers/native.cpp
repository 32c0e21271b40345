#include <nanobind/nanobind.h>

namespace plink::annealing {
void register_annealing(nanobind::module_& module);
}
namespace plink::bounds {
void register_bounds(nanobind::module_& module);
}
namespace plink::contention {
void register_contention(nanobind::module_& module);
}
namespace plink::limits {
void register_limits(nanobind::module_& module);
}
namespace plink::orders {
void register_orders(nanobind::module_& module);
}
namespace plink::ring {
void register_ring(nanobind::module_& module);
}

NB_MODULE(_native, module) {
    module.doc() = "Native solvers; use them through their Python modules.";
    plink::limits::register_limits(module);
    plink::orders::register_orders(module);
    plink::bounds::register_bounds(module);
    plink::contention::register_contention(module);
    plink::ring::register_ring(module);
    plink::annealing::register_annealing(module);
}
