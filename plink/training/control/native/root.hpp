#pragma once

#include <cstdint>
#include <limits>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "messages.hpp"
#include "settings.hpp"
#include "table.hpp"

namespace plink::control {

/// What the root decides: when what is released, in which batches, and what all are told.
class Root {
  public:
    /// Beside the machine of the tree's root, whose table this is.
    Root(std::int64_t ranks, const Table& table, const Settings& settings)
        : all_(Ranks::below(ranks)), table_(table), settings_(settings) {}

    /// When it has something to do next; infinity for never.
    double wakes_s() const;
    /// All ranks have announced a name. Where they do not agree, it is refused.
    void settle(const Versions& versions, double now_s);
    /// It fails on all ranks that announced it.
    void refuse(const std::string& name, const std::string& text);
    /// Nothing goes on.
    void fail(const std::string& text);
    /// These have joined; the highest of those that did so at once counts as the last.
    void join(const Ranks& ranks);
    /// Some ranks have waited long, or say only who announced it. Returns whether it is news.
    bool hear_of(const Waiting& waiting, double now_s);
    /// All ranks are to say who has announced it, of whom nobody has heard yet.
    void ask(const Waiting& waiting);
    /// So many released batches have ended here.
    void done(std::int64_t batches);
    /// What all ranks are to be told now, if anything.
    std::optional<Downward> next_message(double now_s);

  private:
    struct Stall {
        double at_s;
        Waiting waiting;
        std::uint64_t number;  ///< they are told in the order in which they came
    };
    using Used = std::list<std::pair<std::string, std::uint64_t>>;

    bool is_time(double now_s) const;
    void release();
    Member member(const RequestRef& request);
    void tell_stalls(double now_s);

    Ranks all_;
    const Table& table_;
    const Settings& settings_;
    std::vector<RequestRef> ready_;
    std::uint64_t ready_bytes_ = 0;
    double ready_since_s_ = std::numeric_limits<double>::infinity();
    std::int64_t under_way_ = 0;
    /// Positions by name, oldest release first: it gives its own away where there are no more.
    Used used_;
    std::unordered_map<std::string, Used::iterator> places_;
    std::unordered_map<std::string, Stall> stalled_;
    std::uint64_t stalls_ = 0;
    Ranks joined_;
    std::optional<std::int64_t> last_;
    Downward next_;
};

}  // namespace plink::control
