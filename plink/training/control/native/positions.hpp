#pragma once

#include <cstdint>
#include <vector>

#include "line.hpp"
#include "messages.hpp"
#include "table.hpp"

namespace plink::control {

/// Where the root of `tree` lets requests stand in its table: by name; where there are no more
/// positions, the name whose last release is longest ago gives its own.
class Positions {
  public:
    /// `most`: positions that there are.
    Positions(const Table& table, std::uint64_t most) : table_(table), most_(most) {}

    /// How all ranks are told of a request that is being released.
    Member member(const RequestRef& request);

  private:
    const Table& table_;
    const std::uint64_t most_;
    /// What was last released at each.
    std::vector<RequestRef> released_;
    /// Oldest release first.
    Line used_;
};

}  // namespace plink::control
