#include "words.hpp"

#include <chrono>
#include <stdexcept>
#include <utility>

namespace plink::transport {

namespace {

// Beyond what any set-up of many ranks says.
constexpr std::size_t kMostUnheardBytes = std::size_t{64} << 20;

}  // namespace

void Words::tell(std::string text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    untold_.push_back(std::move(text));
}

std::vector<std::string> Words::untold() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(untold_, {});
}

void Words::add(int rank, std::string text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    heard_bytes_ += text.size();
    if (heard_bytes_ > kMostUnheardBytes) throw std::runtime_error("it said too much");
    heard_.push_back({rank, std::move(text)});
    changed_.notify_all();
}

void Words::leave(int rank) {
    const std::lock_guard<std::mutex> lock(mutex_);
    heard_.push_back({rank, "", true});
    changed_.notify_all();
}

std::optional<Words::Heard> Words::next(double seconds) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                      [this] { return is_over_ || !heard_.empty(); });
    if (is_over_ || heard_.empty()) return std::nullopt;
    Heard heard = std::move(heard_.front());
    heard_.pop_front();
    heard_bytes_ -= heard.text.size();
    return heard;
}

void Words::end() {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
}

}  // namespace plink::transport
