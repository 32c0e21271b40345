#pragma once

#include <nanobind/nanobind.h>

namespace plink::ring {

/// Adds the ring solvers' native names to `module`.
void register_ring(nanobind::module_& module);

}  // namespace plink::ring
