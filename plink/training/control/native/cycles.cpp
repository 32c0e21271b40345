#include "cycles.hpp"

#include <algorithm>
#include <cmath>

namespace plink::control {

namespace {

double seconds_from_us(std::uint64_t us) { return static_cast<double>(us) / 1e6; }

}  // namespace

Cycles::Cycles(Place place, const Settings& settings)
    : place_(std::move(place)),
      settings_(settings),
      coordination_(place_, settings_,
                    [this](const RequestRef& request) { return member(request); }),
      rounds_(place_, actions_, [this](const std::string& text) { fail(text); }) {
    rounds_.kinds[kRequests] = {[this](const Values& values) { return pass_on(values); },
                                [this](const std::string& value) { return decide(value); },
                                [this](std::string_view data) { obey(data); }};
    rounds_.kinds[kSleep] = {[this](const Values& values) { return least(values); }, nullptr,
                             [this](std::string_view data) { sleep_alike(data); }};
}

std::vector<Action> Cycles::step(const std::vector<Event>& events, double now_s) {
    now_s_ = now_s;
    if (!begins_s_) begins_s_ = now_s;
    for (const Event& event : events) take(event);
    fall_asleep();
    return std::exchange(actions_, {});
}

void Cycles::take(const Event& event) {
    if (const auto* announced = std::get_if<Announced>(&event)) {
        announce(*announced);
    } else if (std::holds_alternative<Joined>(event)) {
        join();
    } else if (!failed_.empty()) {
        return;
    } else if (const auto* heard = std::get_if<Heard>(&event)) {
        rounds_.hear(*heard);
    } else if (std::holds_alternative<Ticked>(event)) {
        wake();
    } else if (const auto* lost = std::get_if<Lost>(&event)) {
        fail(lost->text);
    } else if (const auto* left = std::get_if<Left>(&event)) {
        rounds_.leave(*left);
    }
}

void Cycles::announce(const Announced& event) {
    if (auto refusal = own_.announce(event.requests, failed_)) {
        actions_.push_back(std::move(*refusal));
        return;
    }
    for (const RequestRef& request : event.requests) {
        enqueue(std::make_shared<const Queued>(Queued{request, now_s_}));
    }
}

void Cycles::join() {
    if (auto refusal = own_.join(failed_)) {
        actions_.push_back(std::move(*refusal));
        return;
    }
    coordination_.join();
}

void Cycles::wake() {
    woke_s_ = now_s_;
    sleeps_ = kAwake;
    if (rounds_.kind()) return;
    ++cycles_;
    begin();
}

// The round of requests.

std::string Cycles::pass_on(const Values& values) {
    const auto said = rounds_.parsed(
        values, [this](std::string_view value) { return upward_of(value, place_.ranks); });
    const bool is_due = is_check_due();
    const std::pair<std::uint64_t, std::uint64_t> check{rounds_.taken(), is_due ? digest() : 0};
    Upward up = coordination_.pass_on(said, now_s_);
    for (const auto& [child, below] : said) {
        if (is_due && below.check != check) {
            rounds_.broken = "rank " + std::to_string(child) + " and rank " +
                             std::to_string(place_.rank) + " agreed on different collectives";
        }
    }
    if (is_due) up.check = check;
    if (up.failed.empty()) up.failed = rounds_.broken;
    return packed(up);
}

std::string Cycles::decide(const std::string& value) {
    Response response = coordination_.decide(upward_of(value, place_.ranks), now_s_);
    respond(response);
    return packed(response);
}

void Cycles::obey(std::string_view data) {
    const Response response = response_of(data, place_.ranks);
    const Downward& said = response.said;
    Batches batches;
    for (const std::vector<Member>& members : said.batches) batches.push_back(named(members));
    learn(batches, response);
    release(batches);
    for (const auto& [name, text] : said.refused) refuse(name, text);
    for (const std::string& text : said.warnings) actions_.push_back(Warn{text});
    coordination_.tell_of(response.stalled, now_s_);
    coordination_.admit(response.joining);
    if (said.last) {
        own_.begin_anew();
        coordination_.begin_anew();
        actions_.push_back(AllJoined{*said.last});
    }
    if (said.failed.empty()) {
        end();
    } else {
        fail(said.failed);
    }
}

void Cycles::release(const Batches& batches) {
    std::vector<Batch> released;
    for (const std::vector<RequestRef>& batch : batches) {
        for (const RequestRef& request : batch) forget(request->name);
        released.push_back({batch, !coordination_.joined().empty()});
    }
    if (!released.empty()) actions_.push_back(Release{std::move(released)});
}

void Cycles::refuse(const std::string& name, const std::string& text) {
    if (forget(name)) actions_.push_back(Refuse{name, text});
}

bool Cycles::forget(const std::string& name) {
    queue_.remove(name);
    coordination_.forget(name);
    return own_.forget(name);
}

// The end of a cycle.

void Cycles::end() {
    const double left_s = woke_s_ + settings_.cycle_s - now_s_;
    sleep_us_ = static_cast<std::uint64_t>(std::max(0.0, std::nearbyint(1e6 * left_s)));
    const std::uint64_t every = settings_.common_sleep_every;
    if (every > 0 && cycles_ % every == 0) {
        rounds_.enter(kSleep);
    } else {
        begins_s_ = now_s_ + seconds_from_us(sleep_us_);
    }
}

std::string Cycles::least(const Values& values) {
    std::uint64_t least_us = sleep_us_;
    for (const auto& [child, sleep_us] : rounds_.parsed(values, sleep_of)) {
        least_us = std::min(least_us, sleep_us);
    }
    return packed_sleep(least_us);
}

void Cycles::sleep_alike(std::string_view data) {
    begins_s_ = now_s_ + seconds_from_us(sleep_of(data));
}

/// A thread that sleeps hears nothing; one in a round that blocks awaits messages.
void Cycles::fall_asleep() {
    SleepUntil sleeps = kAwake;
    if (!failed_.empty()) {
        sleeps = kAwake;
    } else if (!rounds_.kind()) {
        sleeps = {begins_s_.value_or(0.0), false};
    } else if (awaits_by_waking()) {
        sleeps = {std::max(woke_s_ + settings_.cycle_s, now_s_), false};
    }
    if (sleeps == sleeps_) return;
    sleeps_ = sleeps;
    actions_.push_back(sleeps);
}

void Cycles::fail(const std::string& text) {
    if (!failed_.empty()) return;
    failed_ = text;
    rounds_.end();
    queue_.clear();
    coordination_.clear();
    actions_.push_back(FailAll{text});
}

}  // namespace plink::control
