#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "request.hpp"

namespace plink::control {

/// What all ranks have released before, by position: the response cache (Romero et al., 3.1.1).
/// Equal on all ranks after the same responses; the least recently used gives its place away.
class Cache {
  public:
    /// `positions`: that there are.
    explicit Cache(std::uint64_t positions) : bound(positions) {}

    std::uint64_t bound;

    std::uint64_t size() const { return entries_.size(); }
    /// Counts changes after which a position may mean something else.
    std::uint64_t changes() const { return changes_; }
    /// Of what stands where, and of the order in which it gives its place away.
    std::uint64_t digest() const;
    /// Where just this request stands. It counts as no use.
    std::optional<std::uint64_t> position(const RequestRef& request) const;
    /// Positions of what cannot be while this request is: of its name, or with its tensors.
    std::vector<std::uint64_t> contradicted(const RequestRef& request) const;
    /// What stands there, which counts as no use. Throws WireError where nothing does.
    const RequestRef& at(std::uint64_t position) const;
    /// It is released, which counts as a use. Returns the name that has given its place away.
    std::optional<std::string> put(const RequestRef& request);
    /// What stands there is no more, and what stood behind moves up. `positions`: ascending. Throws
    /// WireError where nothing stands.
    void erase(const std::vector<std::uint64_t>& positions);

  private:
    struct Entry {
        RequestRef request;
        std::uint64_t sum;
    };
    using Ages = std::list<std::string>;
    struct Known {
        std::uint64_t position;
        Ages::iterator age;
    };

    void forget(const Request& request);

    std::vector<Entry> entries_;
    std::unordered_map<std::string, Known> known_;
    /// Of each tensor, the request that it belongs to.
    std::unordered_map<std::string, std::string> owners_;
    /// Least recently used first.
    Ages ages_;
    std::uint64_t changes_ = 0;
};

}  // namespace plink::control
