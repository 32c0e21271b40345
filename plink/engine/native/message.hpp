#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "collective.hpp"
#include "part.hpp"

namespace plink::engine {

/// What a rank that receives tells the sender first.
struct Want {
    std::uint16_t id;  ///< in the headers of the message's frames
    std::uint32_t tag;
    std::uint64_t bytes;
};

/// A message from one rank to another, at either end. It belongs to no order of collectives: the
/// receiver asks for it, and so no frame comes that nobody waits for.
class Message final : public Collective {
  public:
    /// One that is to be sent: it begins once it is wanted.
    Message(int peer, std::uint32_t tag, const void* data, std::size_t bytes, int ranks,
            int workers);
    /// One that is to be received as `id`; with a negative peer from whoever has one.
    Message(int peer, std::uint32_t tag, void* data, std::size_t bytes, int ranks, int workers,
            std::uint16_t id);

    const std::uint32_t tag;
    const std::size_t bytes;
    const bool is_received;

    int peer() const { return peer_; }
    std::uint16_t id() const { return id_; }
    /// What is known last: its receiver's id, or its sender. Before any worker learns of it.
    void settle(int its_peer, std::uint16_t its_id) {
        peer_ = its_peer;
        id_ = its_id;
    }
    Want want() const { return {id_, tag, bytes}; }
    int parts() const;

    const Share& share(int worker) const override { return shares_[worker]; }
    std::optional<std::size_t> sole_worker() const override { return std::nullopt; }
    std::unique_ptr<Part> part(const std::shared_ptr<Collective>& self, int worker, bool in_order,
                               Pace& pace) override;
    void copy_own() override {}

    std::uint32_t chunks() const;
    int worker(std::uint32_t chunk) const;
    std::uint8_t* at(std::uint32_t chunk) const;
    std::size_t bytes_of(std::uint32_t chunk) const;

  private:
    Message(int peer, std::uint32_t tag, std::uint8_t* data, std::size_t bytes, int ranks,
            int workers, bool is_received, std::uint16_t id);

    std::atomic<int> peer_;
    std::uint8_t* const data_;
    const int workers_;
    std::uint16_t id_;
    std::vector<Share> shares_;
};

}  // namespace plink::engine
