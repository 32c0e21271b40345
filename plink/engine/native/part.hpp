#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "collective.hpp"

namespace plink::engine {

/// The peer called another collective than this rank.
struct Mismatch : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Where a part puts frames that are ready to go.
class Outbox {
  public:
    virtual void send(int peer, std::uint32_t chunk, Phase phase) = 0;

  protected:
    ~Outbox() = default;
};

/// Where the payload of one incoming frame goes.
struct Arrival {
    enum class Way {
        kCopy,        ///< as it is, to `into`
        kAccumulate,  ///< added to what is in `into`, of the collective's type
        kWiden,       ///< added to the floats in `into`
    };
    Way way;
    std::uint8_t* into;
    std::size_t bytes_left;
    std::uint32_t chunk;
    Phase phase;
    int child;  ///< of the reduction, its index; -1 otherwise
};

/// One worker's part in a collective: what arrives is checked, combined, and sent on. Knows no
/// sockets.
class Part {
  public:
    /// `worker`: whose chunks it holds. With `in_order` the children of a node are added in
    /// ascending order of their ranks, whenever they arrive.
    Part(std::shared_ptr<Collective> collective, int worker, bool in_order);

    const std::shared_ptr<Collective>& collective() const { return collective_; }
    const Share& share() const { return share_; }
    bool is_over() const { return frames_in_left_ == 0 && frames_out_left_ == 0; }

    /// Throws Mismatch, or another std::runtime_error that says what is wrong, for a frame that
    /// must not come from `peer` now.
    Arrival accept(int peer, const Frame& frame);
    /// The next bytes of an arrival, as many as there are whole items; returns how many were used.
    std::size_t take(Arrival& arrival, const std::uint8_t* bytes, std::size_t size);
    /// All of it has come.
    void finish(const Arrival& arrival, Outbox& outbox);
    /// All of a frame is with the kernel.
    void sent(std::uint32_t chunk, Phase phase);

  private:
    using Stash = std::unique_ptr<std::uint8_t[]>;

    bool is_widened(const Places::Place& place) const;
    float* wide(std::uint32_t chunk);
    void combine(std::uint32_t chunk, const std::uint8_t* values, std::size_t items);
    void add_stashed(std::uint32_t chunk, std::uint32_t& next);
    void complete(std::uint32_t chunk, Outbox& outbox);
    void deliver(std::uint32_t chunk, Outbox& outbox);
    const Places::Place& place(std::uint32_t chunk) const;
    std::uint64_t& seen_word(std::uint32_t chunk, int child);

    std::shared_ptr<Collective> collective_;
    const Deal& deal_;
    const Share& share_;
    int worker_;
    bool in_order_;
    std::uint64_t frames_in_left_;
    std::uint64_t frames_out_left_;
    std::size_t seen_words_;           ///< of a chunk
    std::vector<std::uint64_t> seen_;  ///< a bit for each child of each chunk
    std::unordered_map<std::uint32_t, std::unique_ptr<float[]>> wide_;
    std::vector<std::uint32_t> next_child_;              ///< by chunk, if in order
    std::unordered_map<std::uint64_t, Stash> stashing_;  ///< by chunk and child, not whole yet
    std::unordered_map<std::uint64_t, Stash> stashed_;   ///< whole
};

}  // namespace plink::engine
