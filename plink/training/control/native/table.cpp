#include "table.hpp"

#include <algorithm>

#include "digest.hpp"
#include "wire.hpp"

namespace plink::control {

namespace {

std::uint64_t digest_of(std::uint64_t position, const Request& request) {
    Writer writer;
    writer.request(request);
    return digest(writer.done(), position);
}

}  // namespace

std::optional<std::uint64_t> Table::position(const RequestRef& request) const {
    const auto found = positions_.find(request->name);
    if (found == positions_.end()) return std::nullopt;
    if (!is_same(requests_[found->second], request)) return std::nullopt;
    return found->second;
}

std::optional<std::uint64_t> Table::named(const std::string& name) const {
    const auto found = positions_.find(name);
    return found == positions_.end() ? std::nullopt : std::optional(found->second);
}

const RequestRef& Table::at(std::uint64_t position, std::uint64_t seen) const {
    const auto before = before_.empty() ? before_.end() : before_.find(position);
    if (before != before_.end()) {
        for (const auto& [until, request] : before->second) {
            if (seen < until) return request;
        }
    }
    if (position >= requests_.size()) {
        throw WireError("nothing is at position " + std::to_string(position));
    }
    return requests_[position];
}

void Table::put(std::uint64_t position, const RequestRef& request, std::uint64_t message) {
    if (position > requests_.size()) {
        throw WireError("position " + std::to_string(position) + " comes after " +
                        std::to_string(requests_.size()));
    }
    const auto named = positions_.find(request->name);
    if (named != positions_.end() && named->second != position) {
        throw WireError("'" + request->name + "' has position " + std::to_string(named->second) +
                        ", not " + std::to_string(position));
    }
    if (position == requests_.size()) {
        requests_.push_back(request);
    } else {
        const RequestRef old = std::exchange(requests_[position], request);
        if (remembers_) before_[position].emplace_back(message, old);
        positions_.erase(old->name);
        if (!old->members.empty()) --groups_;
        digest_ ^= digest_of(position, *old);
    }
    positions_[request->name] = position;
    if (!request->members.empty()) ++groups_;
    digest_ ^= digest_of(position, *request);
}

void Table::forget(std::uint64_t seen) {
    for (auto it = before_.begin(); it != before_.end();) {
        auto& befores = it->second;
        befores.erase(std::remove_if(befores.begin(), befores.end(),
                                     [seen](const auto& before) { return before.first <= seen; }),
                      befores.end());
        it = befores.empty() ? before_.erase(it) : std::next(it);
    }
}

}  // namespace plink::control
