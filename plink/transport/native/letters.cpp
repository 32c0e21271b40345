#include "letters.hpp"

#include <chrono>
#include <stdexcept>

namespace plink::transport {

namespace {

// Beyond what ranks that agree on a million collectives say at once.
constexpr std::size_t kMostUnreadBytes = std::size_t{256} << 20;

}  // namespace

void Letters::post(int rank, const std::string& bytes) {
    // Held meanwhile, so that nothing is called that `end` lets go.
    const std::lock_guard<std::mutex> posting(posting_);
    if (may_post_) carry_(rank, bytes);
}

void Letters::add(int rank, const std::string& piece, bool is_last) {
    const std::lock_guard<std::mutex> lock(mutex_);
    unread_bytes_ += piece.size();
    if (unread_bytes_ > kMostUnreadBytes) throw std::runtime_error("it sent too much");
    const auto place = static_cast<std::size_t>(rank);
    if (begun_.size() <= place) begun_.resize(place + 1);
    begun_[place] += piece;
    if (!is_last) return;
    come_.push_back({rank, std::exchange(begun_[place], {})});
    changed_.notify_all();
}

void Letters::leave(int rank) {
    const std::lock_guard<std::mutex> lock(mutex_);
    come_.push_back({rank, {}, true});
    changed_.notify_all();
}

std::optional<std::vector<Letters::Letter>> Letters::next(double seconds) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                      [this] { return is_over_ || is_woken_ || !come_.empty(); });
    is_woken_ = false;
    if (is_over_ && come_.empty()) return std::nullopt;
    return taken();
}

bool Letters::wake() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool is_read = reader_ != nullptr && !is_over_;
    if (is_read && !is_woken_) ring_();
    is_woken_ = true;
    changed_.notify_all();
    return is_read;
}

void Letters::end() {
    const std::lock_guard<std::mutex> reading(reading_);
    {
        const std::lock_guard<std::mutex> posting(posting_);
        may_post_ = false;
    }
    std::vector<Letter> come;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (is_over_) return;
        is_over_ = true;
        changed_.notify_all();
        if (reader_ == nullptr) return;
        come = taken();
    }
    reader_->read(std::move(come), true);
}

void Letters::read_by(Reader* reader) {
    const std::lock_guard<std::mutex> reading(reading_);
    bool is_over = false;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        reader_ = reader;
        is_woken_ = reader != nullptr;
        attend_at_ = Clock::time_point::max();
        is_over = is_over_;
        if (is_woken_ && !is_over) ring_();
    }
    if (reader != nullptr && is_over) reader->read({}, true);
}

Letters::Clock::time_point Letters::attend() {
    const std::lock_guard<std::mutex> reading(reading_);
    std::vector<Letter> come;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (reader_ == nullptr || is_over_) return Clock::time_point::max();
        if (come_.empty() && !is_woken_ && Clock::now() < attend_at_) return attend_at_;
        is_woken_ = false;
        come = taken();
    }
    attend_at_ = reader_->read(std::move(come), false);
    return attend_at_;
}

/// With the lock held.
std::vector<Letters::Letter> Letters::taken() {
    for (const Letter& letter : come_) unread_bytes_ -= letter.bytes.size();
    return std::exchange(come_, {});
}

}  // namespace plink::transport
