#pragma once

#include <sched.h>

#include <chrono>

namespace plink::engine {

/// How a thread waits for what comes next.
struct Spin {
    std::chrono::nanoseconds time{0};  ///< to look again and again before it sleeps
    /// Sleeps at once for a while where other threads turn out to want its core.
    bool is_careful = false;
};

/// Whether a thread that waits looks once more or sleeps.
class Vigil {
  public:
    using Clock = std::chrono::steady_clock;

    explicit Vigil(Spin spin) : spin_(spin) {}

    /// Something came, or the wait begins.
    void stir(Clock::time_point now) { awake_until_ = now + spin_.time; }

    bool may_sleep(Clock::time_point now) const {
        return now >= awake_until_ || now < careful_until_;
    }

    /// Nothing came: whoever wants this core goes first, since it may be who is waited for.
    void let_others(Clock::time_point now) {
        ::sched_yield();
        if (!spin_.is_careful) return;
        const auto back = Clock::now();
        if (back - now > kLongestTurn) careful_until_ = back + kSleepsFor;
    }

  private:
    // A rank that answers takes tens of microseconds; who computes keeps a core for milliseconds,
    // and then sleeping is faster, since the kernel lets those that wake go first.
    static constexpr auto kLongestTurn = std::chrono::microseconds(100);
    static constexpr auto kSleepsFor = std::chrono::seconds(1);

    Spin spin_;
    Clock::time_point awake_until_{};
    Clock::time_point careful_until_{};
};

}  // namespace plink::engine
