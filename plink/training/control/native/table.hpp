#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "request.hpp"

namespace plink::control {

/// Positions of requests, equal on all ranks after the same messages of the root. A message that
/// came from below may name a position as it was some messages of the root ago: what stood there is
/// known until it is forgotten.
class Table {
  public:
    /// `remembers`: whether such messages come to this rank.
    explicit Table(bool remembers) : remembers_(remembers) {}

    std::uint64_t digest() const { return digest_; }
    /// Where just this request stands.
    std::optional<std::uint64_t> position(const RequestRef& request) const;
    std::size_t size() const { return requests_.size(); }
    /// How many stand there that are of several tensors.
    std::uint64_t groups() const { return groups_; }
    /// Whether a message may name a position as it was before.
    bool has_changed() const { return !before_.empty(); }
    /// Where the request of this name stands, whatever else it says.
    std::optional<std::uint64_t> named(const std::string& name) const;
    /// What stands there.
    const RequestRef& now_at(std::uint64_t position) const { return requests_[position]; }
    /// What stood there when `seen` messages of the root had been taken. Throws WireError where
    /// nothing did.
    const RequestRef& at(std::uint64_t position, std::uint64_t seen) const;
    /// Lets a request stand there from the root's message number `message` on. Throws WireError
    /// where the position is beyond the next one, or the name has another.
    void put(std::uint64_t position, const RequestRef& request, std::uint64_t message);
    /// Nobody will name a position as it was before `seen` messages had been taken.
    void forget(std::uint64_t seen);

  private:
    bool remembers_;
    std::vector<RequestRef> requests_;
    std::unordered_map<std::string, std::uint64_t> positions_;
    /// Until which message what stood there, by position.
    std::unordered_map<std::uint64_t, std::vector<std::pair<std::uint64_t, RequestRef>>> before_;
    std::uint64_t groups_ = 0;
    std::uint64_t digest_ = 0;
};

}  // namespace plink::control
