#include "deal.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace plink::engine {

namespace {

// Chunks begin at multiples of so many items: whole cache lines from the buffer's start.
constexpr std::size_t kAlignedItems = 64;
constexpr std::size_t kMostChunks = 0x7fffffffU;

constexpr std::size_t kSmallestChunkBytes = std::size_t{8} << 10;
constexpr std::size_t kLeastChunkBytes = std::size_t{32} << 10;
constexpr std::size_t kMostChunkBytes = std::size_t{256} << 10;
constexpr std::size_t kChunksOfARoute = 32;

std::size_t rounded_up(std::size_t value, std::size_t step) {
    return (value + step - 1) / step * step;
}

}  // namespace

std::size_t suitable_chunk_bytes(std::size_t size_bytes, std::size_t routes) {
    const std::size_t chunk =
        std::clamp(size_bytes / (routes * kChunksOfARoute), kLeastChunkBytes, kMostChunkBytes);
    return std::min(chunk, std::max(kSmallestChunkBytes, size_bytes / routes));
}

std::vector<std::uint32_t> shares(const std::vector<double>& weights, std::uint32_t chunks) {
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::vector<std::uint32_t> share(weights.size());
    std::vector<double> remainder(weights.size());
    std::uint32_t dealt = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const double exact = weights[i] / sum * chunks;
        share[i] = static_cast<std::uint32_t>(exact);
        remainder[i] = weights[i] > 0.0 ? exact - share[i] : -1.0;
        dealt += share[i];
    }
    std::vector<std::size_t> order(weights.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return remainder[a] > remainder[b]; });
    for (std::size_t i = 0; dealt < chunks; ++i, ++dealt) ++share[order[i % order.size()]];
    // Rounding may have dealt one too many.
    for (std::size_t i = order.size(); dealt > chunks; --dealt) {
        while (share[order[i - 1]] == 0) --i;
        --share[order[i - 1]];
    }
    return share;
}

Deal make_deal(const Forest& forest, std::size_t items, std::size_t item_bytes,
               std::size_t chunk_bytes, int workers) {
    Deal deal{items, item_bytes, 0, {}, {}};
    if (items == 0) return deal;
    const auto active =
        static_cast<std::size_t>(std::count_if(forest.weights().begin(), forest.weights().end(),
                                               [](double weight) { return weight > 0.0; }));
    if (chunk_bytes == 0 && items * item_bytes <= kSmallBufferBytes) workers = 1;
    if (chunk_bytes == 0) chunk_bytes = suitable_chunk_bytes(items * item_bytes, active);
    const std::size_t wanted = (items * item_bytes + chunk_bytes - 1) / chunk_bytes;
    deal.chunk_items = rounded_up((items + wanted - 1) / wanted, kAlignedItems);
    const std::size_t chunks = (items + deal.chunk_items - 1) / deal.chunk_items;
    if (chunks > kMostChunks) throw std::invalid_argument("the buffer has too many chunks");

    struct Turn {
        double at;
        std::uint32_t route;
        std::uint32_t index;
    };
    std::vector<Turn> turns;
    turns.reserve(chunks);
    const std::vector<std::uint32_t> share =
        shares(forest.weights(), static_cast<std::uint32_t>(chunks));
    for (std::uint32_t route = 0; route < share.size(); ++route) {
        for (std::uint32_t i = 0; i < share[route]; ++i) {
            turns.push_back({(i + 0.5) / share[route], route, i});
        }
    }
    std::sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) {
        return a.at != b.at ? a.at < b.at : a.route < b.route;
    });
    for (const Turn& turn : turns) {
        deal.route.push_back(turn.route);
        // Each route's chunks in turn to all workers: none carries only what has one root.
        deal.worker.push_back(static_cast<std::uint16_t>((turn.index + turn.route) % workers));
    }
    return deal;
}

}  // namespace plink::engine
