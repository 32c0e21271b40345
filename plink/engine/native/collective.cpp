#include "collective.hpp"

namespace plink::engine {

std::uint16_t folded(std::uint64_t hash) {
    return static_cast<std::uint16_t>(hash ^ (hash >> 16) ^ (hash >> 32) ^ (hash >> 48));
}

Collective::Collective(std::uint64_t its_number, std::uint16_t its_signature, int its_priority)
    : number(its_number), signature(its_signature), priority(its_priority) {}

void Collective::expect_parts(int parts) {
    const std::lock_guard<std::mutex> lock(mutex_);
    parts_left_ = parts;
    if (parts > 0) return;
    status_ = Status::kDone;
    begun_at_ = ended_at_ = posted_at;
}

void Collective::begin_part() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!begun_at_) begun_at_ = Clock::now();
}

void Collective::end_part(bool is_whole) {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_whole_ = is_whole_ && is_whole;
    if (--parts_left_ > 0) return;
    status_ = is_whole_ ? Status::kDone : Status::kFailed;
    ended_at_ = Clock::now();
    ended_.notify_all();
}

void Collective::fail() {
    const std::lock_guard<std::mutex> lock(mutex_);
    status_ = Status::kFailed;
    ended_at_ = Clock::now();
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

Collective::Status Collective::status() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return status_;
}

Collective::Times Collective::times() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return {posted_at, begun_at_, ended_at_};
}

}  // namespace plink::engine
