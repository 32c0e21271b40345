#include "statistics.hpp"

#include <algorithm>
#include <cmath>

namespace plink {

uint32_t percentile_ns(std::vector<uint32_t>* samples_ns, double percentile) {
    std::sort(samples_ns->begin(), samples_ns->end());
    double rank = std::ceil(percentile / 100.0 * static_cast<double>(samples_ns->size()));
    return (*samples_ns)[rank < 1.0 ? 0 : static_cast<size_t>(rank) - 1];
}

}  // namespace plink
