#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>

namespace plink::limits {

/// Thrown where nothing can be handed out when the time is over.
class TimeOver : public std::exception {
  public:
    const char* what() const noexcept override { return "the time is over"; }
};

/// When something must be over, or that it was stopped before. Copies and parts share the stop.
class Deadline {
  public:
    using Clock = std::chrono::steady_clock;

    /// Adding more could overflow.
    static constexpr double kMostSeconds = 1e8;

    explicit Deadline(double seconds)
        : until_(after(seconds)), is_stopped_(std::make_shared<std::atomic<bool>>(false)) {}

    /// So many seconds from now, but not later than this one.
    Deadline within(double seconds) const {
        Deadline earlier(*this);
        earlier.until_ = std::min(until_, after(seconds));
        return earlier;
    }

    /// At this share of the time that is left.
    Deadline part(double share) const { return within(share * left_s()); }

    /// The same, but so many seconds from now at the earliest.
    Deadline at_least(double seconds) const {
        Deadline later(*this);
        later.until_ = std::max(until_, after(seconds));
        return later;
    }

    void stop() const { is_stopped_->store(true, std::memory_order_relaxed); }
    bool is_stopped() const { return is_stopped_->load(std::memory_order_relaxed); }
    bool is_over(Clock::time_point now) const { return is_stopped() || now >= until_; }
    bool is_over() const { return is_over(Clock::now()); }
    void require() const {
        if (is_over()) throw TimeOver();
    }

    /// 0 where it is over.
    double left_s() const {
        if (is_stopped()) return 0.0;
        return std::max(0.0, std::chrono::duration<double>(until_ - Clock::now()).count());
    }

  private:
    static Clock::time_point after(double seconds) {
        const std::chrono::duration<double> span(std::clamp(seconds, 0.0, kMostSeconds));
        return Clock::now() + std::chrono::duration_cast<Clock::duration>(span);
    }

    Clock::time_point until_;
    std::shared_ptr<std::atomic<bool>> is_stopped_;
};

/// What a long loop asks, as often as every microsecond. Throws what a signal means to Python, such
/// as KeyboardInterrupt, where it runs on Python's main thread.
class Watch {
  public:
    explicit Watch(const Deadline& deadline) : deadline_(deadline) {}
    /// Without a limit where there is none.
    explicit Watch(const Deadline* deadline) : deadline_(deadline ? *deadline : forever()) {}

    bool is_over() {
        const Deadline::Clock::time_point now = Deadline::Clock::now();
        if (now >= next_look_) {
            if (next_look_ != Deadline::Clock::time_point{}) look_for_signals();
            next_look_ = now + kBetweenLooks;
        }
        return deadline_.is_over(now);
    }

    void throw_if_over() {
        if (is_over()) throw TimeOver();
    }

  private:
    static constexpr std::chrono::milliseconds kBetweenLooks{50};

    static Deadline forever() { return Deadline(Deadline::kMostSeconds); }

    static void look_for_signals();

    Deadline deadline_;
    Deadline::Clock::time_point next_look_{};
};

}  // namespace plink::limits
