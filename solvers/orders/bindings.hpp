#pragma once

#include <nanobind/nanobind.h>

namespace plink::orders {

void register_orders(nanobind::module_& module);

}  // namespace plink::orders
