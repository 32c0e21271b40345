#include "tree.hpp"

#include <algorithm>

#include "digest.hpp"
#include "wire.hpp"

namespace plink::control {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

std::string rank_text(std::int64_t rank) { return "rank " + std::to_string(rank); }

/// Those of a map whose number is at most `seen` are of no more use.
template <typename Map, typename Number>
void drop(Map& map, std::uint64_t seen, const Number& number) {
    for (auto it = map.begin(); it != map.end();)
        it = number(*it) > seen ? std::next(it) : map.erase(it);
}

}  // namespace

Tree::Tree(Place place, const Settings& settings)
    : place_(std::move(place)),
      settings_(settings),
      table_(!place_.children.empty()),
      part_(place_, table_, own_, settings_) {
    if (!place_.parent) {
        positions_.emplace(table_, settings_.most_positions);
        root_.emplace(
            place_.ranks, [this](const RequestRef& request) { return positions_->member(request); },
            settings_);
    }
    for (const auto& [child, below] : place_.children) child_seen_[child] = 0;
}

std::vector<Action> Tree::step(const std::vector<Event>& events, double now_s) {
    for (const Event& event : events) take(event, now_s);
    if (failed_.empty()) pass_on(now_s);
    sleep();
    return std::exchange(actions_, {});
}

void Tree::take(const Event& event, double now_s) {
    if (const auto* announced = std::get_if<Announced>(&event)) {
        announce(*announced, now_s);
    } else if (std::holds_alternative<Joined>(event)) {
        join();
    } else if (!failed_.empty()) {
        return;
    } else if (const auto* heard = std::get_if<Heard>(&event)) {
        hear(*heard, now_s);
    } else if (std::holds_alternative<Ticked>(event)) {
        // The driver has forgotten the time, also where it came a little too soon.
        wakes_s_ = -kNever;
    } else if (const auto* lost = std::get_if<Lost>(&event)) {
        fail(lost->text);
    } else if (const auto* left = std::get_if<Left>(&event)) {
        leave(*left, now_s);
    } else if (const auto* done = std::get_if<Done>(&event); done != nullptr && root_) {
        root_->done(done->batches);
    } else if (const auto* answers = std::get_if<AnswersHeld>(&event)) {
        holds_answers_ = answers->is_held;
    }
}

void Tree::announce(const Announced& event, double now_s) {
    // Marks are kept in the order of their times.
    const bool can_mark = !event.since_s && failed_.empty() && !own_.has_joined();
    if (can_mark && part_.announce(event.requests, now_s)) return;
    for (const RequestRef& request : event.requests) part_.tell_apart(*request);
    if (auto refusal = own_.announce(event.requests, failed_)) {
        actions_.push_back(std::move(*refusal));
        return;
    }
    const double since_s = event.since_s.value_or(now_s);
    for (const RequestRef& request : event.requests) {
        part_.add(place_.rank, {{request, Ranks::of(place_.rank)}}, since_s);
        // A rank below may have announced it to this one before.
        if (event.since_s) part_.backdate(request->name, since_s, now_s);
    }
}

void Tree::join() {
    if (auto refusal = own_.join(failed_)) {
        actions_.push_back(std::move(*refusal));
        return;
    }
    part_.join(place_.rank, Ranks::of(place_.rank));
    up_.joined |= Ranks::of(place_.rank);
}

/// What a parent or a child carried to others is carried no more.
void Tree::leave(const Left& event, double now_s) {
    if (event.rank == place_.parent) {
        Downward message;
        message.failed = event.text;
        obey(message, packed(message), now_s);
    } else if (below(event.rank) != nullptr) {
        break_off(event.text);
    }
}

void Tree::hear(const Heard& event, double now_s) {
    try {
        if (event.rank == place_.parent) {
            obey(downward_of(event.message, place_.ranks), event.message, now_s);
        } else if (const Ranks* ranks = below(event.rank)) {
            count(event.rank, *ranks, upward_of(event.message, place_.ranks), now_s);
        } else {
            throw WireError("it is neither parent nor child");
        }
    } catch (const WireError& error) {
        break_off(rank_text(event.rank) + " broke the protocol of control: " + error.what());
    }
}

