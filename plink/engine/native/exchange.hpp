#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "collective.hpp"
#include "part.hpp"
#include "types.hpp"
#include "worker_weights.hpp"

namespace plink::engine {

/// The messages of an exchange at this rank, to and from each rank, itself too: they lie one after
/// another in its two buffers.
struct Messages {
    Kind kind;
    int root;                                ///< -1 where there is none
    std::vector<std::size_t> send_bytes;     ///< by peer
    std::vector<std::size_t> receive_bytes;  ///< by peer
    std::uint64_t layout = 0;                ///< what else all ranks must call alike
};

/// A collective of messages between pairs: an all-to-all, a gather, a scatter.
class Exchange final : public Collective {
  public:
    /// `chunk_bytes`: 0 for a size that suits.
    Exchange(std::uint64_t number, Messages messages, const void* input, void* output, int rank,
             int workers, const WorkerWeights& weights, std::size_t chunk_bytes, int priority);

    const Share& share(int worker) const override { return shares_[worker]; }
    std::optional<std::size_t> sole_worker() const override { return sole_worker_; }
    std::unique_ptr<Part> part(const std::shared_ptr<Collective>& self, int worker, bool in_order,
                               Pace& pace) override;
    void copy_own() override;

    /// Which worker carries a piece of a message between this rank and `peer`, either way.
    int worker(int peer, std::uint32_t chunk, std::size_t message_bytes) const;
    std::uint32_t chunks(std::size_t message_bytes) const;
    /// Those to `peer` that a worker carries.
    std::vector<std::uint32_t> chunks_to(int peer, int worker) const;
    int rank() const { return rank_; }
    /// Differs where two ranks mean messages of different lengths.
    std::uint16_t message_signature(std::size_t message_bytes) const;
    std::size_t send_bytes(int peer) const { return messages_.send_bytes[peer]; }
    std::size_t receive_bytes(int peer) const { return messages_.receive_bytes[peer]; }
    Payload payload(int peer, std::uint32_t chunk) const;
    /// Where a piece goes, and its length.
    std::pair<std::uint8_t*, std::size_t> place(int peer, std::uint32_t chunk) const;

  private:
    std::size_t piece_bytes(std::size_t message_bytes, std::uint32_t chunk) const;

    const Messages messages_;
    const std::uint8_t* const input_;
    std::uint8_t* const output_;
    const int rank_;
    const std::vector<std::uint16_t> turns_;  ///< of workers, again and again
    const int heaviest_worker_;
    const std::size_t short_bytes_;
    const std::size_t chunk_bytes_;
    std::vector<std::size_t> send_offset_;
    std::vector<std::size_t> receive_offset_;
    std::vector<Share> shares_;
    std::optional<std::size_t> sole_worker_;
};

}  // namespace plink::engine
