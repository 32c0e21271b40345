#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "request.hpp"

namespace plink::control {

/// A request that this rank has announced, and of which no coordinator knows.
struct Queued {
    RequestRef request;
    double since_s;
};
using QueuedRef = std::shared_ptr<const Queued>;

/// Those of one rank, by name, in the order in which they were announced.
class Queue {
  public:
    /// `queued`: none of its name is there.
    void add(const QueuedRef& queued);
    /// None where there is no such name.
    QueuedRef find(const std::string& name) const;
    /// Whether it is there, and not another of its name.
    bool holds(const QueuedRef& queued) const { return find(queued->request->name) == queued; }
    void remove(const std::string& name);
    std::vector<QueuedRef> all() const;
    void clear();

  private:
    std::map<std::uint64_t, QueuedRef> queued_;
    std::unordered_map<std::string, std::uint64_t> numbers_;
    std::uint64_t next_ = 0;
};

}  // namespace plink::control
