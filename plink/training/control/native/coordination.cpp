#include "coordination.hpp"

#include <cmath>
#include <iterator>

#include "wire.hpp"

namespace plink::control {

namespace {

constexpr int kShownDigits = 3;

/// The cycle itself is the wait for more to fuse with.
Settings at_once(Settings settings) {
    settings.cycle_s = 0.0;
    return settings;
}

double seconds_from_ms(std::uint64_t ms) { return static_cast<double>(ms) / 1000.0; }

/// As people read it: a cycle more or less does not matter.
std::uint64_t rounded(std::uint64_t waited_ms) {
    if (waited_ms == 0) return 0;
    const double magnitude = std::floor(std::log10(static_cast<double>(waited_ms)));
    std::uint64_t unit = 1;
    for (int digits = static_cast<int>(magnitude) + 1; digits > kShownDigits; --digits) unit *= 10;
    const std::uint64_t whole = waited_ms / unit;
    const std::uint64_t twice = 2 * (waited_ms % unit);
    // A half goes to the even one.
    const bool is_up = twice > unit || (twice == unit && whole % 2 == 1);
    return (whole + (is_up ? 1 : 0)) * unit;
}

}  // namespace

Coordination::Coordination(const Place& place, const Settings& settings,
                           std::function<Member(const RequestRef&)> member)
    : place_(place),
      us_(Ranks::of(place.rank)),
      all_(Ranks::below(place.ranks)),
      settings_(at_once(settings)),
      readiness_(place, settings.stall_warning_s, settings.stall_error_s) {
    if (!place.parent) root_.emplace(place.ranks, std::move(member), settings_);
}

bool Coordination::has_news(double now_s) {
    if (!joining_.empty() || !waiting_.empty() || !asked_.empty()) return true;
    if (readiness_.has_complete()) return true;
    if (have_all_joined() || readiness_.wakes_s() <= now_s) return true;
    return root_ && root_->wakes_s() <= now_s;
}

void Coordination::announce(const RequestRef& request, double since_s, double now_s) {
    readiness_.add(place_.rank, {{request, us_}}, since_s);
    readiness_.backdate(request->name, since_s, now_s);
}

void Coordination::wait(const std::string& name, double waited_s) {
    waiting_.push_back({name, static_cast<std::uint64_t>(std::nearbyint(1000.0 * waited_s)), us_});
}

void Coordination::tell_of(const Stalled& stalled, double now_s) {
    for (const auto& [name, waited_ms] : stalled) {
        readiness_.backdate(name, now_s - seconds_from_ms(waited_ms), now_s);
        if (readiness_.is_passed_on(name)) continue;
        Ranks announced = readiness_.announced(name);
        if (!announced.empty()) waiting_.push_back({name, 0, std::move(announced)});
    }
}

void Coordination::settle(const RequestRef& request, double now_s) {
    if (root_) root_->settle({{request, all_}}, now_s);
}

Upward Coordination::pass_on(const std::vector<std::pair<std::int64_t, Upward>>& below,
                             double now_s) {
    Upward up;
    up.joined = std::exchange(joining_, {});
    std::vector<Waiting> waiting = std::exchange(waiting_, {});
    for (const auto& [child, said] : below) {
        try {
            for (const Versions& versions : said.versions) readiness_.add(child, versions, now_s);
        } catch (const WireError& error) {
            up.failed =
                "rank " + std::to_string(child) + " broke the protocol of control: " + error.what();
        }
        up.joined |= said.joined;
        waiting.insert(waiting.end(), said.waiting.begin(), said.waiting.end());
        if (up.failed.empty()) up.failed = said.failed;
    }
    for (const Waiting& one : waiting) {
        readiness_.backdate(one.name, now_s - seconds_from_ms(one.waited_ms), now_s);
    }
    std::vector<Waiting> stalled = readiness_.stalled(now_s);
    std::move(stalled.begin(), stalled.end(), std::back_inserter(waiting));
    for (const Waiting& one : waiting) pass_on_waiting(one, up, now_s);
    for (Versions& versions : readiness_.complete()) {
        if (root_) {
            root_->settle(versions, now_s);
        } else {
            up.versions.push_back(std::move(versions));
        }
    }
    return up;
}

void Coordination::pass_on_waiting(const Waiting& waiting, Upward& up, double now_s) {
    Waiting more{waiting.name, rounded(waiting.waited_ms),
                 waiting.announced | readiness_.announced(waiting.name)};
    if (!root_) {
        up.waiting.push_back(std::move(more));
        return;
    }
    root_->hear_of(more, now_s);
    if (waiting.waited_ms > 0) stalled_.emplace_back(waiting.name, waiting.waited_ms);
}

Response Coordination::decide(const Upward& up, double now_s) {
    if (!up.failed.empty()) root_->fail(up.failed);
    // All ranks take part in every round, so this one brought the answers of all.
    for (const auto& [name, waited_ms] : asked_) root_->hear_of({name, 0, {}, all_}, now_s);
    Response response;
    response.said = root_->next_message(now_s).value_or(Downward());
    response.joining = up.joined;
    response.stalled = std::exchange(stalled_, {});
    asked_ = response.stalled;
    return response;
}

void Coordination::admit(const Ranks& joining) {
    if (joining.empty()) return;
    joined_ |= joining;
    readiness_.join(place_.rank, joining & us_);
    for (const auto& [child, below] : place_.children) readiness_.join(child, joining & below);
    if (root_) root_->join(joining);
}

void Coordination::begin_anew() {
    joined_ = Ranks();
    readiness_.begin_anew();
}

}  // namespace plink::control
