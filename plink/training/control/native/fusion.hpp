#pragma once

#include <cstdint>
#include <vector>

#include "request.hpp"

namespace plink::control {

/// Batches, greedily and looking ahead: each takes all later requests that fit and still fill it.
/// `requests`: in the order in which they became ready. `fusion_bytes`: of a batch at most; one
/// that is larger is alone.
std::vector<std::vector<RequestRef>> fused(std::vector<RequestRef> requests,
                                           std::uint64_t fusion_bytes);

}  // namespace plink::control
