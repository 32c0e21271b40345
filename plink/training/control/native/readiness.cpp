#include "readiness.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "wire.hpp"

namespace plink::control {

namespace {

void add_once(std::vector<std::string>& names, const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

}  // namespace

Readiness::Readiness(const Place& place, double warning_s, std::optional<double> error_s,
                     std::function<void(const Request&)> tell_apart)
    : place_(place), tell_apart_(std::move(tell_apart)), alarms_(warning_s, error_s) {
    begin_anew();
}

void Readiness::begin_anew() {
    joined_.clear();
    sources_.clear();
    joined_[place_.rank];
    for (const auto& [child, below] : place_.children) joined_[child];
    for (const auto& [source, ranks] : joined_) sources_.insert(source);
}

void Readiness::add(std::int64_t source, const Versions& versions, double now_s) {
    const PendingRef pending = record(source, versions, now_s);
    if (pending != nullptr) look_at(pending);
}

/// What the announcement is part of; null where that waits.
Readiness::PendingRef Readiness::record(std::int64_t source, const Versions& versions,
                                        double now_s) {
    if (tell_apart_) {
        for (const Version& version : versions) tell_apart_(*version.request);
    }
    std::vector<std::string> names;
    for (const Version& version : versions) add_once(names, version.request->name);
    for (const std::string& name : names) {
        if (has_said(source, name)) {
            throw WireError("it announced '" + name + "' twice");
        }
    }
    if (std::any_of(names.begin(), names.end(),
                    [this](const std::string& name) { return is_decided(name); })) {
        aside_.push_back({source, versions, now_s});
        return nullptr;
    }
    PendingRef pending = pending_of(std::move(names), versions, now_s);
    pending->add(source, versions);
    return pending;
}

bool Readiness::is_apart(const std::string& name) const {
    return is_empty() || (aside_.empty() && pending_.count(name) == 0 && owners_.count(name) == 0);
}

void Readiness::adopt(const std::vector<std::pair<std::int64_t, Versions>>& said, double since_s,
                      bool is_passed_on) {
    const Versions& first = said.front().second;
    const PendingRef pending = pending_of({first.front().request->name}, first, since_s);
    for (const auto& [source, versions] : said) pending->add(source, versions);
    pending->is_passed_on = is_passed_on;
    look_at(pending);
}

bool Readiness::has_said(std::int64_t source, const std::string& name) const {
    const auto found = pending_.find(name);
    if (found != pending_.end() && found->second.pending->heard.count({name, source}) > 0) {
        return true;
    }
    for (const Aside& aside : aside_) {
        if (aside.source != source) continue;
        for (const Version& version : aside.versions) {
            if (version.request->name == name) return true;
        }
    }
    return false;
}

void Readiness::join(std::int64_t source, const Ranks& ranks) {
    if (ranks.empty()) return;
    Ranks& joined = joined_[source];
    joined |= ranks;
    for (const auto& [child, below] : place_.children) {
        if (child == source && joined.size() != below.size()) return;
    }
    sources_.erase(source);
    std::vector<const Entry*> entries;
    for (const auto& [name, entry] : pending_) entries.push_back(&entry);
    std::sort(entries.begin(), entries.end(),
              [](const Entry* one, const Entry* other) { return one->number < other->number; });
    for (const Entry* entry : entries) look_at(entry->pending);
}

std::vector<Versions> Readiness::complete() {
    std::vector<Versions> complete;
    for (const PendingRef& pending : complete_) complete.push_back(pending->versions);
    complete_.clear();
    return complete;
}

Ranks Readiness::announced(const std::string& name) const {
    const auto found = pending_.find(name);
    return found == pending_.end() ? Ranks() : found->second.pending->announced();
}

std::vector<Waiting> Readiness::stalled(double now_s) {
    std::vector<Waiting> stalled;
    for (const std::string& name : alarms_.due(now_s)) {
        const PendingRef& pending = pending_.at(name).pending;
        if (pending->is_passed_on) continue;
        const double waited_ms = std::nearbyint(1000.0 * (now_s - pending->first_s));
        stalled.push_back({name, static_cast<std::uint64_t>(waited_ms), pending->announced()});
    }
    return stalled;
}

bool Readiness::is_passed_on(const std::string& name) const {
    const auto found = pending_.find(name);
    return found == pending_.end() || found->second.pending->is_passed_on;
}

void Readiness::backdate(const std::string& name, double since_s, double now_s) {
    const auto found = pending_.find(name);
    if (found == pending_.end() || since_s >= found->second.pending->first_s) return;
    found->second.pending->first_s = since_s;
    alarms_.add(name, since_s, now_s);
}

void Readiness::forget(const std::vector<std::string>& names) {
    std::unordered_set<std::string> gone;
    std::vector<PendingRef> torn;
    for (const std::string& name : names) {
        if (!aside_.empty()) gone.insert(name);
        const auto found = pending_.find(name);
        if (found == pending_.end()) continue;
        const PendingRef pending = std::move(found->second.pending);
        pending_.erase(found);
        alarms_.remove(name);
        // Most stand alone: these leave nothing to be said again.
        if (pending->names.size() == 1 && aside_.empty()) {
            disown(*pending);
            continue;
        }
        gone.insert(name);
        if (std::find(torn.begin(), torn.end(), pending) != torn.end()) continue;
        torn.push_back(pending);
        disown(*pending);
    }
    std::vector<std::string> again;
    for (const PendingRef& pending : torn) say_again(*pending, gone, again);
    for (const Aside& one : std::exchange(aside_, {})) {
        if (!say_unless(gone, one)) continue;
        for (const Version& version : one.versions) again.push_back(version.request->name);
    }
    // Not before all is said: some of it may be complete without the rest, since ranks joined.
    for (const std::string& name : again) {
        const auto found = pending_.find(name);
        if (found != pending_.end()) look_at(found->second.pending);
    }
}

void Readiness::disown(const Pending& pending) {
    complete_.erase(
        std::remove_if(complete_.begin(), complete_.end(),
                       [&pending](const PendingRef& one) { return one.get() == &pending; }),
        complete_.end());
    for (const Version& version : pending.versions) {
        for (const std::string& tensor : version.request->names()) {
            const auto owner = owners_.find(tensor);
            if (owner != owners_.end() && owner->second == version.request->name) {
                owners_.erase(owner);
            }
        }
    }
}

/// Records anew what was said of names that are left, which it adds to `again`.
void Readiness::say_again(const Pending& pending, const std::unordered_set<std::string>& gone,
                          std::vector<std::string>& again) {
    std::vector<std::string> left;
    for (const std::string& name : pending.names) {
        const auto found = pending_.find(name);
        if (found == pending_.end() || found->second.pending.get() != &pending) continue;
        left.push_back(name);
        pending_.erase(found);
    }
    if (left.empty()) return;
    for (const auto& [source, versions] : pending.said) {
        say_unless(gone, {source, versions, pending.first_s});
    }
    for (const std::string& name : left) {
        if (pending_.count(name) == 0) alarms_.remove(name);
    }
    again.insert(again.end(), left.begin(), left.end());
}

/// Whether it was recorded anew: none of it is gone.
bool Readiness::say_unless(const std::unordered_set<std::string>& gone, const Aside& said) {
    if (std::any_of(said.versions.begin(), said.versions.end(), [&gone](const Version& version) {
            return gone.count(version.request->name) > 0;
        })) {
        return false;
    }
    record(said.source, said.versions, said.since_s);
    return true;
}

void Readiness::clear() {
    pending_.clear();
    owners_.clear();
    complete_.clear();
    aside_.clear();
    alarms_.clear();
}

/// Of these names together, and of others that share a tensor with them.
Readiness::PendingRef Readiness::pending_of(std::vector<std::string> names,
                                            const Versions& versions, double now_s) {
    for (const Version& version : versions) {
        for (const std::string& tensor : version.request->names()) {
            const auto owner = owners_.find(tensor);
            if (owner == owners_.end() || is_decided(owner->second)) {
                owners_[tensor] = version.request->name;
            } else {
                add_once(names, owner->second);
            }
        }
    }
    PendingRef pending = named(names.front(), now_s);
    for (const std::string& name : names) {
        const PendingRef other = named(name, now_s);
        if (other == pending) continue;
        pending->absorb(*other);
        for (const std::string& absorbed : other->names) {
            const auto found = pending_.find(absorbed);
            if (found != pending_.end()) found->second.pending = pending;
        }
    }
    return pending;
}

/// Who shares a tensor with what the root decides already waits for the next.
bool Readiness::is_decided(const std::string& name) const {
    const auto found = pending_.find(name);
    return found != pending_.end() && found->second.pending->is_passed_on;
}

const Readiness::PendingRef& Readiness::named(const std::string& name, double now_s) {
    const auto [found, is_new] = pending_.try_emplace(name);
    if (is_new) {
        const double since_s = alarms_.since_s(name).value_or(now_s);
        if (!alarms_.since_s(name)) alarms_.add(name, now_s);
        auto pending = std::make_shared<Pending>();
        pending->names = {name};
        pending->first_s = since_s;
        found->second = {std::move(pending), named_++};
    }
    return found->second.pending;
}

void Readiness::look_at(const PendingRef& pending) {
    if (pending->is_passed_on || !pending->is_complete(sources_)) return;
    pending->is_passed_on = true;
    complete_.push_back(pending);
}

}  // namespace plink::control
