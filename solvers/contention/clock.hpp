#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "contention/problem.hpp"

namespace plink::contention {

/// The exact time of placements of ranks, several of which may share a host.
class Clock {
  public:
    /// The problem's flows are between `ranks` ranks; its tie distances are not used.
    Clock(Problem problem, int ranks)
        : problem_(std::move(problem)),
          ranks_(ranks),
          sent_bytes_(problem_.hosts(), 0.0),
          received_bytes_(problem_.hosts(), 0.0),
          leaving_bytes_(problem_.groups(), 0.0),
          entering_bytes_(problem_.groups(), 0.0) {}

    int ranks() const { return ranks_; }
    int hosts() const { return problem_.hosts(); }

    /// In seconds, with rank r on host `host_of[r]`.
    double time_s(const std::int64_t* host_of) {
        double total_s = 0.0;
        for (int stage = 0; stage < problem_.loads.size(); ++stage) {
            total_s += problem_.loads.counts[stage] * load_s(stage, host_of);
        }
        for (int stage = 0; stage < problem_.waits.size(); ++stage) {
            total_s += problem_.waits.counts[stage] * wait_s(stage, host_of);
        }
        return total_s;
    }

  private:
    /// Put bytes on a link; the time that it needs for all that it has so far.
    static double put(std::vector<double>& bytes, int link, double size_bytes,
                      const std::vector<double>& s_byte) {
        bytes[link] += size_bytes;
        return bytes[link] * s_byte[link];
    }

    /// What the slowest link needs.
    double load_s(int stage, const std::int64_t* host_of) {
        const Stages& loads = problem_.loads;
        double slowest_s = 0.0;
        for (int flow = loads.starts[stage]; flow < loads.starts[stage + 1]; ++flow) {
            const int from = static_cast<int>(host_of[loads.sources[flow]]);
            const int to = static_cast<int>(host_of[loads.destinations[flow]]);
            if (from == to) continue;
            const double size = problem_.loads.sizes_bytes[flow];
            slowest_s = std::max({slowest_s, put(sent_bytes_, from, size, problem_.send_s_byte),
                                  put(received_bytes_, to, size, problem_.receive_s_byte)});
            const int leaves = problem_.group_of[from];
            const int enters = problem_.group_of[to];
            if (leaves == enters) continue;
            if (leaves >= 0) {
                slowest_s = std::max(
                    slowest_s, put(leaving_bytes_, leaves, size, problem_.uplink_send_s_byte));
            }
            if (enters >= 0) {
                slowest_s = std::max(
                    slowest_s, put(entering_bytes_, enters, size, problem_.uplink_receive_s_byte));
            }
        }
        for (int flow = loads.starts[stage]; flow < loads.starts[stage + 1]; ++flow) {
            sent_bytes_[host_of[loads.sources[flow]]] = 0.0;
            received_bytes_[host_of[loads.destinations[flow]]] = 0.0;
        }
        std::fill(leaving_bytes_.begin(), leaving_bytes_.end(), 0.0);
        std::fill(entering_bytes_.begin(), entering_bytes_.end(), 0.0);
        return slowest_s;
    }

    /// The greatest latency, or the mean where messages go round.
    double wait_s(int stage, const std::int64_t* host_of) const {
        const Stages& waits = problem_.waits;
        const int begin = waits.starts[stage];
        const int end = waits.starts[stage + 1];
        double sum_s = 0.0;
        double greatest_s = 0.0;
        for (int flow = begin; flow < end; ++flow) {
            const double latency_s =
                problem_.latency_s(static_cast<int>(host_of[waits.sources[flow]]),
                                   static_cast<int>(host_of[waits.destinations[flow]]));
            sum_s += latency_s;
            greatest_s = std::max(greatest_s, latency_s);
        }
        return problem_.waits.goes_round[stage] ? sum_s / (end - begin) : greatest_s;
    }

    Problem problem_;
    int ranks_;
    // All zero between two stages.
    std::vector<double> sent_bytes_;
    std::vector<double> received_bytes_;
    std::vector<double> leaving_bytes_;
    std::vector<double> entering_bytes_;
};

}  // namespace plink::contention
