#include "cache.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "digest.hpp"
#include "wire.hpp"

namespace plink::control {

namespace {

std::uint64_t sum_of(const Request& request) {
    Writer writer;
    writer.request(request);
    return digest(writer.done(), 0);
}

}  // namespace

std::uint64_t Cache::digest() const {
    std::uint64_t value = bound;
    for (const std::string& name : ages_) {
        const std::uint64_t position = known_.at(name).position;
        value = mixed(value ^ entries_[position].sum ^ position);
    }
    return value;
}

std::optional<std::uint64_t> Cache::position(const RequestRef& request) const {
    const auto found = known_.find(request->name);
    if (found == known_.end()) return std::nullopt;
    const std::uint64_t position = found->second.position;
    if (!is_same(entries_[position].request, request)) return std::nullopt;
    return position;
}

std::vector<std::uint64_t> Cache::contradicted(const RequestRef& request) const {
    if (position(request)) return {};
    std::set<std::uint64_t> positions;
    for (const std::string& tensor : request->names()) {
        const auto owner = owners_.find(tensor);
        if (owner != owners_.end()) positions.insert(known_.at(owner->second).position);
    }
    const auto named = known_.find(request->name);
    if (named != known_.end()) positions.insert(named->second.position);
    return {positions.begin(), positions.end()};
}

const RequestRef& Cache::at(std::uint64_t position) const {
    if (position >= entries_.size()) {
        throw WireError("nothing is at position " + std::to_string(position));
    }
    return entries_[position].request;
}

std::optional<std::string> Cache::put(const RequestRef& request) {
    const auto known = known_.find(request->name);
    if (known != known_.end() && is_same(entries_[known->second.position].request, request)) {
        ages_.splice(ages_.end(), ages_, known->second.age);
        return std::nullopt;
    }
    std::optional<std::string> evicted;
    ++changes_;
    std::uint64_t position = entries_.size();
    if (known != known_.end()) {
        position = known->second.position;
    } else if (position >= bound) {
        evicted = ages_.front();
        position = known_.at(*evicted).position;
    }
    if (position == entries_.size()) {
        entries_.emplace_back();
    } else {
        forget(*entries_[position].request);
    }
    entries_[position] = {request, sum_of(*request)};
    known_[request->name] = {position, ages_.insert(ages_.end(), request->name)};
    for (const std::string& tensor : request->names()) owners_[tensor] = request->name;
    return evicted;
}

void Cache::erase(const std::vector<std::uint64_t>& positions) {
    if (positions.empty()) return;
    for (const std::uint64_t position : positions) at(position);
    ++changes_;
    for (const std::uint64_t position : positions) forget(*entries_[position].request);
    std::vector<Entry> kept;
    auto gone = positions.begin();
    for (std::uint64_t i = 0; i < entries_.size(); ++i) {
        if (gone != positions.end() && *gone == i) {
            ++gone;
            continue;
        }
        known_.at(entries_[i].request->name).position = kept.size();
        kept.push_back(std::move(entries_[i]));
    }
    entries_ = std::move(kept);
}

void Cache::forget(const Request& request) {
    const auto known = known_.find(request.name);
    ages_.erase(known->second.age);
    known_.erase(known);
    for (const std::string& tensor : request.names()) {
        const auto owner = owners_.find(tensor);
        if (owner != owners_.end() && owner->second == request.name) owners_.erase(owner);
    }
}

}  // namespace plink::control
