#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "collective.hpp"
#include "window.hpp"

namespace plink::engine {

/// The peer called another collective than this rank.
struct Mismatch : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Where a part puts frames that are ready to go.
class Outbox {
  public:
    virtual void send(int peer, std::uint32_t chunk, Phase phase) = 0;
    /// More of what is ready from the start may go.
    virtual void widen() = 0;

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

/// Copies as many bytes as are left of an arrival, and come; returns how many.
std::size_t copy(Arrival& arrival, const std::uint8_t* bytes, std::size_t size);

/// What follows a frame's header.
struct Payload {
    const std::uint8_t* data;
    std::size_t size;
    std::uint16_t signature;  ///< in its header
};

/// One worker's part in a collective: what arrives is checked, used, and sent on. Knows no sockets.
class Part {
  public:
    Part(std::shared_ptr<Collective> collective, int worker);
    virtual ~Part() = default;

    const std::shared_ptr<Collective>& collective() const { return collective_; }
    const Share& share() const { return share_; }
    bool is_over() const { return frames_in_left_ == 0 && frames_out_left_ == 0; }

    /// In the headers of its frames.
    virtual std::uint16_t frame_number() const {
        return static_cast<std::uint16_t>(collective_->number);
    }
    /// Of an eager message, what it says of itself.
    virtual std::optional<Wish> eager() const { return std::nullopt; }
    /// Chunks that `peer` is sent from the start, and their phase.
    virtual const std::vector<std::uint32_t>& ready(int peer) const { return share_.ready[peer]; }
    virtual Phase ready_phase() const { return Phase::kBroadcast; }
    /// How many hops a frame to `peer` and what comes of it have before them, to the rank that has
    /// the result last.
    virtual std::uint32_t hops_left(int, std::uint32_t, Phase) const { return 0; }
    /// Of what is ready from the start, chunks from this one on may not go yet.
    std::uint32_t end() const { return window_.end(); }
    /// Throws Mismatch, or another std::runtime_error that says what is wrong, for a frame that
    /// must not come from `peer` now.
    virtual Arrival accept(int peer, const Frame& frame) = 0;
    /// The next bytes of an arrival, as many as there are whole items; returns how many were used.
    virtual std::size_t take(Arrival& arrival, const std::uint8_t* bytes, std::size_t size);
    /// All of it has come.
    virtual void finish(const Arrival& arrival, Outbox& outbox) = 0;
    /// What a frame that is ready brings `peer`; stays where it is until it is sent.
    virtual Payload payload(int peer, std::uint32_t chunk, Phase phase) const = 0;
    /// All of a frame to `peer` is with the kernel.
    virtual void sent(int peer, std::uint32_t chunk, Phase phase, Outbox& outbox) = 0;

  protected:
    const int worker_;
    std::uint64_t frames_in_left_;
    std::uint64_t frames_out_left_;
    Window window_;

  private:
    std::shared_ptr<Collective> collective_;
    const Share& share_;
};

/// Throws what says that a frame is wrong.
[[noreturn]] void refuse(const Frame& frame, const std::string& why);

}  // namespace plink::engine
