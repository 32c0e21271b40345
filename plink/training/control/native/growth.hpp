#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>
#include <vector>

namespace plink::control {

/// When the coordinator lets the caches of all ranks grow: a name that gave its place away and
/// comes back was given up too early.
class Growth {
  public:
    /// `most`: positions at most.
    explicit Growth(std::uint64_t most) : most_(most) {}

    /// It gave its place away; as many names are remembered as there are places.
    void evicted(const std::string& name, std::uint64_t bound);
    /// How many positions there are to be when these names come, of so many before.
    std::uint64_t bound(std::uint64_t bound, const std::vector<std::string>& names);

  private:
    const std::uint64_t most_;
    /// In the order in which they gave their places away.
    std::list<std::string> names_;
    std::unordered_map<std::string, std::list<std::string>::iterator> places_;
};

}  // namespace plink::control
