#include "deal.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace plink::engine {

namespace {

// Chunks begin at multiples of so many items: whole cache lines from the buffer's start.
constexpr std::size_t kAlignedItems = 64;

constexpr std::size_t kSmallestChunkBytes = std::size_t{8} << 10;
constexpr std::size_t kLeastChunkBytes = std::size_t{32} << 10;
constexpr std::size_t kMostChunkBytes = std::size_t{256} << 10;
constexpr std::size_t kChunksOfARoute = 32;

std::size_t rounded_up(std::size_t value, std::size_t step) {
    return (value + step - 1) / step * step;
}

/// A chunk of a route, when its turn comes: between 0 and 1.
struct Turn {
    double at;
    std::uint32_t route;
    std::uint32_t index;
    std::uint32_t segment;
};

/// How a segment is cut.
struct Cut {
    std::size_t chunks;
    std::size_t chunk_items;  ///< of every chunk but the last
    std::size_t next_item;    ///< of the next chunk, in the whole buffer
    std::size_t end_item;
};

Cut cut(std::size_t items, std::size_t first_item, std::size_t item_bytes,
        std::size_t chunk_bytes) {
    Cut cut{0, 0, first_item, first_item + items};
    if (items == 0) return cut;
    const std::size_t wanted = (items * item_bytes + chunk_bytes - 1) / chunk_bytes;
    cut.chunk_items = rounded_up((items + wanted - 1) / wanted, kAlignedItems);
    if (cut.chunk_items > UINT32_MAX) throw std::invalid_argument("a chunk has too many items");
    cut.chunks = (items + cut.chunk_items - 1) / cut.chunk_items;
    if (cut.chunks > kMostChunks) {
        throw std::invalid_argument("the buffer has too many chunks");
    }
    return cut;
}

void add_turns(const Segment& segment, std::uint32_t index, std::size_t chunks,
               std::vector<Turn>& turns) {
    const std::vector<std::uint32_t> share =
        shares(segment.weights, static_cast<std::uint32_t>(chunks));
    for (std::size_t i = 0; i < share.size(); ++i) {
        for (std::uint32_t turn = 0; turn < share[i]; ++turn) {
            turns.push_back({(turn + 0.5) / share[i], segment.routes[i], turn, index});
        }
    }
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

Deal make_deal(const std::vector<Segment>& segments, std::size_t item_bytes,
               std::size_t chunk_bytes, int workers) {
    Deal deal{item_bytes, {}, {}, {}, {}};
    std::size_t items = 0;
    std::size_t used_routes = 0;
    for (const Segment& segment : segments) {
        if (segment.items == 0) continue;
        items += segment.items;
        used_routes +=
            static_cast<std::size_t>(std::count_if(segment.weights.begin(), segment.weights.end(),
                                                   [](double weight) { return weight > 0.0; }));
    }
    if (items == 0) return deal;
    if (chunk_bytes == 0 && items * item_bytes <= kSmallBufferBytes) workers = 1;
    if (chunk_bytes == 0) chunk_bytes = suitable_chunk_bytes(items * item_bytes, used_routes);

    std::vector<Turn> turns;
    std::vector<Cut> cuts;
    std::size_t first_item = 0;
    for (const Segment& segment : segments) {
        cuts.push_back(cut(segment.items, first_item, item_bytes, chunk_bytes));
        add_turns(segment, static_cast<std::uint32_t>(cuts.size() - 1), cuts.back().chunks, turns);
        first_item += segment.items;
        if (turns.size() > kMostChunks) {
            throw std::invalid_argument("the buffer has too many chunks");
        }
    }
    std::sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) {
        return a.at != b.at ? a.at < b.at : a.route < b.route;
    });
    for (const Turn& turn : turns) {
        Cut& here = cuts[turn.segment];
        const std::size_t taken = std::min(here.chunk_items, here.end_item - here.next_item);
        deal.first_item.push_back(here.next_item);
        deal.chunk_items.push_back(static_cast<std::uint32_t>(taken));
        here.next_item += taken;
        deal.route.push_back(turn.route);
        // Each route's chunks in turn to all workers: none carries only what has one root.
        deal.worker.push_back(static_cast<std::uint16_t>((turn.index + turn.route) % workers));
    }
    return deal;
}

}  // namespace plink::engine
