#pragma once

#include <nanobind/nanobind.h>

namespace plink::contention {

/// Adds the search by contention's native names to `module`.
void register_contention(nanobind::module_& module);

}  // namespace plink::contention