/// What a child says of all below it.
void Tree::count(std::int64_t child, const Ranks& below, const Upward& message, double now_s) {
    std::uint64_t& child_seen = child_seen_[child];
    if (message.seen < child_seen || message.seen > taken_) {
        throw WireError("it has heard what nobody said");
    }
    if (message.check) {
        const auto [at, digest] = *message.check;
        const auto known = checks_.find(at);
        if (known == checks_.end() || known->second != digest) {
            break_off(rank_text(child) + " and " + rank_text(place_.rank) +
                      " agreed on different collectives");
        }
    }
    if (!message.failed.empty()) break_off(message.failed);
    std::vector<Versions> said;
    for (const RequestRef& request : mark(child, message, now_s)) {
        said.push_back({{request, below}});
    }
    said.insert(said.end(), message.versions.begin(), message.versions.end());
    for (const Versions& versions : said) {
        if (std::none_of(versions.begin(), versions.end(), [&](const Version& version) {
                return is_void(version.request->name, message.seen);
            })) {
            part_.add(child, versions, now_s);
        }
    }
    part_.join(child, message.joined);
    up_.joined |= message.joined;
    for (const Waiting& waiting : message.waiting) {
        if (!is_void(waiting.name, message.seen)) pass_on_stall(waiting, now_s);
    }
    child_seen = message.seen;
    forget();
}

/// Marks what a child names by position, and returns what is more than a mark.
std::vector<RequestRef> Tree::mark(std::int64_t child, const Upward& message, double now_s) {
    const auto highest = std::max_element(message.ready.begin(), message.ready.end());
    const bool stands = highest == message.ready.end() || *highest < table_.size();
    if (stands && part_.can_mark_all() && refused_.empty()) {
        part_.mark(child, message.ready, now_s);
        return {};
    }
    std::vector<std::uint64_t> known;
    std::vector<RequestRef> others;
    for (const std::uint64_t position : message.ready) {
        const RequestRef& request = table_.at(position, message.seen);
        if (is_void(request->name, message.seen)) continue;
        if (part_.can_mark(position, request)) {
            known.push_back(position);
        } else {
            others.push_back(request);
        }
    }
    part_.mark(child, known, now_s);
    return others;
}

bool Tree::is_void(const std::string& name, std::uint64_t seen) const {
    if (refused_.empty()) return false;
    const auto found = refused_.find(name);
    return found != refused_.end() && seen < found->second;
}

void Tree::forget() {
    std::uint64_t seen = UINT64_MAX;
    for (const auto& [child, child_seen] : child_seen_) seen = std::min(seen, child_seen);
    table_.forget(seen);
    drop(refused_, seen, [](const auto& refused) { return refused.second; });
    drop(checks_, seen, [](const auto& check) { return check.first; });
}

/// To the parent what is new, or as the root to all what is decided.
void Tree::pass_on(double now_s) {
    for (const std::uint64_t position : part_.complete_marks()) {
        if (root_) {
            root_->agree(table_.now_at(position), now_s);
        } else {
            up_.ready.push_back(position);
        }
    }
    for (const Versions& versions : part_.complete()) {
        if (root_) {
            root_->settle(versions, now_s);
        } else {
            say_complete(versions);
        }
    }
    for (const Waiting& waiting : part_.stalled(now_s)) pass_on_stall(waiting, now_s);
    answer(now_s);
    if (root_) {
        root_->join(std::exchange(up_, {}).joined);
        while (const auto message = root_->next_message(now_s)) {
            obey(*message, packed(*message), now_s);
            answer(now_s);
        }
    } else if (!up_.is_empty()) {
        up_.seen = taken_;
        actions_.push_back(Send{*place_.parent, packed(up_)});
        up_ = {};
        waiting_at_.clear();
    }
}

void Tree::say_complete(const Versions& versions) {
    const auto position =
        versions.size() == 1 ? table_.position(versions.front().request) : std::nullopt;
    if (position) {
        up_.ready.push_back(*position);
    } else {
        up_.versions.push_back(versions);
    }
}

