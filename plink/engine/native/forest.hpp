#pragma once

#include <cstdint>
#include <vector>

namespace plink::engine {

/// A plan's routes over the ranks: each a weight, a tree to reduce along and a tree to broadcast
/// along, with the same root.
class Forest {
  public:
    /// `weights`: by route, not negative, one at least positive. `reduce_parents`,
    /// `broadcast_parents`: route after route, by rank, -1 at the root.
    ///
    /// Throws std::invalid_argument where these are no such trees.
    Forest(int ranks, std::vector<double> weights, std::vector<std::int32_t> reduce_parents,
           std::vector<std::int32_t> broadcast_parents);

    int ranks() const { return ranks_; }
    int routes() const { return static_cast<int>(weights_.size()); }
    const std::vector<double>& weights() const { return weights_; }
    int root(int route) const { return roots_[route]; }
    int reduce_parent(int route, int rank) const { return reduce_[at(route, rank)]; }
    int broadcast_parent(int route, int rank) const { return broadcast_[at(route, rank)]; }

    /// Equal for equal forests, and hardly ever otherwise.
    std::uint64_t digest() const;

  private:
    std::size_t at(int route, int rank) const {
        return static_cast<std::size_t>(route) * ranks_ + rank;
    }

    int ranks_;
    std::vector<double> weights_;
    std::vector<std::int32_t> reduce_;
    std::vector<std::int32_t> broadcast_;
    std::vector<int> roots_;
};

/// One rank's place in every route of a forest.
class Places {
  public:
    struct Place {
        int reduce_parent;
        int broadcast_parent;
        std::vector<int> reduce_children;          ///< ascending
        std::vector<int> broadcast_children;       ///< ascending
        std::uint32_t hops_to_root = 0;            ///< of this rank's contribution
        std::uint32_t hops_from_root = 0;          ///< of the result, to the rank that is farthest
        std::vector<std::uint32_t> hops_by_child;  ///< of the result, from here by each child
        bool is_root() const { return reduce_parent < 0; }
        /// Of the result sent to `child`, to the last rank that gets it so.
        std::uint32_t hops_by(int child) const;
    };

    Places(const Forest& forest, int rank);

    int routes() const { return static_cast<int>(places_.size()); }
    const Place& in(int route) const { return places_[route]; }
    /// The index of `child` among the children that this rank reduces in `route`, or -1.
    int child_index(int route, int child) const;
    int most_children() const { return most_children_; }

  private:
    std::vector<Place> places_;
    int most_children_ = 0;
};

}  // namespace plink::engine
