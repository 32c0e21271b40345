// Fuzzes memory that ranks of one host share, by an input that is read as a script: two honest ends
// that write and read in any order, and a peer that writes anything into the memory at any time.
// Invariants: honest ends get every byte once and in order, who sleeps is woken, what a hostile
// peer writes leads nobody out of the ring, and what is refused is refused by an exception of a
// known kind.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include "check.hpp"
#include "script.hpp"
#include "shared_memory.hpp"

using namespace plink::transport;
using plink::fuzz::Script;

namespace {

// As the native part lays it out: for each way marks, then for each way a ring.
constexpr std::size_t kMarksBytes = std::size_t{64} << 10;
constexpr std::size_t kCapacity = std::size_t{64} << 10;
constexpr std::size_t kMarkBytes = 64;
constexpr std::size_t kMost = std::size_t{80} << 10;

std::array<Descriptor, 2> bells() {
    int pair[2];
    FUZZ_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
    return {Descriptor(pair[0]), Descriptor(pair[1])};
}

bool rings(const Descriptor& bell) {
    std::uint8_t byte;
    return ::recv(bell.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

/// Few and many bytes alike.
std::size_t any_size(Script& script) {
    return static_cast<std::size_t>(script.below(1024)) * (script.below(2) == 0 ? 1 : 80);
}

/// Two ends that keep to the protocol. What has been sent is the numbers from 0, each in a byte.
class Honest {
  public:
    explicit Honest(Script& script) : script_(script), bells_(bells()) {
        ends_[0] = SharedMemory::made(kCapacity, bells_[0].get());
        ends_[1] = SharedMemory::joined(ends_[0]->handle(), bells_[1].get());
    }

    void play() {
        while (!script_.is_over()) {
            const int end = script_.below(2);
            switch (script_.below(4)) {
                case 0:
                    write(end);
                    break;
                case 1:
                    read(end);
                    break;
                case 2:
                    if (ends_[end]->is_full()) is_full_[end] = true;
                    break;
                default:
                    sleep(end);
                    break;
            }
        }
        for (const int end : {0, 1}) {
            while (written_[1 - end] > read_[end]) read(end);
        }
    }

  private:
    void write(int end) {
        bytes_.resize(std::min(any_size(script_), kMost));
        for (std::size_t i = 0; i < bytes_.size(); ++i) {
            bytes_[i] = static_cast<std::uint8_t>((written_[end] + i) * 7);
        }
        const std::size_t cut = bytes_.size() / 3;
        const iovec pieces[] = {{bytes_.data(), cut}, {bytes_.data() + cut, bytes_.size() - cut}};
        const std::size_t room = kCapacity - (written_[end] - read_[1 - end]);
        const std::size_t taken = ends_[end]->write(pieces, 2);
        FUZZ_CHECK(taken == std::min(room, bytes_.size()));
        written_[end] += taken;
        if (taken == 0) return;
        FUZZ_CHECK(!is_drained_[1 - end] || rings(bells_[1 - end]));
        is_drained_[1 - end] = false;
    }

    void read(int end) {
        const std::uint64_t left = written_[1 - end] - read_[end];
        const auto come = ends_[end]->readable();
        FUZZ_CHECK(come.size <= left && (come.size > 0 || left == 0));
        const std::size_t used = std::min(come.size, any_size(script_) + 1);
        for (std::size_t i = 0; i < used; ++i) {
            FUZZ_CHECK(come.data[i] == static_cast<std::uint8_t>((read_[end] + i) * 7));
        }
        ends_[end]->consume(used);
        read_[end] += used;
        if (written_[1 - end] - read_[end] > kCapacity / 2) return;
        FUZZ_CHECK(!is_full_[1 - end] || rings(bells_[1 - end]));
        is_full_[1 - end] = false;
    }

    void sleep(int end) {
        // As who is woken does: the bell first, then bytes and room.
        ends_[end]->silence_bell();
        is_full_[end] = is_drained_[end] = false;
        const auto come = ends_[end]->readable();
        if (!ends_[end]->is_drained()) return;
        FUZZ_CHECK(come.size == written_[1 - end] - read_[end]);
        is_drained_[end] = true;
    }

    Script& script_;
    std::array<Descriptor, 2> bells_;
    std::unique_ptr<SharedMemory> ends_[2];
    std::uint64_t written_[2] = {0, 0};
    std::uint64_t read_[2] = {0, 0};
    bool is_drained_[2] = {false, false};  ///< it sleeps until something comes
    bool is_full_[2] = {false, false};     ///< it sleeps until there is room
    std::vector<std::uint8_t> bytes_;
};

/// One end, and a peer that has the memory and keeps to nothing.
class Hostile {
  public:
    explicit Hostile(Script& script)
        : script_(script), bells_(bells()), size_(2 * (kMarksBytes + kCapacity)) {
        Descriptor handle;
        if (script_.below(2) == 0) {
            victim_ = SharedMemory::made(kCapacity, bells_[0].get());
            handle = victim_->handle();
        } else {
            handle = Descriptor(::memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING));
            FUZZ_CHECK(::ftruncate(handle.get(), static_cast<off_t>(size_)) == 0);
            FUZZ_CHECK(::fcntl(handle.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
            Descriptor given(::fcntl(handle.get(), F_DUPFD_CLOEXEC, 0));
            victim_ = SharedMemory::joined(std::move(given), bells_[0].get());
        }
        void* const shown =
            ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, handle.get(), 0);
        FUZZ_CHECK(shown != MAP_FAILED);
        shared_ = static_cast<std::uint8_t*>(shown);
        begin_ = victim_->readable().data;
    }
    Hostile(const Hostile&) = delete;
    ~Hostile() { ::munmap(shared_, size_); }

    void play() {
        try {
            while (!script_.is_over()) act();
        } catch (const std::runtime_error&) {
            // It gives the peer up.
        }
    }

  private:
    void act() {
        switch (script_.below(8)) {
            case 0:
                offered_ = read();
                break;
            case 1: {
                const std::size_t used = std::min(offered_, any_size(script_));
                offered_ -= used;
                victim_->consume(used);
                break;
            }
            case 2:
                victim_->is_drained();
                break;
            case 3:
                victim_->is_full();
                break;
            case 4:
                write();
                break;
            case 5:
                ring();
                break;
            default:
                poke();
                break;
        }
    }

    std::size_t read() {
        const auto come = victim_->readable();
        FUZZ_CHECK(come.size <= kCapacity);
        FUZZ_CHECK(come.data >= begin_ && come.data < begin_ + kCapacity);
        std::uint8_t sum = 0;
        for (std::size_t i = 0; i < come.size; i += 512) sum += come.data[i];
        [[maybe_unused]] volatile const std::uint8_t seen = sum;
        return come.size;
    }

    void write() {
        const std::vector<std::uint8_t> bytes(std::min(any_size(script_), kMost), 1);
        const iovec piece{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
        FUZZ_CHECK(victim_->write(&piece, 1) <= std::min(bytes.size(), kCapacity));
    }

    void ring() {
        if (script_.below(8) == 0) ::shutdown(bells_[1].get(), SHUT_RDWR);
        const std::uint8_t bytes[128] = {};
        [[maybe_unused]] const auto sent =
            ::send(bells_[1].get(), bytes, 1 + script_.below(128), MSG_NOSIGNAL | MSG_DONTWAIT);
        victim_->silence_bell();
    }

    /// Marks of either way, by a little or to anything.
    void poke() {
        std::uint8_t* const mark =
            shared_ + script_.below(2) * kMarksBytes + script_.below(4) * kMarkBytes;
        std::uint64_t value;
        std::memcpy(&value, mark, sizeof(value));
        const auto by = static_cast<std::uint64_t>(any_size(script_));
        switch (script_.below(4)) {
            case 0:
                value += by;
                break;
            case 1:
                value -= by;
                break;
            case 2:
                value = by << script_.below(64);
                break;
            default:
                value = ~by;
                break;
        }
        std::memcpy(mark, &value, sizeof(value));
    }

    Script& script_;
    std::array<Descriptor, 2> bells_;
    std::size_t size_;
    std::unique_ptr<SharedMemory> victim_;
    std::uint8_t* shared_;
    const std::uint8_t* begin_;
    std::size_t offered_ = 0;
};

/// What a caller sends as memory: of any size, with any seals, or no memory at all.
void join_anything(Script& script) {
    const auto bell = bells();
    Descriptor handle(::memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    const std::size_t size = any_size(script) << script.below(20);
    FUZZ_CHECK(::ftruncate(handle.get(), static_cast<off_t>(size)) == 0);
    const int seals = script.below(32);
    ::fcntl(handle.get(), F_ADD_SEALS, seals);
    if (script.below(8) == 0) handle = Descriptor(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (script.below(8) == 0) handle = Descriptor(::open("/", O_RDONLY | O_CLOEXEC));
    if (script.below(8) == 0) handle.reset();
    try {
        const auto joined = SharedMemory::joined(std::move(handle), bell[0].get());
        const int needed = F_SEAL_SHRINK | F_SEAL_GROW;
        FUZZ_CHECK((seals & needed) == needed && (seals & F_SEAL_WRITE) == 0);
        const std::size_t capacity = size / 2 - kMarksBytes;
        FUZZ_CHECK(size % 2 == 0 && size > 2 * kMarksBytes && (capacity & (capacity - 1)) == 0);
        const std::vector<std::uint8_t> bytes(kMost, 1);
        const iovec piece{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
        FUZZ_CHECK(joined->write(&piece, 1) == std::min(capacity, kMost));
        FUZZ_CHECK(joined->readable().size == 0);
    } catch (const std::runtime_error&) {
        // Refused: the caller then uses TCP.
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Script script(data, size);
    switch (script.below(4)) {
        case 0:
            join_anything(script);
            break;
        case 1:
            Honest(script).play();
            break;
        default:
            Hostile(script).play();
            break;
    }
    return 0;
}
