#include "root.hpp"

#include <algorithm>

#include "fusion.hpp"
#include "pending.hpp"

namespace plink::control {

namespace {

// Seconds that the root waits for ranks to answer whether they have announced a stalled name. A
// rank that has not answered by then, such as a stopped process, is named as missing.
constexpr double kAnswerTimeout_s = 5.0;

}  // namespace

double Root::wakes_s() const {
    double wakes_s = ready_since_s_ + settings_.cycle_s;
    for (const auto& [name, stall] : stalled_) wakes_s = std::min(wakes_s, stall.deadline_s);
    return wakes_s;
}

void Root::settle(const Versions& versions, double now_s) {
    if (versions.size() == 1) return agree(versions.front().request, now_s);
    std::vector<std::string> names;
    for (const Version& version : versions) {
        const std::string& name = version.request->name;
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    for (const std::string& name : names) refuse(name, disagreement(versions));
}

void Root::agree(const RequestRef& request, double now_s) {
    if (!stalled_.empty()) stalled_.erase(request->name);
    if (const std::string problem = join_problem(*request, joined_); !problem.empty()) {
        return refuse(request->name, problem);
    }
    if (ready_.empty()) ready_since_s_ = now_s;
    ready_.push_back(request);
    ready_bytes_ = added(ready_bytes_, request->size_bytes());
}

void Root::refuse(const std::string& name, const std::string& text) {
    stalled_.erase(name);
    next_.refused.emplace_back(name, text);
}

void Root::fail(const std::string& text) {
    if (next_.failed.empty()) next_.failed = text;
}

void Root::join(const Ranks& ranks) {
    joined_ |= ranks;
    if (!ranks.empty()) last_ = ranks.spans().back().second;
}

bool Root::hear_of(const Waiting& waiting, double now_s) {
    if (waiting.waited_ms == 0 && stalled_.count(waiting.name) == 0) return false;
    const auto [found, is_new] = stalled_.try_emplace(waiting.name);
    Stall& stall = found->second;
    if (is_new) {
        stall = {now_s + kAnswerTimeout_s, waiting, stalls_++};
        return true;
    }
    stall.waiting.merge(waiting);
    return false;
}

void Root::ask(const Waiting& waiting) {
    next_.stalled.emplace_back(waiting.name, waiting.waited_ms);
}

void Root::done(std::int64_t batches) {
    under_way_ = std::max<std::int64_t>(0, under_way_ - batches);
}

std::optional<Downward> Root::next_message(double now_s) {
    tell_stalls(now_s);
    if (is_time(now_s)) release();
    if (last_ && ready_.empty() && (all_ - joined_).empty()) {
        next_.last = last_;
        joined_ = Ranks();
        last_.reset();
    }
    if (next_.is_empty()) return std::nullopt;
    return std::exchange(next_, {});
}

bool Root::is_time(double now_s) const {
    if (ready_.empty()) return false;
    return under_way_ == 0 || ready_bytes_ >= settings_.fusion_bytes ||
           now_s >= ready_since_s_ + settings_.cycle_s;
}

void Root::release() {
    const auto batches = fused(std::exchange(ready_, {}), settings_.fusion_bytes);
    for (const std::vector<RequestRef>& batch : batches) {
        std::vector<Member> members;
        for (const RequestRef& request : batch) members.push_back(member_(request));
        next_.batches.push_back(std::move(members));
    }
    next_.joined = !joined_.empty();
    under_way_ += static_cast<std::int64_t>(batches.size());
    ready_bytes_ = 0;
    ready_since_s_ = std::numeric_limits<double>::infinity();
}

void Root::tell_stalls(double now_s) {
    std::vector<Stall> due;
    for (auto it = stalled_.begin(); it != stalled_.end();) {
        const Waiting& waiting = it->second.waiting;
        const Ranks missing = all_ - waiting.announced - joined_;
        if (now_s < it->second.deadline_s && !(missing - waiting.answered).empty()) {
            ++it;
        } else {
            due.push_back(std::move(it->second));
            it = stalled_.erase(it);
        }
    }
    std::sort(due.begin(), due.end(),
              [](const Stall& one, const Stall& other) { return one.number < other.number; });
    for (const Stall& stall : due) {
        const Waiting& waiting = stall.waiting;
        const Ranks missing = all_ - waiting.announced - joined_;
        // The last of them is on its way.
        if (missing.empty()) continue;
        const double waited_s = static_cast<double>(waiting.waited_ms) / 1000.0;
        const double shown_s = static_cast<double>((waiting.waited_ms + 50) / 100) / 10.0;
        std::string text = missing_text(waiting.name, shown_s, waiting.announced, missing);
        if (settings_.stall_error_s && waited_s >= *settings_.stall_error_s) {
            next_.refused.emplace_back(waiting.name, std::move(text));
        } else {
            next_.warnings.push_back(std::move(text));
        }
    }
}

std::string join_problem(const Request& request, const Ranks& joined) {
    if (joined.empty() || request.kind == kAllReduce) return "";
    return "'" + request.name + "' is of the kind " + request.kind + ", which cannot be while " +
           joined.described() + " joined: only an all-reduce can";
}

}  // namespace plink::control
