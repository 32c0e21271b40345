#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collective.hpp"
#include "part.hpp"

namespace plink::engine {

/// Messages of up to so many bytes are eager: they travel at once, in one frame.
constexpr std::size_t kMostEagerBytes = std::size_t{64} << 10;
/// So much a receiver keeps of each peer before it is asked for, as `charge` counts it; beyond it a
/// message waits for its receiver.
constexpr std::size_t kMostKeptBytes = std::size_t{256} << 10;

/// What an eager message counts for: with what it takes to know of it.
constexpr std::size_t charge(std::size_t bytes) { return bytes + 128; }

/// What both ends of a message must agree on.
struct Content {
    std::uint64_t bytes;
    std::uint16_t type;  ///< of its elements, as the program numbers types

    bool operator==(const Content& other) const {
        return bytes == other.bytes && type == other.type;
    }
    bool operator!=(const Content& other) const { return !(*this == other); }
};

/// " receives 24 bytes of a message with tag 7, which has 32", or that types differ.
std::string unlike_text(std::uint32_t tag, const Content& received, const Content& sent);

/// What a rank that receives tells the sender first.
struct Want {
    std::uint16_t id;  ///< in the headers of the message's frames
    std::uint32_t tag;
    Content content;
};

/// A message from one rank to another, at either end. It belongs to no order of collectives: what
/// comes of it has a receiver, or is eager and kept, so that it never stands in anybody's way.
class Message final : public Collective {
  public:
    /// One that is to be sent.
    Message(int peer, std::uint32_t tag, const void* data, Content content, int ranks, int workers);
    /// One that is to be received as `id`; with a negative peer from whoever has one.
    Message(int peer, std::uint32_t tag, void* data, Content content, int ranks, int workers,
            std::uint16_t id);

    const std::uint32_t tag;
    const Content content;
    const std::size_t bytes;  ///< of the content
    const bool is_received;

    bool is_eager() const { return bytes <= kMostEagerBytes; }
    /// Whether worker 0 has all of it.
    bool is_sole() const { return chunks() == 1; }
    int peer() const { return peer_; }
    std::uint16_t id() const { return id_; }
    /// What is known last: its sender, and what its frames say: the receiver's id; of an eager one,
    /// how many receives its sender has heard of. Before any worker learns of it.
    void settle(int its_peer, std::uint16_t its_id) {
        peer_ = its_peer;
        id_ = its_id;
    }

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
    int parts() const;
    Message(int peer, std::uint32_t tag, std::uint8_t* data, Content content, int ranks,
            int workers, bool is_received, std::uint16_t id);

    std::atomic<int> peer_;
    std::uint8_t* const data_;
    const int workers_;
    std::uint16_t id_;
    std::vector<Share> shares_;
};

}  // namespace plink::engine
