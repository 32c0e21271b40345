#pragma once

#include <nanobind/nanobind.h>

namespace plink::hub {

void register_steps(nanobind::module_& module);
void register_serving(nanobind::module_& module);
void register_client(nanobind::module_& module);

}  // namespace plink::hub
