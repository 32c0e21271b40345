#pragma once

#include <nanobind/nanobind.h>

namespace plink::bounds {

void register_bounds(nanobind::module_& module);

}  // namespace plink::bounds
