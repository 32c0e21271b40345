// What the coordinator says on standard input, line by line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "packet.hpp"
#include "peers.hpp"

namespace plink {

// One meeting of this host with another.
struct Pair {
    uint32_t round = 0;
    uint32_t partner = 0;
    bool probes = true;  // this host probes the partner, and not only answers
};

// What a run is, as `run`, `peer` and `pair` lines say it.
struct Run {
    uint32_t index = 0;
    uint32_t count = 0;       // probes of a meeting
    uint32_t silence_ms = 0;  // a partner that is silent for so long is lost
    bool granted = false;     // pairs start only when the coordinator says `go`
    Secret secret;
    Endpoint bind;
    int suspected = 0;  // how often this very host was
    std::vector<double> percentiles;
    Peers peers;
    std::vector<Pair> pairs;
};

// Leave to meet the partner of a round, on a certain processor or on any.
struct Grant {
    uint32_t round = 0;
    std::optional<uint32_t> processor;
};

// The standard input of the agent. It never blocks.
class Control {
  public:
    enum class Status { open, closed, broken };

    // Reads what has arrived and applies it to `run`. `broken` where a line is not understood.
    Status read(Run* run);
    // Applies text that has arrived to `run`.
    Status take(const char* text, size_t size, Run* run);

    // A complete `run` line has arrived.
    bool has_run() const { return has_run_; }
    // All pairs of the schedule have arrived, and the peers in them.
    bool has_start() const { return has_start_; }
    // The next meeting that the coordinator granted, if there is one.
    bool take_grant(Grant* grant);
    // The first word of the line that was not understood.
    const std::string& broken_word() const { return broken_word_; }

  private:
    bool apply(const std::string& line, Run* run);
    bool is_timely(const std::string& verb) const;
    Status broken(const std::string& line);

    std::string buffer_;
    std::string broken_word_;
    std::deque<Grant> grants_;
    bool has_run_ = false;
    bool has_start_ = false;
    bool stopped_ = false;
};

}  // namespace plink
