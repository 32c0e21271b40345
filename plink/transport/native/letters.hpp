#pragma once

#include <chrono>
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
    using Clock = std::chrono::steady_clock;

    struct Letter {
        int rank;
        std::string bytes;
        bool has_left = false;  ///< no letter: this rank has closed, and sends no more
    };
    /// Reads in the supervisor's thread, without a change of threads in between.
    class Reader {
      public:
        /// What has come, if anything. `is_over`: no more will, and this is not called again.
        /// Returns when it is to be called although nothing has come.
        virtual Clock::time_point read(std::vector<Letter> come, bool is_over) = 0;

      protected:
        ~Reader() = default;
    };

    using Carry = std::function<void(int rank, const std::string& bytes)>;

    /// `carry`: sends, in the thread that posts, without waiting. `ring`: lets the supervisor
    /// `attend`. Both are called until `end`.
    Letters(Carry carry, std::function<void()> ring)
        : carry_(std::move(carry)), ring_(std::move(ring)) {}

    /// Sends; nothing is sent after `end`.
    void post(int rank, const std::string& bytes);
    /// A piece of a letter came. Throws std::runtime_error where nobody reads and there is too
    /// much.
    void add(int rank, const std::string& piece, bool is_last);
    void leave(int rank);
    /// What has come: empty where nothing did within `seconds`, or `wake` was called; none where no
    /// more will.
    std::optional<std::vector<Letter>> next(double seconds);
    /// Lets `next` return, or the reader be called. Returns whether there is one that will be.
    bool wake();
    /// No more will come.
    void end();

    /// Letters are read by this one alone, at first at once; by none again with nullptr, and then
    /// the one before is in no call.
    void read_by(Reader* reader);
    /// Calls the reader, where there is one and something for it. Returns when to do so next.
    Clock::time_point attend();

  private:
    const Carry carry_;
    const std::function<void()> ring_;
    /// Held while the reader is called, and taken before the others.
    std::mutex reading_;
    /// Held while something is carried.
    std::mutex posting_;
    bool may_post_ = true;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Letter> come_;
    std::vector<std::string> begun_;  ///< by rank, pieces of a letter that has not ended
    std::size_t unread_bytes_ = 0;
    bool is_woken_ = false;
    bool is_over_ = false;
    Reader* reader_ = nullptr;
    Clock::time_point attend_at_ = Clock::time_point::max();

    std::vector<Letter> taken();
};

}  // namespace plink::transport
