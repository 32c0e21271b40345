#pragma once

#include <nanobind/nanobind.h>

namespace plink::engine {

/// Adds what is pure of the wire formats to `module`, so that it can be tested by itself.
void register_wire(nanobind::module_& module);

}  // namespace plink::engine
