#pragma once

#include <cstddef>

#include "types.hpp"

namespace plink::engine {

/// into[i] = into[i] op values[i], for `items` items at any alignment. A mean is a sum until its
/// root divides.
using Accumulate = void (*)(void* into, const void* values, std::size_t items);

/// The inner loops, compiled for one instruction set.
struct Kernels {
    /// By type and operation; null where the operation is not defined for the type.
    Accumulate accumulate[kDTypes][kOps];
    /// values[i] = values[i] / divisor; whole numbers are cut towards zero. Null for halves.
    void (*divide[kDTypes])(void* values, std::size_t items, double divisor);
    /// 16-bit floating point by way of float: the sum is rounded once, when it is complete.
    void (*widen[kDTypes])(float* into, const void* values, std::size_t items);
    void (*add_widened[kDTypes])(float* into, const void* values, std::size_t items);
    void (*narrow[kDTypes])(void* into, const float* values, std::size_t items, float divisor);
};

/// The fastest that this processor runs.
const Kernels& kernels();

}  // namespace plink::engine
