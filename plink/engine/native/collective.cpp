#include "collective.hpp"

namespace plink::engine {

namespace {

std::uint16_t folded(std::uint64_t hash) {
    return static_cast<std::uint16_t>(hash ^ (hash >> 16) ^ (hash >> 32) ^ (hash >> 48));
}

}  // namespace

Collective::Collective(std::uint64_t its_number, std::shared_ptr<const Schedule> its_schedule,
                       void* its_data, Op its_op, int its_ranks)
    : number(its_number),
      schedule(std::move(its_schedule)),
      data(static_cast<std::uint8_t*>(its_data)),
      op(its_op),
      ranks(its_ranks),
      signature(folded(mixed(schedule->digest, &its_op, sizeof(its_op)))) {
    const Deal& deal = schedule->deal;
    states.resize(deal.chunks());
    for (std::uint32_t chunk = 0; chunk < deal.chunks(); ++chunk) {
        const auto& place = schedule->places->in(static_cast<int>(deal.route[chunk]));
        states[chunk].children_left = static_cast<std::uint32_t>(place.reduce_children.size());
    }
}

void Collective::expect_parts(int parts) {
    const std::lock_guard<std::mutex> lock(mutex_);
    parts_left_ = parts;
    if (parts == 0) status_ = Status::kDone;
}

void Collective::end_part(bool is_whole) {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_whole_ = is_whole_ && is_whole;
    if (--parts_left_ > 0) return;
    status_ = is_whole_ ? Status::kDone : Status::kFailed;
    ended_.notify_all();
}

Collective::Status Collective::wait(double seconds) {
    const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                          std::chrono::duration<double>(seconds));
    if (const auto carrying = carrier.lock()) carrying->carry(*this, until);
    std::unique_lock<std::mutex> lock(mutex_);
    ended_.wait_until(lock, until, [this] { return status_ != Status::kPending; });
    return status_;
}

Collective::Status Collective::status() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return status_;
}

}  // namespace plink::engine
