#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "bytes.hpp"
#include "deal.hpp"
#include "forest.hpp"
#include "transport.hpp"
#include "types.hpp"
#include "worker_weights.hpp"

namespace plink::engine {

/// What one worker of one rank has to do in a collective.
struct Share {
    std::vector<std::vector<std::uint32_t>> leaves;  ///< by peer: chunks it is sent from the start
    std::vector<std::uint32_t> sends;                ///< by peer: frames it is sent in all
    std::uint64_t frames_out = 0;
    std::uint64_t frames_in = 0;
};

/// A forest dealt over a buffer, as one rank sees it.
struct Schedule {
    std::shared_ptr<const Places> places;
    Deal deal;
    DType dtype;
    std::uint64_t digest;       ///< of forest, length, type, chunk size
    std::vector<Share> shares;  ///< by worker
    /// Of all its chunks, by worker; 0 where one carries everything, for its size or theirs.
    std::vector<std::size_t> worker_bytes;
    /// Of a small buffer, the worker that carries all of it.
    std::optional<std::size_t> sole_worker;
};

/// A forest in use, and the schedules made from it so far.
class Plan {
  public:
    Plan(Forest forest, int rank, int workers, std::size_t chunk_bytes);

    /// `weights` seldom differ from those of the last call.
    std::shared_ptr<const Schedule> schedule(std::size_t items, DType dtype,
                                             const WorkerWeights& weights);
    std::uint64_t digest() const { return digest_; }
    const Places& places() const { return *places_; }

  private:
    std::shared_ptr<const Schedule> made(std::size_t items, DType dtype) const;

    Forest forest_;
    int rank_;
    int workers_;
    std::size_t chunk_bytes_;
    std::uint64_t digest_;
    std::shared_ptr<const Places> places_;
    std::mutex mutex_;
    WorkerWeights weights_;  ///< of all that is in `made_`
    std::map<std::tuple<std::size_t, DType>, std::shared_ptr<const Schedule>> made_;
};

}  // namespace plink::engine
