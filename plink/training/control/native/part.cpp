#include "part.hpp"

#include <algorithm>

#include "wire.hpp"

namespace plink::control {

Part::Part(const Place& place, const Table& table, Own& own, const Settings& settings)
    : rank_(place.rank),
      table_(table),
      own_(own),
      marks_(place),
      named_(place, settings.stall_warning_s, settings.stall_error_s,
             [this](const Request& request) { tell_apart(request); }) {
    ranks_[place.rank] = Ranks::of(place.rank);
    for (const auto& [child, below] : place.children) ranks_[child] = below;
}

double Part::wakes_s() {
    return std::min(named_.wakes_s(), named_.first_alarm_s(marks_.oldest_s()));
}

bool Part::can_mark(std::uint64_t position, const RequestRef& request) const {
    return request->members.empty() && table_.now_at(position) == request &&
           named_.is_apart(request->name);
}

void Part::mark(std::int64_t source, const std::vector<std::uint64_t>& positions, double now_s) {
    if (const auto twice = marks_.mark(source, positions, now_s)) {
        throw WireError("it announced '" + table_.now_at(*twice)->name + "' twice");
    }
}

bool Part::announce(const std::vector<RequestRef>& requests, double now_s) {
    std::vector<std::uint64_t> positions;
    for (const RequestRef& request : requests) {
        const auto position = table_.position(request);
        if (!position || !can_mark(*position, table_.now_at(*position))) return false;
        positions.push_back(*position);
    }
    if (!marks_.has_none(rank_, positions)) return false;
    marks_.mark(rank_, positions, now_s);
    return true;
}

void Part::tell_apart(const Request& request) {
    unmark(request.name);
    for (const std::string& name : request.names()) unmark(name);
}

void Part::add(std::int64_t source, const Versions& versions, double now_s) {
    named_.add(source, versions, now_s);
}

void Part::join(std::int64_t source, const Ranks& ranks) {
    if (ranks.empty()) return;
    named_.join(source, ranks);
    marks_.look_again();
}

Ranks Part::announced(const std::string& name) const {
    const auto position = table_.named(name);
    if (!position || !marks_.contains(*position)) return named_.announced(name);
    Ranks ranks;
    for (const std::int64_t source : marks_.sources(*position)) ranks |= ranks_.at(source);
    return ranks;
}

std::vector<Waiting> Part::stalled(double now_s) {
    while (named_.first_alarm_s(marks_.oldest_s()) <= now_s) unmark(marks_.oldest());
    return named_.stalled(now_s);
}

void Part::backdate(const std::string& name, double since_s, double now_s) {
    unmark(name);
    named_.backdate(name, since_s, now_s);
}

void Part::release(const std::vector<std::uint64_t>& positions,
                   const std::vector<RequestRef>& requests) {
    // First, since what is said again would tell them apart.
    for (const std::uint64_t position : positions) marks_.forget(position);
    if (named_.is_empty()) return;
    std::vector<std::string> names;
    for (const RequestRef& request : requests) names.push_back(request->name);
    named_.forget(names);
}

void Part::refuse(const std::vector<std::string>& names) {
    for (const std::string& name : names) unmark(name);
    named_.forget(names);
}

void Part::unmark(std::uint64_t position) {
    if (!marks_.contains(position)) return;
    const RequestRef& request = table_.now_at(position);
    std::vector<std::pair<std::int64_t, Versions>> said;
    for (const std::int64_t source : marks_.sources(position)) {
        said.push_back({source, {{request, ranks_.at(source)}}});
    }
    if (marks_.is_said(rank_, position)) own_.keep(request);
    const double since_s = marks_.since_s(position);
    const bool is_passed_on = marks_.is_passed_on(position);
    marks_.forget(position);
    named_.adopt(said, since_s, is_passed_on);
}

void Part::clear() {
    marks_.clear();
    named_.clear();
}

void Part::unmark(const std::string& name) {
    if (const auto position = table_.named(name)) unmark(*position);
}

}  // namespace plink::control
