#pragma once

#include <nanobind/nanobind.h>

#include "loan.hpp"

namespace plink::engine {

/// What Python has of a collective or message under way; it keeps the engine.
struct Posted {
    Work work;
    nanobind::object engine;
};

/// The work as Python has it; `engine` is the `LentEngine` that does it.
Posted posted(nanobind::handle engine, Work work);

void register_work(nanobind::module_& module);

}  // namespace plink::engine
