#pragma once

#include <nanobind/nanobind.h>

namespace plink::trees {

void register_trees(nanobind::module_& module);

}  // namespace plink::trees
