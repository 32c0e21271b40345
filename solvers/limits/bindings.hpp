#pragma once

#include <nanobind/nanobind.h>

namespace plink::limits {

void register_limits(nanobind::module_& module);

}  // namespace plink::limits
