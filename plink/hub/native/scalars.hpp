#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "steps.hpp"

namespace plink::hub {

/// Of one parameter group, as `plink.hub.hyper` packs them.
struct Hyper {
    double lr = 0;
    double momentum = 0;
    double dampening = 0;
    double weight_decay = 0;
    double beta1 = 0;
    double beta2 = 0;
    double eps = 0;
    bool is_nesterov = false;
    bool is_maximized = false;
};

constexpr std::size_t kHyperBytes = 64;

/// Throws std::runtime_error where the bytes are none of so many groups, or say what cannot be.
std::vector<Hyper> decode_hypers(const std::uint8_t* bytes, std::size_t size, std::size_t groups);

/// Where two of so many groups, as they travel, first differ: what, such as "lr of group 0", and
/// the numbers as text.
struct Difference {
    std::string what, one, other;
};
Difference difference(const std::uint8_t* one, const std::uint8_t* other, std::size_t groups);

/// As `plink.hub.reference.scalars`: `step` counts from 1.
Scalars scalars_of(Optimizer optimizer, const Hyper& hyper, std::uint64_t step);

/// What the mean is multiplied with so that its norm is at most `clip`; 0 for no limit.
float clip_scale(double norm, double clip);

}  // namespace plink::hub
