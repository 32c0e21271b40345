#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "clocked.hpp"

namespace plink::simulate {

/// What happens to what ranks release: `plink/simulate/control/data.py` says what each is.
struct DataPlane {
    double latency_s, bytes_s;
    bool holds_thread;
};

/// One iteration of all ranks.
struct Iteration {
    double took_s = 0.0;
    double reduced_s = 0.0;
    std::vector<std::vector<std::string>> released;
    std::vector<double> latencies_s;
};

/// (P, C) of each rank, the calls that it makes and after how much computing.
struct Drawn {
    const std::int64_t* order;
    const double* ready_s;
};

/// Trainings on a clock: `plink/simulate/control/training.py` says how, and does the same.
class Training {
  public:
    /// The requests that are announced together.
    using Call = std::vector<control::RequestRef>;

    Training(Clocked::Machines machines, std::vector<Call> calls, const Costs& costs,
             const DataPlane& data, std::optional<Often> oversleep, double spinning,
             std::vector<std::size_t> heeds_done);
    Training(const Training&) = delete;
    Training& operator=(const Training&) = delete;

    const Clocked& clock() const { return clock_; }
    /// One more. Throws std::runtime_error where ranks do not agree.
    Iteration iterate(const Drawn& drawn);

  private:
    struct Buffer {
        std::vector<control::RequestRef> requests;
        std::size_t released_by = 0;
        double released_s = 0.0;
    };
    /// What a rank is about, in this iteration and, in `begun`, all of them.
    struct Program {
        std::size_t made = 0, begun = 0;
        double waited_before_s = 0.0;
    };

    double due_s(std::size_t rank) const;
    void expire(std::uint64_t iteration);
    void announce(std::size_t rank);
    void act(std::size_t rank, const control::Action& action, double at_s);
    void release(std::size_t rank, const control::Batch& batch, double at_s);
    void reduce(std::size_t number);
    void end(std::size_t number);

    const std::vector<Call> calls_;
    const DataPlane data_;
    const double spinning_;
    const std::vector<std::size_t> heeds_done_;
    std::size_t requests_ = 0;
    Clocked clock_;
    Drawn drawn_{};
    Iteration iteration_;
    double began_s_ = 0.0;
    bool is_over_ = false;
    std::uint64_t iterations_ = 0;
    std::vector<Program> programs_;
    std::unordered_map<std::string, double> announced_s_;
    std::size_t reduced_ = 0;
    std::vector<Buffer> buffers_;
    double is_free_at_s_ = 0.0;
};

}  // namespace plink::simulate
