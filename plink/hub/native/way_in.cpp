#include "way_in.hpp"

#include <algorithm>
#include <cmath>

#include "lane.hpp"
#include "link.hpp"
#include "loop.hpp"

namespace plink::hub {

namespace {

// What all workers of a port may have on their way to it and back: what it carries in that time,
// and the kernel doubles it. The last chunk of an iteration waits behind it on its way in, and on
// its way out. The least lets ranks on busy cores pause for some milliseconds.
constexpr double kQueue_s = 0.004;
constexpr double kLeastBytes = 384 << 10;
constexpr double kMostBytes = 1 << 20;
// Of the rate found, each time that something came: half of it is left after two seconds.
constexpr double kRateMemory = 0.98;
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
constexpr double kActive_s = 0.15;
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
    is_contended_ = is_contended_ && is_shared();
    share_out();
}

void WayIn::look(double now_s) {
    if (now_s - looked_s_ < kLook_s) return;
    const double elapsed_s = now_s - looked_s_;
    const bool is_first = elapsed_s > kStale_s;
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
    std::size_t active = 0;
    double all_come = 0.0;
    for (Queue& queue : queues_) {
        const std::uint64_t bytes = come_bytes(queue);
        const auto come = static_cast<double>(bytes - queue.seen_bytes);
        queue.seen_bytes = bytes;
        all_come += come;
        // Who sends nothing has no part in this, and saves up nothing.
        queue.come_bytes =
            come > 0.0 ? kMemory * queue.come_bytes + come / queue.tenant->weight : 0.0;
        if (come > 0.0) least = std::min(least, queue.come_bytes);
        if (come > 0.0) queue.came_s = now_s;
        queue.is_active = now_s - queue.came_s < kActive_s;
        active += queue.is_active;
    }
    is_contended_ = active > 1;
    if (all_come > 0.0) {
        rate_bytes_s_ = std::max(kRateMemory * rate_bytes_s_, all_come / elapsed_s);
    }
    for (Queue& queue : queues_) {
        if (queue.come_bytes == 0.0) continue;
        // The one with the least has its window back in a second.
        const double wanted = queue.come_bytes > least ? least / queue.come_bytes : 1.1;
        queue.factor = std::clamp(queue.factor * std::pow(wanted, kGain), kLeastFactor, 1.0);
    }
    share_out();
}

/// In steps of twice as much, so that windows do not change all the time.
double WayIn::most_bytes() const {
    if (rate_bytes_s_ == 0.0) return kMostBytes;
    double bytes = kLeastBytes;
    while (bytes < kMostBytes && bytes < rate_bytes_s_ * kQueue_s) bytes *= 2.0;
    return std::min(bytes, kMostBytes);
}

void WayIn::share_out() {
    double most_weight = 0.0;
    double all_weights = 0.0;
    std::size_t fewest = SIZE_MAX;
    for (const Queue& queue : queues_) {
        if (is_contended_ && !queue.is_active) continue;
        most_weight = std::max(most_weight, queue.tenant->weight);
        all_weights += queue.tenant->weight;
        fewest = std::min(fewest, queue.links.size());
    }
    // Of the service with the largest weight.
    const double all = is_contended_ ? kMostSharedBytes * most_weight / all_weights : most_bytes();
    const double of_link = is_contended_ ? kMostSharedLinkBytes : kMostLinkBytes;
    for (const Queue& queue : queues_) {
        const std::size_t links = is_contended_ ? fewest : queue.links.size();
        const double most = std::min(all, of_link * static_cast<double>(links));
        const double factor = is_contended_ ? queue.factor : 1.0;
        const double part = std::min(1.0, queue.tenant->weight / most_weight);
        // Who has the port for itself has all of it.
        const double share = factor * most * (is_contended_ ? part : 1.0);
        const double bytes =
            std::max(share / static_cast<double>(queue.links.size()), kLeastLinkBytes);
        const double out_bytes = is_contended_ ? kMostLinkBytes : bytes;
        for (Link* const link : queue.links) {
            link->limit(static_cast<int>(bytes), static_cast<int>(out_bytes));
        }
    }
}

}  // namespace plink::hub
