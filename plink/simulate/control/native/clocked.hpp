#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "actions.hpp"
#include "cycles.hpp"
#include "events.hpp"
#include "machine.hpp"

namespace plink::simulate {

/// Of control, the same on all ranks: `plink/simulate/control/costs.py` says what each is.
struct Costs {
    double latency_s, step_s, in_s, in_s_per_byte, out_s, out_s_per_byte;
};

/// A share of sleeps lasts longer; which do, rank, its number and seed decide.
struct Often {
    double share, by_s;
    std::uint64_t seed;

    double operator()(std::uint64_t rank, std::uint64_t sleep) const;
};

/// Machines on a clock: `plink/simulate/control/clocked.py` says how, and does the same. Here each
/// thread has a processor of its own.
class Clocked {
  public:
    using Machines = std::vector<std::unique_ptr<control::Machine>>;
    /// What machines want beyond messages and sleep: rank, action, when.
    using Do = std::function<void(std::size_t, const control::Action&, double)>;
    /// Something beside the machines, by two numbers that were given with it.
    using Call = std::function<void(std::uint32_t, std::uint64_t)>;

    Clocked(Machines machines, const Costs& costs, std::optional<Often> oversleep, Do act,
            Call call);

    std::size_t ranks() const { return threads_.size(); }
    double now_s() const { return now_s_; }
    std::uint64_t messages() const { return messages_; }
    /// Step all machines for the first time, if that has not been.
    void start();
    /// Until `stop`, or nothing more happens.
    void run();
    /// Let `run` return, after what happens now.
    void stop() { is_stopped_ = true; }
    /// `call` these then.
    void at(double at_s, std::uint32_t one, std::uint64_t other);
    /// Something has happened on a rank, now.
    void tell(std::size_t rank, std::vector<control::Event> events);
    /// A rank's thread does something else after this step, until `let_go`.
    void hold(std::size_t rank) { threads_[rank].is_held = true; }
    void let_go(std::size_t rank);
    /// How long its thread has been awake in a cycle, and waited for others, until now.
    double waited_s(std::size_t rank) const;
    /// Of its thread, until now.
    double busy_s(std::size_t rank) const { return threads_[rank].busy_s; }
    std::uint64_t heard_bytes(std::size_t rank) const { return threads_[rank].heard_bytes; }
    /// Of each cycle that all have begun: from the first rank to the last.
    std::vector<double> spreads_s() const;

  private:
    static constexpr std::uint64_t kNever = UINT64_MAX;

    struct Thread {
        std::unique_ptr<control::Machine> machine;
        const control::Cycles* cycles;  ///< the same, where it has any
        std::vector<control::Event> inbox;
        bool is_asleep = false, will_look = false, is_held = false;
        std::uint64_t asked = kNever;  ///< the last sleep; what was asked for before is forgotten
        std::uint64_t sleeps = 0;
        double busy_until_s = 0.0;
        std::optional<double> waits_since_s;
        double waited_s = 0.0, busy_s = 0.0;
        std::uint64_t heard_bytes = 0;
    };
    enum class Kind : std::uint8_t { kTell, kWake, kLook, kCall };
    struct Happening {
        Kind kind;
        std::uint32_t rank;
        std::uint64_t number;
        control::Event event;
    };
    struct Time {
        double at_s;
        std::uint64_t count;
        std::uint32_t slot;
    };
    struct Cycle {
        double first_s, last_s;
        std::size_t count;
    };

    static bool is_later(const Time& one, const Time& other);
    std::uint64_t cycles_of(const Thread& thread) const {
        return thread.cycles != nullptr ? thread.cycles->cycles() : 0;
    }
    void push(double at_s, Happening happening);
    void happen(Happening happening);
    void look_soon(std::size_t rank);
    void look(std::size_t rank);
    void wake(std::size_t rank, std::uint64_t asked);
    void step(std::size_t rank);
    void note(Thread& thread, std::uint64_t before, double at_s);
    void sleep(std::size_t rank, const control::SleepUntil& action, double at_s);

    const Costs costs_;
    const std::optional<Often> oversleep_;
    const Do do_;
    const Call call_;
    std::vector<Thread> threads_;
    std::vector<Time> queue_;
    std::vector<Happening> happenings_;
    std::vector<std::uint32_t> free_;
    std::vector<Cycle> began_;
    std::uint64_t count_ = 0;
    std::uint64_t messages_ = 0;
    double now_s_ = 0.0;
    bool is_started_ = false;
    bool is_stopped_ = false;
};

}  // namespace plink::simulate
