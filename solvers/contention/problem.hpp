#pragma once

#include <vector>

#include "ring/matrix.hpp"

namespace plink::contention {

/// Flows between ranks, stage after stage. A stage passed `count` times stands once.
struct Stages {
    std::vector<int> starts;  // where each stage begins, and the end
    std::vector<int> sources;
    std::vector<int> destinations;
    std::vector<double> sizes_bytes;
    std::vector<double> counts;
    std::vector<bool> goes_round;  // by stage: its mean latency counts

    int size() const { return static_cast<int>(counts.size()); }
};

/// A collective on a network, one rank a host. Times in seconds, rates as seconds a byte, which is
/// 0 where a link is unlimited. Host matrices are row after row, [from][to].
struct Problem {
    std::vector<int> group_of;  // by host; -1 without a group
    std::vector<double> send_s_byte;
    std::vector<double> receive_s_byte;
    std::vector<double> uplink_send_s_byte;
    std::vector<double> uplink_receive_s_byte;
    ring::Matrix latency_s;  // not symmetric, perhaps
    ring::Matrix tie_distance;
    Stages loads;
    Stages waits;

    int hosts() const { return static_cast<int>(group_of.size()); }
    int groups() const { return static_cast<int>(uplink_send_s_byte.size()); }
};

/// The flows of some stages that each rank sends or receives, and the stage of every flow.
class Incidence {
  public:
    Incidence(const Stages& stages, int ranks)
        : stage_of_(stages.sources.size()), flows_of_(ranks) {
        for (int stage = 0; stage < stages.size(); ++stage) {
            for (int flow = stages.starts[stage]; flow < stages.starts[stage + 1]; ++flow) {
                stage_of_[flow] = stage;
                flows_of_[stages.sources[flow]].push_back(flow);
                flows_of_[stages.destinations[flow]].push_back(flow);
            }
        }
    }

    int stage_of(int flow) const { return stage_of_[flow]; }
    const std::vector<int>& flows_of(int rank) const { return flows_of_[rank]; }

  private:
    std::vector<int> stage_of_;
    std::vector<std::vector<int>> flows_of_;
};

}  // namespace plink::contention
