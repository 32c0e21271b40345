#include "precision.hpp"

#include <algorithm>

#include "statistics.hpp"

namespace plink {
namespace {

// Fewer than that say too little of how the network drifts (docs/benchmarks.md, Probing).
constexpr uint32_t kFirstLook = 400;
constexpr double kRisk = 0.05;
constexpr size_t kBatches = 10;
constexpr size_t kFewestSamples = 2 * kBatches;

struct Ranks {
    uint64_t low;   // 0 where there is none
    uint64_t high;  // above `size` where there is none
};

// The greatest rank that lies above a percentile, and the smallest that lies below, each with a
// probability of no more than `tail`, of `size` independent samples.
Ranks ranks(uint64_t size, double share, double tail) {
    // Weights relative to the most probable number: the probabilities themselves would underflow.
    auto mode = std::min(static_cast<uint64_t>(static_cast<double>(size + 1) * share), size);
    std::vector<double> weights(size + 1);
    weights[mode] = 1.0;
    double odds = share / (1.0 - share);
    for (uint64_t k = mode; k < size; ++k) {
        weights[k + 1] =
            weights[k] * static_cast<double>(size - k) / static_cast<double>(k + 1) * odds;
    }
    for (uint64_t k = mode; k > 0; --k) {
        weights[k - 1] =
            weights[k] * static_cast<double>(k) / static_cast<double>(size - k + 1) / odds;
    }
    double total = 0.0;
    for (double weight : weights) total += weight;
    Ranks found{0, size + 1};
    for (double sum = 0.0; (sum += weights[found.low]) <= tail * total;) ++found.low;
    for (double sum = 0.0; (sum += weights[found.high - 1]) <= tail * total;) --found.high;
    return found;
}

// How many times more the samples vary together than independent ones would.
double variance_inflation(const std::vector<uint32_t>& samples_ns, uint32_t quantile_ns,
                          double share) {
    size_t batch = samples_ns.size() / kBatches;
    std::vector<double> shares;
    double mean = 0.0;
    for (size_t i = samples_ns.size() - batch * kBatches; i < samples_ns.size(); i += batch) {
        auto begin = samples_ns.begin() + static_cast<ptrdiff_t>(i);
        auto not_above =
            std::count_if(begin, begin + static_cast<ptrdiff_t>(batch),
                          [=](uint32_t sample_ns) { return sample_ns <= quantile_ns; });
        shares.push_back(static_cast<double>(not_above) / static_cast<double>(batch));
        mean += shares.back();
    }
    mean /= static_cast<double>(kBatches);
    double squares = 0.0;
    for (double value : shares) squares += (value - mean) * (value - mean);
    double variance = squares / static_cast<double>(kBatches - 1);
    return std::max(1.0, static_cast<double>(batch) * variance / (share * (1.0 - share)));
}

}  // namespace

std::vector<uint32_t> looks_until(uint32_t count) {
    std::vector<uint32_t> looks;
    for (uint32_t size = kFirstLook; size < count; size += size / 2) looks.push_back(size);
    looks.push_back(count);
    return looks;
}

uint32_t half_width_ppm(const std::vector<uint32_t>& samples_ns, double percentile, size_t looks) {
    double share = percentile / 100.0;
    if (samples_ns.size() < kFewestSamples || share <= 0.0 || share >= 1.0) return kUnknownPpm;
    std::vector<uint32_t> sorted_ns = samples_ns;
    uint64_t quantile_ns = percentile_ns(&sorted_ns, percentile);
    uint64_t size = samples_ns.size();
    double inflation = variance_inflation(samples_ns, static_cast<uint32_t>(quantile_ns), share);
    auto effective = static_cast<uint64_t>(static_cast<double>(size) / inflation);
    if (effective == 0) return kUnknownPpm;
    Ranks found = ranks(effective, share, kRisk / static_cast<double>(looks) / 2.0);
    if (found.low == 0 || found.high > effective) return kUnknownPpm;
    uint64_t low_ns = sorted_ns[found.low * size / effective - 1];
    uint64_t high_ns = sorted_ns[(found.high * size + effective - 1) / effective - 1];
    if (quantile_ns == 0) return kUnknownPpm;
    uint64_t width_ns = std::max(high_ns - quantile_ns, quantile_ns - low_ns);
    uint64_t ppm = (width_ns * 1000000 + quantile_ns - 1) / quantile_ns;
    return static_cast<uint32_t>(std::min<uint64_t>(ppm, kUnknownPpm - 1));
}

}  // namespace plink
