#include "letters.hpp"

#include <chrono>
#include <stdexcept>

namespace plink::transport {

namespace {

// Beyond what ranks that agree on a million collectives say at once.
constexpr std::size_t kMostUnreadBytes = std::size_t{256} << 20;

}  // namespace

void Letters::post(int rank, std::string bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_over_) return;
    unsent_.emplace_back(rank, std::move(bytes));
    // While the lock is held, so that nothing is called that `end` lets go.
    on_post_();
}

std::vector<std::pair<int, std::string>> Letters::unsent() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(unsent_, {});
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
    std::vector<Letter> come = std::exchange(come_, {});
    for (const Letter& letter : come) unread_bytes_ -= letter.bytes.size();
    return come;
}

void Letters::wake() {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_woken_ = true;
    changed_.notify_all();
}

void Letters::end() {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
}

}  // namespace plink::transport
