#pragma once

#include <nanobind/nanobind.h>

namespace plink::engine {

/// What an engine is made of: forests, meshes, contexts of TLS, deals and windows.
void register_setting_up(nanobind::module_& module);

}  // namespace plink::engine
