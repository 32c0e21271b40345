#pragma once

#include <cstdint>
#include <vector>

#include "contention/problem.hpp"

namespace plink::contention {

/// The exact time of placements of ranks, several of which may share a host.
class Clock {
  public:
    /// The problem's flows are between `ranks` ranks; its tie distances are not used.
    Clock(Problem problem, int ranks);

    int ranks() const { return ranks_; }
    int hosts() const { return problem_.hosts; }

    /// In seconds, with rank r on host `host_of[r]`.
    double time_s(const std::int64_t* host_of);

  private:
    double load_s(int stage, const std::int64_t* host_of);
    double wait_s(int stage, const std::int64_t* host_of) const;

    Problem problem_;
    int ranks_;
    // All zero between two stages.
    std::vector<double> sent_bytes_;
    std::vector<double> received_bytes_;
    std::vector<double> leaving_bytes_;
    std::vector<double> entering_bytes_;
};

}  // namespace plink::contention
