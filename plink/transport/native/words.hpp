#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace plink::transport {

/// What ranks tell each other beside the collectives, between the supervisor, which carries it, and
/// whoever speaks and listens on this rank.
class Words {
  public:
    struct Heard {
        int rank;
        std::string text;
        bool has_left = false;  ///< no words: this rank has closed, and tells no more
    };

    /// To be told to all ranks, this one too.
    void tell(std::string text);
    /// What is to be told since this was last asked.
    std::vector<std::string> untold();
    /// A rank told this. Throws std::runtime_error where nobody listens and there is too much of
    /// it.
    void add(int rank, std::string text);
    void leave(int rank);
    /// What was told next; none where nothing is within `seconds`, or no more will be.
    std::optional<Heard> next(double seconds);
    /// No more will be told.
    void end();

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::string> untold_;
    std::deque<Heard> heard_;
    std::size_t heard_bytes_ = 0;
    bool is_over_ = false;
};

}  // namespace plink::transport
