#include "schedule.hpp"

#include <algorithm>

namespace plink::engine {

namespace {

// Training repeats few sizes; what varies them without end must not fill the memory.
constexpr std::size_t kMostKept = 256;

}  // namespace

Plan::Plan(Forest forest, int rank, int workers, std::size_t chunk_bytes)
    : forest_(std::move(forest)),
      rank_(rank),
      workers_(workers),
      chunk_bytes_(chunk_bytes),
      digest_(mixed(forest_.digest(), &chunk_bytes_, sizeof(chunk_bytes_))),
      places_(std::make_shared<const Places>(forest_, rank)) {}

std::shared_ptr<const Schedule> Plan::schedule(std::size_t items, DType dtype,
                                               const WorkerWeights& weights) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (weights != weights_) {
        made_.clear();
        weights_ = weights;
    }
    const auto key = std::make_tuple(items, dtype);
    const auto found = made_.find(key);
    if (found != made_.end()) return found->second;
    if (made_.size() >= kMostKept) made_.clear();
    return made_[key] = made(items, dtype);
}

std::shared_ptr<const Schedule> Plan::made(std::size_t items, DType dtype) const {
    auto schedule = std::make_shared<Schedule>();
    schedule->places = places_;
    schedule->deal = make_deal(forest_, items, item_bytes(dtype), chunk_bytes_, workers_);
    deal_by_weight(schedule->deal, weights_);
    schedule->dtype = dtype;
    const std::uint64_t length = items;
    schedule->digest = mixed(mixed(digest_, &length, sizeof(length)), &dtype, sizeof(dtype));
    schedule->digest =
        mixed(schedule->digest, weights_.data(), weights_.size() * sizeof(weights_[0]));
    schedule->shares.resize(workers_);
    for (Share& share : schedule->shares) {
        share.leaves.resize(forest_.ranks());
        share.sends.resize(forest_.ranks());
    }
    const Deal& deal = schedule->deal;
    for (std::uint32_t chunk = 0; chunk < deal.chunks(); ++chunk) {
        Share& share = schedule->shares[deal.worker[chunk]];
        const Places::Place& place = places_->in(static_cast<int>(deal.route[chunk]));
        share.frames_in += place.reduce_children.size();
        if (!place.is_root()) {
            if (place.reduce_children.empty()) share.leaves[place.reduce_parent].push_back(chunk);
            ++share.sends[place.reduce_parent];
            ++share.frames_out;
            ++share.frames_in;
        }
        for (const int child : place.broadcast_children) ++share.sends[child];
        share.frames_out += place.broadcast_children.size();
    }
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
