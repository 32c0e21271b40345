#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "part.hpp"
#include "tree_collective.hpp"

namespace plink::engine {

/// A worker's chunks of a collective along trees.
class TreePart final : public Part {
  public:
    /// `worker`: whose chunks it holds. With `in_order` the children of a node are added in
    /// ascending order of their ranks, whenever they arrive.
    TreePart(std::shared_ptr<TreeCollective> collective, int worker, bool in_order, Pace& pace);

    Phase ready_phase() const override {
        return reduces(tree_.schedule->kind) ? Phase::kReduce : Phase::kBroadcast;
    }
    std::uint32_t hops_left(int peer, std::uint32_t chunk, Phase phase) const override;
    Arrival accept(int peer, const Frame& frame) override;
    std::size_t take(Arrival& arrival, const std::uint8_t* bytes, std::size_t size) override;
    void finish(const Arrival& arrival, Outbox& outbox) override;
    Payload payload(int peer, std::uint32_t chunk, Phase phase) const override;
    void sent(int peer, std::uint32_t chunk, Phase phase, Outbox& outbox) override;

  private:
    using Bytes = std::unique_ptr<std::uint8_t[]>;

    Arrival accept_result(int peer, const Frame& frame);
    bool is_widened(const Places::Place& place) const;
    float* wide(std::uint32_t chunk);
    std::uint8_t* sum(std::uint32_t chunk);
    std::uint8_t* begun_sum(std::uint32_t chunk);
    void combine(std::uint32_t chunk, const std::uint8_t* values, std::size_t items);
    void add_stashed(std::uint32_t chunk, std::uint32_t& next);
    void complete(std::uint32_t chunk, Outbox& outbox);
    void deliver(std::uint32_t chunk, Outbox& outbox);
    void keep_own();
    void pass_complete();
    const Places::Place& place(std::uint32_t chunk) const;
    std::uint64_t& seen_word(std::uint32_t chunk, int child);

    TreeCollective& tree_;
    const Deal& deal_;
    const bool in_order_;
    const int dtype_;
    std::size_t most_chunk_bytes_ = 0;
    std::uint32_t low_ = 0;            ///< the first chunk whose result is yet to come here
    std::size_t seen_words_;           ///< of a chunk
    std::vector<std::uint64_t> seen_;  ///< a bit for each child of each chunk
    std::unordered_map<std::uint32_t, std::unique_ptr<float[]>> wide_;
    std::unordered_map<std::uint32_t, Bytes> passing_;   ///< sums that are only sent on
    std::vector<Bytes> spare_;                           ///< room for such
    std::vector<std::uint32_t> next_child_;              ///< by chunk, if in order
    std::unordered_map<std::uint64_t, Bytes> stashing_;  ///< by chunk and child, not whole yet
    std::unordered_map<std::uint64_t, Bytes> stashed_;   ///< whole
};

}  // namespace plink::engine
