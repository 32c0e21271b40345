#pragma once

#include <nanobind/nanobind.h>

namespace plink::annealing {

void register_annealing(nanobind::module_& module);

}  // namespace plink::annealing
