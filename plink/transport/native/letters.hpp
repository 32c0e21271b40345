#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace plink::transport {

/// Bytes for one rank, between the supervisor, which carries them, and whoever sends and reads them
/// on this rank. Those to one rank arrive in their order. Whoever shares it may do so longer than
/// the supervisor lives.
class Letters {
  public:
    /// `on_post`: called, by whoever posts, after there is something to be sent, until `end`.
    explicit Letters(std::function<void()> on_post) : on_post_(std::move(on_post)) {}

    struct Letter {
        int rank;
        std::string bytes;
        bool has_left = false;  ///< no letter: this rank has closed, and sends no more
    };

    /// To be sent; nothing is after `end`.
    void post(int rank, std::string bytes);
    /// What is to be sent since this was last asked.
    std::vector<std::pair<int, std::string>> unsent();
    /// A piece of a letter came. Throws std::runtime_error where nobody reads and there is too
    /// much.
    void add(int rank, const std::string& piece, bool is_last);
    void leave(int rank);
    /// What has come: empty where nothing did within `seconds`, or `wake` was called; none where no
    /// more will.
    std::optional<std::vector<Letter>> next(double seconds);
    /// Lets `next` return.
    void wake();
    /// No more will come.
    void end();

  private:
    const std::function<void()> on_post_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::pair<int, std::string>> unsent_;
    std::vector<Letter> come_;
    std::vector<std::string> begun_;  ///< by rank, pieces of a letter that has not ended
    std::size_t unread_bytes_ = 0;
    bool is_woken_ = false;
    bool is_over_ = false;
};

}  // namespace plink::transport
