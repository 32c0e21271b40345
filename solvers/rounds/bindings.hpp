#pragma once

#include <nanobind/nanobind.h>

namespace plink::rounds {

void register_rounds(nanobind::module_& module);

}  // namespace plink::rounds
