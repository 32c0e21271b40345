#include "way_in.hpp"

#include <algorithm>
#include <cmath>

#include "lane.hpp"
#include "link.hpp"
#include "loop.hpp"

namespace plink::hub {

namespace {

// What all workers of a port may have on their way to it and back. With 8 workers 128 KB each,
// which the kernel doubles: enough for 400 Mbit/s and queues of some milliseconds.
constexpr double kMostBytes = 1 << 20;
// Of a connection: what every kernel allows (net.core.rmem_max), and some segments, without which
// a connection stops and starts.
constexpr double kMostLinkBytes = 160 << 10;
constexpr double kLeastLinkBytes = 4 << 10;
// Where services share the port. A connection has less than its sender's kernel lets it have in
// queues of the same machine (two packets before they are cut, 128 KB), which is the same for all
// and would be what they are shared out by.
constexpr double kMostSharedBytes = 512 << 10;
constexpr double kMostSharedLinkBytes = 64 << 10;

// Long enough for a few round trips of a full queue.
constexpr double kLook_s = 0.05;
constexpr double kStale_s = 0.5;
// Of what came before the last look; some 0.4 s are remembered.
constexpr double kMemory = 0.88;
constexpr double kGain = 0.3;
constexpr double kLeastFactor = 0.5;

}  // namespace

void WayIn::enter(Link& link) {
    const auto is_its = [&link](const Queue& queue) { return queue.tenant == link.tenant; };
    auto at = std::find_if(queues_.begin(), queues_.end(), is_its);
    if (at == queues_.end()) at = queues_.insert(at, Queue{link.tenant, {}});
    at->links.push_back(&link);
    if (at->links.size() == 1) at->seen_bytes = come_bytes(*at);
    share_out();
}

std::uint64_t WayIn::come_bytes(const Queue& queue) {
    return queue.links.front()->lane.figures().bytes_in;
}

void WayIn::leave(Link& link) {
    const auto is_its = [&link](const Queue& queue) { return queue.tenant == link.tenant; };
    const auto at = std::find_if(queues_.begin(), queues_.end(), is_its);
    if (at == queues_.end()) return;
    at->links.erase(std::remove(at->links.begin(), at->links.end(), &link), at->links.end());
    if (at->links.empty()) queues_.erase(at);
    share_out();
}

void WayIn::look(double now_s) {
    if (now_s - looked_s_ < kLook_s) return;
    const bool is_first = now_s - looked_s_ > kStale_s;
    looked_s_ = now_s;
    if (is_first) {
        // Since then one may have had the port for itself.
        for (Queue& queue : queues_) {
            queue.seen_bytes = come_bytes(queue);
            queue.come_bytes = 0.0;
        }
        return;
    }
    double least = HUGE_VAL;
    for (Queue& queue : queues_) {
        const std::uint64_t bytes = come_bytes(queue);
        const auto come = static_cast<double>(bytes - queue.seen_bytes);
        queue.seen_bytes = bytes;
        // Who sends nothing has no part in this, and saves up nothing.
        queue.come_bytes =
            come > 0.0 ? kMemory * queue.come_bytes + come / queue.tenant->weight : 0.0;
        if (come > 0.0) least = std::min(least, queue.come_bytes);
    }
    for (Queue& queue : queues_) {
        if (queue.come_bytes == 0.0) continue;
        // The one with the least has its window back in a second.
        const double wanted = queue.come_bytes > least ? least / queue.come_bytes : 1.1;
        queue.factor = std::clamp(queue.factor * std::pow(wanted, kGain), kLeastFactor, 1.0);
    }
    share_out();
}

void WayIn::share_out() {
    double most_weight = 0.0;
    double all_weights = 0.0;
    std::size_t fewest = SIZE_MAX;
    for (const Queue& queue : queues_) {
        most_weight = std::max(most_weight, queue.tenant->weight);
        all_weights += queue.tenant->weight;
        fewest = std::min(fewest, queue.links.size());
    }
    // Of the service with the largest weight.
    const double all = is_shared() ? kMostSharedBytes * most_weight / all_weights : kMostBytes;
    const double of_link = is_shared() ? kMostSharedLinkBytes : kMostLinkBytes;
    const double most = std::min(all, of_link * static_cast<double>(fewest));
    for (const Queue& queue : queues_) {
        const double factor = is_shared() ? queue.factor : 1.0;
        const double share = factor * most * queue.tenant->weight / most_weight;
        const double bytes = std::max(share / static_cast<double>(queue.links.size()),
                                      kLeastLinkBytes);
        const double out_bytes = is_shared() ? kMostLinkBytes : bytes;
        for (Link* const link : queue.links) {
            link->limit(static_cast<int>(bytes), static_cast<int>(out_bytes));
        }
    }
}

}  // namespace plink::hub
