#include "schedule.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

namespace plink::engine {

namespace {

// Training repeats few sizes; what varies them without end must not fill the memory.
constexpr std::size_t kMostKept = 256;
constexpr std::size_t kMostLayouts = 16;

/// The frames of one chunk at this rank.
void add_chunk(const Schedule& schedule, std::uint32_t chunk, Share& share) {
    const Places::Place& place = schedule.places->in(static_cast<int>(schedule.deal.route[chunk]));
    if (reduces(schedule.kind)) {
        share.frames_in += place.reduce_children.size();
        for (const int child : place.reduce_children) ++share.receives[child];
        if (!place.is_root()) {
            if (place.reduce_children.empty()) share.ready[place.reduce_parent].push_back(chunk);
            ++share.sends[place.reduce_parent];
            ++share.frames_out;
        }
    }
    if (broadcasts(schedule.kind)) {
        if (!place.is_root()) {
            ++share.frames_in;
            ++share.receives[place.broadcast_parent];
        }
        for (const int child : place.broadcast_children) {
            if (place.is_root() && !reduces(schedule.kind)) share.ready[child].push_back(chunk);
            ++share.sends[child];
        }
        share.frames_out += place.broadcast_children.size();
    }
}

}  // namespace

bool Call::operator<(const Call& other) const {
    return std::tie(kind, dtype, root, counts) <
           std::tie(other.kind, other.dtype, other.root, other.counts);
}

Plan::Layout::Layout(Rooted rooted, int rank)
    : weights(rooted.forest.weights()),
      routes(std::move(rooted.routes)),
      places(std::make_shared<const Places>(rooted.forest, rank)) {}

Plan::Plan(Forest forest, int rank, int workers, std::size_t chunk_bytes)
    : forest_(std::move(forest)),
      rank_(rank),
      workers_(workers),
      chunk_bytes_(chunk_bytes),
      digest_(mixed(forest_.digest(), &chunk_bytes_, sizeof(chunk_bytes_))),
      whole_(as_planned(forest_), rank) {}

std::shared_ptr<const Schedule> Plan::schedule(const Call& call, const WorkerWeights& weights) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (weights != weights_) {
        made_.clear();
        weights_ = weights;
    }
    const auto found = made_.find(call);
    if (found != made_.end()) return found->second;
    if (made_.size() >= kMostKept) made_.clear();
    return made_[call] = made(call);
}

const Plan::Layout& Plan::layout(const Call& call) {
    if (call.kind == Kind::kAllReduce) return whole_;
    const bool is_small = call.counts.front() * item_bytes(call.dtype) <= kSmallBufferBytes;
    const Way way = has_segments(call.kind) ? Way::kAtEach
                    : is_small              ? Way::kAtRoot
                                            : Way::kFromRoot;
    const std::pair<Way, int> key{way, call.root};
    const auto found = layouts_.find(key);
    if (found != layouts_.end()) return found->second;
    if (layouts_.size() >= kMostLayouts) layouts_.clear();
    Rooted rooted = way == Way::kAtEach   ? rooted_at_each(forest_)
                    : way == Way::kAtRoot ? rooted_at(forest_, call.root)
                                          : spread_from(forest_, call.root);
    return layouts_.emplace(key, Layout(std::move(rooted), rank_)).first->second;
}

std::shared_ptr<const Schedule> Plan::made(const Call& call) {
    const Layout& layout = this->layout(call);
    std::vector<Segment> segments;
    for (std::size_t i = 0; i < call.counts.size(); ++i) {
        segments.push_back({call.counts[i], layout.routes[i], {}});
        for (const std::uint32_t route : layout.routes[i]) {
            segments.back().weights.push_back(layout.weights[route]);
        }
    }
    auto schedule = std::make_shared<Schedule>();
    schedule->kind = call.kind;
    schedule->dtype = call.dtype;
    schedule->places = layout.places;
    schedule->deal = make_deal(segments, item_bytes(call.dtype), chunk_bytes_, workers_);
    deal_by_weight(schedule->deal, weights_);
    schedule->own_first_item =
        has_segments(call.kind)
            ? std::accumulate(call.counts.begin(), call.counts.begin() + rank_, std::size_t{0})
            : 0;
    std::uint64_t digest = mixed(digest_, &call.kind, sizeof(call.kind));
    digest = mixed(digest, &call.dtype, sizeof(call.dtype));
    digest = mixed(digest, &call.root, sizeof(call.root));
    digest = mixed(digest, weights_.data(), weights_.size() * sizeof(weights_[0]));
    schedule->digest =
        mixed(digest, call.counts.data(), call.counts.size() * sizeof(call.counts[0]));

    const Deal& deal = schedule->deal;
    schedule->shares.assign(workers_, Share(forest_.ranks()));
    std::size_t items = 0;
    for (std::uint32_t chunk = 0; chunk < deal.chunks(); ++chunk) {
        add_chunk(*schedule, chunk, schedule->shares[deal.worker[chunk]]);
        items += deal.items_of(chunk);
    }
    schedule->used_routes = static_cast<std::uint32_t>(
        std::set<std::uint32_t>(deal.route.begin(), deal.route.end()).size());
    schedule->mean_chunk_bytes =
        static_cast<double>(items * deal.item_bytes) / std::max<std::uint32_t>(1, deal.chunks());
    if (deal.chunks() > 0 && items * deal.item_bytes <= kSmallBufferBytes &&
        std::all_of(deal.worker.begin(), deal.worker.end(),
                    [&deal](std::uint16_t worker) { return worker == deal.worker[0]; })) {
        schedule->sole_worker = deal.worker[0];
    }
    schedule->worker_bytes.resize(workers_);
    if (!schedule->sole_worker) {
        for (std::uint32_t chunk = 0; chunk < deal.chunks(); ++chunk) {
            schedule->worker_bytes[deal.worker[chunk]] += deal.bytes_of(chunk);
        }
    }
    return schedule;
}

}  // namespace plink::engine
