#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "alarms.hpp"
#include "messages.hpp"
#include "pending.hpp"
#include "settings.hpp"

namespace plink::control {

/// What one part of the tree has announced, and what all of it has.
class Readiness {
  public:
    /// Of the ranks at and below `place`; what waits for `warning_s` is stalled, again after as
    /// long, and after `error_s`. `tell_apart`: called with each request before it is added, also
    /// where it is said again: what is announced elsewhere and at odds with it is to be adopted.
    Readiness(const Place& place, double warning_s, std::optional<double> error_s,
              std::function<void(const Request&)> tell_apart = nullptr);

    /// When something will have stalled; infinity for never.
    double wakes_s() { return alarms_.next_s(); }
    /// When what waits since then will have stalled for the first time.
    double first_alarm_s(double since_s) const { return alarms_.first_s(since_s); }
    /// Whether nothing is announced.
    bool is_empty() const { return pending_.empty() && aside_.empty(); }
    /// Of whom all have to announce something: those that have not joined.
    const std::set<std::int64_t>& sources() const { return sources_; }
    /// Whether nothing that is announced has this name, or a tensor of it.
    bool is_apart(const std::string& name) const;
    /// Whether `complete` has something to say.
    bool has_complete() const { return !complete_.empty(); }
    /// Nobody has joined.
    void begin_anew();
    /// A request is announced by this rank, or by all below a child. Throws WireError where it was
    /// already.
    void add(std::int64_t source, const Versions& versions, double now_s);
    /// So was a request which `is_apart`: by whom, and how; `since_s`: when the first of them
    /// announced it. `is_passed_on`: all have, and it is not to be told again.
    void adopt(const std::vector<std::pair<std::int64_t, Versions>>& said, double since_s,
               bool is_passed_on);
    /// These ranks of a child, or this one, announce no more; nothing waits for them.
    void join(std::int64_t source, const Ranks& ranks);
    /// Since this was last asked: in how many versions a request was announced by all.
    std::vector<Versions> complete();
    /// By whom a request was.
    Ranks announced(const std::string& name) const;
    /// What has waited long for ranks of this part; the rest of it is seen higher up.
    std::vector<Waiting> stalled(double now_s);
    /// Whether all of this part have announced a request, or none has.
    bool is_passed_on(const std::string& name) const;
    /// A request waits for longer than was known here.
    void backdate(const std::string& name, double since_s, double now_s);
    /// They are released or refused. What shares a tensor with one of them waits on without it;
    /// what a child said together with one of them is void, and said again: the child hears of it,
    /// too.
    void forget(const std::vector<std::string>& names);
    /// Nothing goes on.
    void clear();

  private:
    using PendingRef = std::shared_ptr<Pending>;
    /// In the order in which names came.
    struct Entry {
        PendingRef pending;
        std::uint64_t number;
    };

    /// What was said of a name that is passed on, as others said it.
    struct Aside {
        std::int64_t source;
        Versions versions;
        double since_s;
    };

    PendingRef record(std::int64_t source, const Versions& versions, double now_s);
    PendingRef pending_of(std::vector<std::string> names, const Versions& versions, double now_s);
    bool has_said(std::int64_t source, const std::string& name) const;
    bool is_decided(const std::string& name) const;
    void disown(const Pending& pending);
    bool say_unless(const std::unordered_set<std::string>& gone, const Aside& said);
    void say_again(const Pending& pending, const std::unordered_set<std::string>& gone,
                   std::vector<std::string>& again);
    const PendingRef& named(const std::string& name, double now_s);
    void look_at(const PendingRef& pending);

    const Place& place_;
    const std::function<void(const Request&)> tell_apart_;
    std::unordered_map<std::string, Entry> pending_;
    std::uint64_t named_ = 0;
    /// Of each tensor, the request that it belongs to.
    std::unordered_map<std::string, std::string> owners_;
    Alarms alarms_;
    std::vector<PendingRef> complete_;
    std::vector<Aside> aside_;
    std::map<std::int64_t, Ranks> joined_;
    std::set<std::int64_t> sources_;
};

}  // namespace plink::control
