#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "messages.hpp"
#include "settings.hpp"

namespace plink::control {

/// What the root decides: when what is released, in which batches, and what all are told.
class Root {
  public:
    /// Beside the machine of the rank that is the tree's root. `member`: how all ranks are told of
    /// a request that is being released.
    Root(std::int64_t ranks, std::function<Member(const RequestRef&)> member,
         const Settings& settings)
        : all_(Ranks::below(ranks)), member_(std::move(member)), settings_(settings) {}

    /// When it has something to do next; infinity for never.
    double wakes_s() const;
    /// All ranks have announced a name. Where they do not agree, it is refused.
    void settle(const Versions& versions, double now_s);
    /// All ranks have announced just this. Where it cannot be, it is refused.
    void agree(const RequestRef& request, double now_s);
    /// It fails on all ranks that announced it.
    void refuse(const std::string& name, const std::string& text);
    /// Nothing goes on.
    void fail(const std::string& text);
    /// These have joined; the highest of those that did so at once counts as the last.
    void join(const Ranks& ranks);
    /// Record a report or an answer about a stalled name; return whether the stall is new.
    bool hear_of(const Waiting& waiting, double now_s);
    /// Ask all ranks, with the next message, whether they have announced a stalled name.
    void ask(const Waiting& waiting);
    /// So many released batches have ended here.
    void done(std::int64_t batches);
    /// What all ranks are to be told now, if anything.
    std::optional<Downward> next_message(double now_s);

  private:
    struct Stall {
        double deadline_s;  ///< when the root stops waiting for answers
        Waiting waiting;
        std::uint64_t number;  ///< they are told in the order in which they came
    };

    bool is_time(double now_s) const;
    void release();
    void tell_stalls(double now_s);

    Ranks all_;
    const std::function<Member(const RequestRef&)> member_;
    const Settings& settings_;
    std::vector<RequestRef> ready_;
    std::uint64_t ready_bytes_ = 0;
    double ready_since_s_ = std::numeric_limits<double>::infinity();
    std::int64_t under_way_ = 0;
    std::unordered_map<std::string, Stall> stalled_;
    std::uint64_t stalls_ = 0;
    Ranks joined_;
    std::optional<std::int64_t> last_;
    Downward next_;
};

/// Why a request cannot be while these ranks have joined, for people; empty where it can.
std::string join_problem(const Request& request, const Ranks& joined);

}  // namespace plink::control
