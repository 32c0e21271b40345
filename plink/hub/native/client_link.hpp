#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "opening.hpp"
#include "wire.hpp"

namespace plink::hub {

/// A chunk as a worker sees it.
struct ClientChunk {
    std::size_t offset;  ///< in the flat arrays
    std::uint32_t items;
    std::uint32_t link;  ///< by which it goes and comes
};

/// What a worker's connections share. `iteration` is the one under way.
struct ClientState {
    std::vector<ClientChunk> chunks;
    float* gradients;
    float* values;
    Wire wire;
    std::uint32_t iteration = 0;
    std::vector<std::uint8_t> has_come;  ///< by chunk, in this iteration
    std::size_t missing = 0;             ///< chunks that have not
    std::vector<double> squares;         ///< by chunk
    std::uint32_t revision = 0;          ///< of the set of workers that squares are of
    std::size_t partials = 0;            ///< links whose squares of it have come
    std::uint16_t workers = 0;           ///< that contributed
    bool is_skipped = false;
};

/// The server says why it ends.
struct ServerRefusal : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A connection to a lane, at the worker's end.
class ClientLink {
  public:
    ClientLink(transport::Stream stream, std::uint32_t number, std::string server,
               std::uint16_t incarnation, ClientState& state);

    const std::uint32_t number;
    const std::string server;  ///< for people
    const std::uint16_t incarnation;
    bool is_readable = true;
    bool is_writable = true;
    std::vector<std::uint32_t> chunks;  ///< that live there, ascending
    int fd() const { return stream_.get(); }
    bool can_write() const {
        if (!opening_.is_done()) return is_writable && opening_.must_write();
        return is_writable && (!ready_.empty() || !outbox_.is_empty());
    }

    void say(const Frame& frame, std::vector<std::uint8_t> payload);
    /// Gradients, or first values if `is_initial`, of a chunk may go.
    void send_chunk(std::uint32_t chunk) { ready_.push_back(chunk); }
    bool is_initial = false;

    /// Once. Throw ConnectionLost, ServerRefusal, and std::runtime_error for what no server sends.
    void read();
    void write();

    std::uint64_t bytes_in() const { return bytes_in_.load(std::memory_order_relaxed); }
    std::uint64_t bytes_out() const { return bytes_out_.load(std::memory_order_relaxed); }

  private:
    void begin_frame();
    void end_frame();
    void fill_outbox();

    transport::Stream stream_;
    Opening opening_;
    ClientState& state_;
    std::deque<std::uint32_t> ready_;
    Outbox outbox_;
    std::uint8_t header_[kFrameBytes];
    std::size_t header_got_ = 0;
    bool has_frame_ = false;
    Frame frame_{};
    std::uint8_t* into_ = nullptr;
    std::size_t got_ = 0;
    std::vector<std::uint8_t> aside_;  ///< what is no value
    std::atomic<std::uint64_t> bytes_in_{0};
    std::atomic<std::uint64_t> bytes_out_{0};
};

}  // namespace plink::hub
