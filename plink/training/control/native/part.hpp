#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "marks.hpp"
#include "messages.hpp"
#include "own.hpp"
#include "readiness.hpp"
#include "settings.hpp"
#include "table.hpp"

namespace plink::control {

/// What a rank and all below it have announced: what is known, by position, and all else by name.
/// `plink/training/control/part.py` says how, and does the same.
class Part {
  public:
    /// `table`: of this rank; what it is about to change is `unmark`ed first. `own`: what this rank
    /// has announced, but for what is marked.
    Part(const Place& place, const Table& table, Own& own, const Settings& settings);

    /// When something will have stalled; infinity for never.
    double wakes_s();
    /// Nobody has joined.
    void begin_anew() { named_.begin_anew(); }
    /// Whether it is no more than a mark that this is announced, which stood there.
    bool can_mark(std::uint64_t position, const RequestRef& request) const;
    /// Whether that is so of whatever stands anywhere.
    bool can_mark_all() const {
        return named_.is_empty() && table_.groups() == 0 && !table_.has_changed();
    }
    /// What stands there is announced by this rank, or by all below a child; each `can_mark`.
    /// Throws WireError where one of them was already.
    void mark(std::int64_t source, const std::vector<std::uint64_t>& positions, double now_s);
    /// These are announced by this rank, if that is no more than marks. Returns whether it is: all,
    /// or none.
    bool announce(const std::vector<RequestRef>& requests, double now_s);
    /// What is marked and has this one's name, or a tensor of it, is at odds with it.
    void tell_apart(const Request& request);
    /// So is anything else. Throws WireError where it was already.
    void add(std::int64_t source, const Versions& versions, double now_s);
    /// These ranks of a child, or this one, announce no more; nothing waits for them.
    void join(std::int64_t source, const Ranks& ranks);
    /// Since this was last asked: positions of what was announced by all, ascending.
    std::vector<std::uint64_t> complete_marks() { return marks_.complete(named_.sources()); }
    /// Since this was last asked: in how many versions anything else was.
    std::vector<Versions> complete() { return named_.complete(); }
    /// By whom a request was.
    Ranks announced(const std::string& name) const;
    /// What has waited long for ranks of this part; the rest of it is seen higher up.
    std::vector<Waiting> stalled(double now_s);
    /// A request waits for longer than was known here.
    void backdate(const std::string& name, double since_s, double now_s);
    /// What stands there is released.
    void release(const std::vector<std::uint64_t>& positions,
                 const std::vector<RequestRef>& requests);
    /// They are refused.
    void refuse(const std::vector<std::string>& names);
    /// What stands there is at odds with something, or will stand there no more.
    void unmark(std::uint64_t position);
    /// Nothing goes on.
    void clear();

  private:
    void unmark(const std::string& name);

    const std::int64_t rank_;
    const Table& table_;
    Own& own_;
    std::map<std::int64_t, Ranks> ranks_;
    Marks marks_;
    Readiness named_;
};

}  // namespace plink::control
