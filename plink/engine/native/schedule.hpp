#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "bytes.hpp"
#include "deal.hpp"
#include "forest.hpp"
#include "rooted.hpp"
#include "share.hpp"
#include "transport.hpp"
#include "types.hpp"
#include "worker_weights.hpp"

namespace plink::engine {

/// What the ranks call alike, along trees.
struct Call {
    Kind kind;
    DType dtype;
    int root;                         ///< -1 where there is none
    std::vector<std::size_t> counts;  ///< items by segment: by rank, or of the whole buffer

    bool operator<(const Call& other) const;
};

/// A forest's routes dealt over a buffer, as one rank sees it.
struct Schedule {
    Kind kind;
    DType dtype;
    std::shared_ptr<const Places> places;
    Deal deal;
    std::uint32_t used_routes;  ///< that chunks go along
    double mean_chunk_bytes;
    std::size_t own_first_item;  ///< of this rank's segment
    std::uint64_t digest;        ///< of forest, call, chunk size, the workers' weights
    std::vector<Share> shares;   ///< by worker
    /// Of all its chunks, by worker; 0 where one carries everything, for its size or theirs.
    std::vector<std::size_t> worker_bytes;
    /// Of a small buffer, the worker that carries all of it.
    std::optional<std::size_t> sole_worker;
};

/// A forest in use, and the schedules made from it so far.
class Plan {
  public:
    Plan(Forest forest, int rank, int workers, std::size_t chunk_bytes);

    /// `weights` seldom differ from those of the last call. Throws std::invalid_argument where the
    /// buffer has too many chunks.
    std::shared_ptr<const Schedule> schedule(const Call& call, const WorkerWeights& weights = {});
    /// This rank's place in the forest's own routes.
    const Places& places() const { return *whole_.places; }

  private:
    /// Routes of one kind of collective.
    struct Layout {
        Layout(Rooted rooted, int rank);
        std::vector<double> weights;                     ///< by route
        std::vector<std::vector<std::uint32_t>> routes;  ///< by segment
        std::shared_ptr<const Places> places;
    };
    enum class Way { kAtEach, kAtRoot, kFromRoot };

    const Layout& layout(const Call& call);
    std::shared_ptr<const Schedule> made(const Call& call);

    Forest forest_;
    int rank_;
    int workers_;
    std::size_t chunk_bytes_;
    std::uint64_t digest_;
    Layout whole_;
    std::mutex mutex_;
    std::map<std::pair<Way, int>, Layout> layouts_;
    WorkerWeights weights_;  ///< of all that is in `made_`
    std::map<Call, std::shared_ptr<const Schedule>> made_;
};

}  // namespace plink::engine
