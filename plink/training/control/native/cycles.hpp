#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordination.hpp"
#include "cycle_messages.hpp"
#include "machine.hpp"
#include "own.hpp"
#include "queue.hpp"
#include "rounds.hpp"
#include "settings.hpp"

namespace plink::control {

/// The machine of one rank that agrees with others in cycles: `plink/training/control/cycles.py`
/// says how, and does the same. A mode says what a cycle begins with and what follows.
class Cycles : public Machine {
  public:
    /// Of all results.
    std::uint64_t digest() const override { return rounds_.digest(); }
    /// Results of rounds.
    std::uint64_t messages_taken() const override { return rounds_.taken(); }
    /// Begun by this rank.
    std::uint64_t cycles() const { return cycles_; }
    bool sleeps() const override { return true; }
    std::vector<Action> step(const std::vector<Event>& events, double now_s) override;

  protected:
    using Batches = std::vector<std::vector<RequestRef>>;

    Cycles(Place place, const Settings& settings);

    // What a mode adds.

    /// Enter the first round of a cycle.
    virtual void begin() = 0;
    /// How the coordinator names a request to all ranks.
    virtual Member member(const RequestRef& request) const = 0;
    /// What the coordinator has named so. Throws WireError where nothing stands there.
    virtual std::vector<RequestRef> named(const std::vector<Member>& members) const = 0;
    /// At the root, what is added to what all ranks are told.
    virtual void respond(Response&) {}
    /// These are released by the coordinator.
    virtual void learn(const Batches&, const Response&) {}
    /// Whether this rank sleeps while the round goes on, and looks only when it wakes.
    virtual bool awaits_by_waking() const { return false; }
    /// This one is announced, and waits for the next cycle.
    virtual void enqueue(const QueuedRef& queued) { queue_.add(queued); }
    virtual void release(const Batches& batches);
    virtual void refuse(const std::string& name, const std::string& text);
    virtual bool forget(const std::string& name);

    bool is_check_due() const { return cycles_ % settings_.check_every == 0; }
    /// The cycle is over.
    void end();

    const Place place_;
    const Settings settings_;
    Queue queue_;
    Coordination coordination_;
    Rounds rounds_;
    double now_s_ = 0.0;

  private:
    void take(const Event& event);
    void announce(const Announced& event);
    void join();
    void wake();
    std::string pass_on(const Values& values);
    std::string decide(const std::string& value);
    void obey(std::string_view data);
    std::string least(const Values& values);
    void sleep_alike(std::string_view data);
    void fall_asleep();
    void fail(const std::string& text);

    static constexpr SleepUntil kAwake{std::numeric_limits<double>::infinity()};

    Own own_;
    std::uint64_t cycles_ = 0;
    double woke_s_ = 0.0;
    std::optional<double> begins_s_;
    std::uint64_t sleep_us_ = 0;
    /// Why nothing goes on.
    std::string failed_;
    std::vector<Action> actions_;
    SleepUntil sleeps_ = kAwake;
};

}  // namespace plink::control
