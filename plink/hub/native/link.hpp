#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory.hpp"
#include "opening.hpp"
#include "scalars.hpp"

namespace plink::hub {

class Lane;
struct TenantTurn;

/// Room for what a loop has received, and a header's room before it.
struct Scratch {
    static constexpr std::size_t kBytes = std::size_t{256} << 10;
    Array<std::uint8_t> bytes = make_array<std::uint8_t>(kAlignment + kBytes);
    std::uint8_t* data() const { return bytes.get() + kAlignment; }
};

/// A connection of a worker to a lane, at the server's end.
class Link {
  public:
    Link(transport::Stream stream, Lane& lane, std::uint32_t worker, std::uint16_t incarnation,
         int rack = -1);

    Lane& lane;
    const std::uint32_t worker;
    const std::uint16_t incarnation;
    const int rack;  ///< whose server is at the other end; -1 for a worker
    TenantTurn* tenant = nullptr;
    bool is_readable = true;
    bool is_writable = true;
    bool is_queued = false;  ///< for the loop's attention
    bool is_held = false;    ///< until others of its port have sent what is theirs
    bool is_ending = false;  ///< once all is sent; what comes meanwhile is not looked at
    bool is_over = false;

    // What the lane keeps of it.
    std::uint32_t iteration = 0;  ///< that it has begun
    bool has_begun = false;       ///< any
    std::vector<Hyper> hypers;    ///< of its own, where every push is stepped by itself
    bool is_waiting = false;      ///< for first values, since it pulled
    std::uint32_t pulled = 0;     ///< the iteration of whose values it then calls them

    Outbox outbox;
    int fd() const { return stream_.get(); }
    bool can_read() const { return is_readable && !is_over; }
    bool can_write() const {
        const bool has_any = opening_.is_done() ? !outbox.is_empty() : opening_.must_write();
        return is_writable && !is_over && has_any;
    }
    bool is_near() const { return is_near_; }
    /// What the kernel has been given, and has not sent yet.
    std::size_t unsent_bytes() const;

    /// Receives once, and hands whole frames to the lane; how many bytes. Throws ConnectionLost,
    /// and std::runtime_error for what the worker must not send.
    std::size_t read(Scratch& scratch);
    /// Sends once, about so many bytes at most; how many. Throws ConnectionLost.
    std::size_t write(std::size_t most);
    /// Tells the worker why, and nothing after it.
    void end(const std::string& why);

    /// What may be on its way from and to a near worker at a time, in bytes; others keep what the
    /// kernel finds.
    void limit(int receive_bytes, int send_bytes);

    std::uint64_t bytes_in() const { return bytes_in_; }
    std::uint64_t bytes_out() const { return bytes_out_; }

  private:
    std::size_t feed(const std::uint8_t* bytes, std::size_t size);
    void handle(const Frame& frame, const std::uint8_t* payload);
    void begin_frame(const std::uint8_t* bytes);

    transport::Stream stream_;
    Opening opening_;
    bool is_near_;
    int receive_bytes_ = 0;
    int send_bytes_ = 0;
    std::uint8_t header_[kFrameBytes];
    std::size_t header_got_ = 0;  ///< bytes of an incomplete header
    bool has_frame_ = false;      ///< whose payload is not complete
    Frame frame_{};
    Array<std::uint8_t> payload_;
    std::size_t payload_room_ = 0;
    std::size_t payload_got_ = 0;
    std::size_t ended_bytes_ = 0;  ///< that came after the end
    std::uint64_t bytes_in_ = 0;
    std::uint64_t bytes_out_ = 0;
};

}  // namespace plink::hub