void Tree::pass_on_stall(const Waiting& waiting, double now_s) {
    Waiting more = waiting;
    more.announced |= part_.announced(waiting.name);
    if (root_) {
        if (root_->hear_of(more, now_s)) root_->ask(more);
        return;
    }
    // All ranks of the subtree answer for each name: one entry for all of them.
    const auto [found, is_new] = waiting_at_.try_emplace(more.name, up_.waiting.size());
    if (is_new) {
        up_.waiting.push_back(std::move(more));
    } else {
        up_.waiting[found->second].merge(more);
    }
}

/// Takes what the root says, and passes it on.
void Tree::obey(const Downward& message, std::string_view data, double now_s) {
    for (const auto& [child, ranks] : place_.children) {
        actions_.push_back(Send{child, std::string(data)});
    }
    ++taken_;
    history_ = mixed(history_ ^ plink::control::digest(data, taken_));
    release(message);
    std::vector<std::string> refused;
    for (const auto& [name, text] : message.refused) refused.push_back(name);
    part_.refuse(refused);
    for (const auto& [name, text] : message.refused) refuse(name, text);
    for (const std::string& text : message.warnings) actions_.push_back(Warn{text});
    for (const auto& [name, waited_ms] : message.stalled) {
        part_.backdate(name, now_s - static_cast<double>(waited_ms) / 1000.0, now_s);
        asked_.push_back(name);
    }
    if (message.last) {
        own_.begin_anew();
        part_.begin_anew();
        actions_.push_back(AllJoined{*message.last});
    }
    if (!message.failed.empty()) fail(message.failed);
    if (taken_ % settings_.check_every == 0) {
        up_.check = {taken_, digest()};
        if (!place_.children.empty()) checks_[taken_] = digest();
    }
}

void Tree::release(const Downward& message) {
    std::vector<Batch> batches;
    std::vector<std::uint64_t> positions;
    std::vector<RequestRef> released;
    for (const std::vector<Member>& members : message.batches) {
        std::vector<RequestRef> requests;
        for (const Member& member : members) {
            if (member.request) {
                part_.unmark(member.position);
                table_.put(member.position, member.request, taken_);
            }
            requests.push_back(table_.at(member.position, taken_));
            positions.push_back(member.position);
        }
        released.insert(released.end(), requests.begin(), requests.end());
        batches.push_back({std::move(requests), message.joined});
    }
    part_.release(positions, released);
    if (!own_.is_empty()) {
        for (const RequestRef& request : released) own_.forget(request->name);
    }
    if (!batches.empty()) actions_.push_back(Release{std::move(batches)});
}

void Tree::refuse(const std::string& name, const std::string& text) {
    if (!place_.children.empty()) refused_[name] = taken_;
    if (own_.forget(name)) actions_.push_back(Refuse{name, text});
}

/// Answers which ranks of the subtree announced a stalled name, also if none is known to: the root
/// names a rank as missing only after its answer.
void Tree::answer(double now_s) {
    if (holds_answers_) return;
    for (const std::string& name : std::exchange(asked_, {})) {
        pass_on_stall({name, 0, {}, Ranks::of(place_.rank)}, now_s);
    }
}

/// Nothing can go on, which all ranks are to hear.
void Tree::break_off(const std::string& text) {
    if (root_) {
        root_->fail(text);
    } else if (up_.failed.empty()) {
        up_.failed = text;
    }
}

void Tree::fail(const std::string& text) {
    if (!failed_.empty()) return;
    failed_ = text;
    part_.clear();
    actions_.push_back(FailAll{text});
}

void Tree::sleep() {
    double wakes_s = failed_.empty() ? part_.wakes_s() : kNever;
    if (root_ && failed_.empty()) wakes_s = std::min(wakes_s, root_->wakes_s());
    if (wakes_s == wakes_s_) return;
    wakes_s_ = wakes_s;
    actions_.push_back(SleepUntil{wakes_s});
}

const Ranks* Tree::below(std::int64_t child) const {
    for (const auto& [rank, ranks] : place_.children) {
        if (rank == child) return &ranks;
    }
    return nullptr;
}

}  // namespace plink::control
