#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cycle_messages.hpp"
#include "readiness.hpp"
#include "root.hpp"
#include "settings.hpp"

namespace plink::control {

/// Requests counted by name in rounds: up goes what parts are ready for, down what is released.
/// One rank's part: of all below it, and at the root of all. Ranks that join are first named to
/// all, and count as joined from the next cycle on.
class Coordination {
  public:
    /// `member`: how the coordinator names a request to all ranks.
    Coordination(const Place& place, const Settings& settings,
                 std::function<Member(const RequestRef&)> member);

    const Ranks& joined() const { return joined_; }
    /// Whether all ranks know that all have.
    bool have_all_joined() const { return (all_ - joined_).empty(); }
    /// Whether a round is needed for what is known here.
    bool has_news(double now_s);
    /// This rank is ready for a request since then.
    void announce(const RequestRef& request, double since_s, double now_s);
    /// A request waits for long that was not counted here until now.
    void wait(const std::string& name, double waited_s);
    /// Others wait for these: say who announced them here, though not all have.
    void tell_of(const Stalled& stalled, double now_s);
    /// This rank announces no more.
    void join() { joining_ |= us_; }
    /// At the root: all ranks agree about this one already.
    void settle(const RequestRef& request, double now_s);
    /// What the parent is to hear of all below; at the root it is decided about instead.
    Upward pass_on(const std::vector<std::pair<std::int64_t, Upward>>& below, double now_s);
    /// At the root: what all ranks are told.
    Response decide(const Upward& up, double now_s);
    /// It is released or refused.
    void forget(const std::string& name) { readiness_.forget({name}); }
    /// These count as joined from now on.
    void admit(const Ranks& joining);
    /// All have joined, and none has.
    void begin_anew();
    /// Nothing goes on.
    void clear() { readiness_.clear(); }

  private:
    void pass_on_waiting(const Waiting& waiting, Upward& up, double now_s);

    const Place& place_;
    const Ranks us_;
    const Ranks all_;
    const Settings settings_;
    Readiness readiness_;
    std::optional<Root> root_;
    Ranks joining_;
    std::vector<Waiting> waiting_;
    Stalled stalled_;
    /// At the root: stalled names about which the last response asked all ranks.
    Stalled asked_;
    Ranks joined_;
};

}  // namespace plink::control
