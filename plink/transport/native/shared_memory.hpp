#pragma once

#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "socket.hpp"

namespace plink::transport {

/// Two streams of bytes, one each way, between ranks of one host, in memory that both have mapped.
///
/// Each stream is a ring with one writer and one reader. A side keeps its own position to itself
/// and publishes it; what it reads of the other's is checked against its own, so that a peer that
/// writes nonsense there cannot lead it out of the ring. Neither side polls: who finds nothing to
/// do says so in the memory, looks once more, and sleeps; the other then rings the bell, a byte on
/// the Unix socket between them, whose end also tells that the peer is gone. What was written
/// before that can still be read.
class SharedMemory {
  public:
    /// New memory with `capacity_bytes`, rounded up to a power of two, for each way. `bell` is the
    /// socket to the peer and must outlive this.
    ///
    /// Throws std::runtime_error where the system gives none.
    static std::unique_ptr<SharedMemory> made(std::size_t capacity_bytes, int bell);
    /// What the peer made.
    ///
    /// Throws std::runtime_error where that cannot be used safely.
    static std::unique_ptr<SharedMemory> joined(Descriptor memory, int bell);
    SharedMemory(const SharedMemory&) = delete;

    /// To be sent to the peer; the memory needs it no more.
    Descriptor handle() { return std::move(memory_); }

    struct Bytes {
        const std::uint8_t* data;
        std::size_t size;
    };
    /// The next bytes that have come, in one piece; not necessarily all. The peer can still change
    /// them. Throws std::runtime_error for what the peer must not do, as all below.
    Bytes readable();
    /// Gives the room of the first `size` of them back.
    void consume(std::size_t size);
    /// Returns whether no more has come than `readable` told: then the bell rings when it does.
    bool is_drained();

    /// Takes as many bytes as there is room for; returns how many.
    std::size_t write(const iovec* pieces, std::size_t count);
    /// Returns whether there is little room: then the bell rings when there is more.
    bool is_full();

    /// Whoever the bell wakes looks for bytes and for room.
    void silence_bell() const;

  private:
    /// Of one way, in the shared memory, each on a cache line of its own.
    struct Marks {
        alignas(64) std::atomic<std::uint64_t> written;
        alignas(64) std::atomic<std::uint64_t> read;
        alignas(64) std::atomic<std::uint32_t> reader_waits;
        alignas(64) std::atomic<std::uint32_t> writer_waits;
    };
    /// A part of the address space that is given back.
    class Mapping {
      public:
        explicit Mapping(std::size_t size_bytes);
        Mapping(const Mapping&) = delete;
        ~Mapping();
        /// Shows `size` bytes of `memory` there.
        void show(const Descriptor& memory, std::size_t at, std::size_t size, std::size_t offset);
        std::uint8_t* data() const { return data_; }

      private:
        std::size_t size_;
        std::uint8_t* data_;
    };
    /// One way: its marks, and the ring, mapped twice in a row, so that no piece is cut in two.
    struct Way {
        Way(const Descriptor& memory, std::size_t capacity_bytes, int index);
        Mapping page;
        Mapping ring;
        Marks& marks;
    };

    SharedMemory(Descriptor memory, std::size_t capacity_bytes, bool is_maker, int bell);
    std::uint8_t* at(const Way& way, std::uint64_t position) const;
    std::size_t filled(std::uint64_t written, std::uint64_t read) const;
    void publish();
    void ring_bell() const;

    Descriptor memory_;
    std::size_t capacity_;
    int bell_;
    Way in_;
    Way out_;
    std::uint64_t read_ = 0;
    std::uint64_t offered_ = 0;  ///< up to where `readable` told
    std::uint64_t written_ = 0;
};

}  // namespace plink::transport
