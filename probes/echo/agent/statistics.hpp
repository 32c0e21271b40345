// What an agent reports of the round-trip times it took.
#pragma once

#include <cstdint>
#include <vector>

namespace plink {

// The smallest sample that at least `percentile` per cent of all samples do not exceed
// (nearest rank). Sorts `samples_ns`, which must not be empty.
uint32_t percentile_ns(std::vector<uint32_t>* samples_ns, double percentile);

}  // namespace plink
