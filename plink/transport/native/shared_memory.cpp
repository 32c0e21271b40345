#include "shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace plink::transport {

namespace {

// For each way; a multiple of the page size of every processor. What is not used takes no memory.
constexpr std::size_t kMarksBytes = std::size_t{64} << 10;
constexpr std::size_t kLeastCapacity = kMarksBytes;
constexpr std::size_t kMostCapacity = std::size_t{1} << 30;
// Told piece by piece, so that one side reads while the other still writes.
constexpr std::size_t kPieceBytes = std::size_t{64} << 10;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;

std::runtime_error failure(const std::string& what) {
    return std::runtime_error("no shared memory: " + what + ": " + text_of(errno));
}

}  // namespace

std::unique_ptr<SharedMemory> SharedMemory::made(std::size_t capacity_bytes, int bell) {
    std::size_t capacity = kLeastCapacity;
    while (capacity < std::min(capacity_bytes, kMostCapacity)) capacity *= 2;
    Descriptor memory(::memfd_create("plink", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!memory.is_open()) throw failure("memfd_create");
    if (::ftruncate(memory.get(), static_cast<off_t>(2 * (kMarksBytes + capacity))) != 0) {
        throw failure("ftruncate");
    }
    if (::fcntl(memory.get(), F_ADD_SEALS, kSeals | F_SEAL_SEAL) != 0) throw failure("F_ADD_SEALS");
    return std::unique_ptr<SharedMemory>(new SharedMemory(std::move(memory), capacity, true, bell));
}

std::unique_ptr<SharedMemory> SharedMemory::joined(Descriptor memory, int bell) {
    // Without the seals, the peer could take mapped memory away: reading it would end this process.
    const int seals = ::fcntl(memory.get(), F_GET_SEALS);
    struct stat status{};
    if (seals < 0 || (seals & kSeals) != kSeals || ::fstat(memory.get(), &status) != 0) {
        throw std::runtime_error("the peer's shared memory is not sealed");
    }
    const std::size_t capacity = static_cast<std::size_t>(status.st_size) / 2 - kMarksBytes;
    const bool is_power_of_two = (capacity & (capacity - 1)) == 0;
    if (capacity < kLeastCapacity || capacity > kMostCapacity || !is_power_of_two ||
        static_cast<std::size_t>(status.st_size) != 2 * (kMarksBytes + capacity)) {
        throw std::runtime_error("the peer's shared memory has a wrong size");
    }
    std::unique_ptr<SharedMemory> its(new SharedMemory(std::move(memory), capacity, false, bell));
    its->memory_.reset();
    return its;
}

SharedMemory::Mapping::Mapping(std::size_t size_bytes) : size_(size_bytes) {
    void* const room =
        ::mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) throw failure("mmap");
    data_ = static_cast<std::uint8_t*>(room);
}

SharedMemory::Mapping::~Mapping() { ::munmap(data_, size_); }

void SharedMemory::Mapping::show(const Descriptor& memory, std::size_t at, std::size_t size,
                                 std::size_t offset) {
    if (::mmap(data_ + at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory.get(),
               static_cast<off_t>(offset)) == MAP_FAILED) {
        throw failure("mmap");
    }
}

SharedMemory::Way::Way(const Descriptor& memory, std::size_t capacity_bytes, int index)
    : page(kMarksBytes), ring(2 * capacity_bytes), marks(*reinterpret_cast<Marks*>(page.data())) {
    const auto way = static_cast<std::size_t>(index);
    page.show(memory, 0, kMarksBytes, way * kMarksBytes);
    for (const std::size_t copy : {0, 1}) {
        ring.show(memory, copy * capacity_bytes, capacity_bytes,
                  2 * kMarksBytes + way * capacity_bytes);
    }
}

SharedMemory::SharedMemory(Descriptor memory, std::size_t capacity_bytes, bool is_maker, int bell)
    : memory_(std::move(memory)),
      capacity_(capacity_bytes),
      bell_(bell),
      in_(memory_, capacity_, is_maker ? 1 : 0),
      out_(memory_, capacity_, is_maker ? 0 : 1) {
    static_assert(sizeof(Marks) <= kMarksBytes);
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
}

std::uint8_t* SharedMemory::at(const Way& way, std::uint64_t position) const {
    return way.ring.data() + (position & (capacity_ - 1));
}

std::size_t SharedMemory::filled(std::uint64_t written, std::uint64_t read) const {
    const std::uint64_t filled = written - read;
    if (filled > capacity_) throw std::runtime_error("its shared memory says what cannot be");
    return static_cast<std::size_t>(filled);
}

SharedMemory::Bytes SharedMemory::readable() {
    const std::uint64_t written = in_.marks.written.load(std::memory_order_acquire);
    const std::size_t size = std::min(filled(written, read_), kPieceBytes);
    offered_ = read_ + size;
    return {at(in_, read_), size};
}

// Both sides first say what they did, then look whether the other waits for it; and first say that
// they wait, then look once more. In the single order of these operations one of them sees the
// other's.

void SharedMemory::consume(std::size_t size) {
    read_ += size;
    Marks& marks = in_.marks;
    marks.read.store(read_, std::memory_order_seq_cst);
    if (marks.writer_waits.load(std::memory_order_seq_cst) == 0) return;
    if (filled(marks.written.load(std::memory_order_acquire), read_) > capacity_ / 2) return;
    if (marks.writer_waits.exchange(0, std::memory_order_seq_cst) != 0) ring_bell();
}

bool SharedMemory::is_drained() {
    Marks& marks = in_.marks;
    if (marks.written.load(std::memory_order_relaxed) != offered_) return false;
    marks.reader_waits.store(1, std::memory_order_seq_cst);
    if (marks.written.load(std::memory_order_seq_cst) == offered_) return true;
    marks.reader_waits.store(0, std::memory_order_relaxed);
    return false;
}

std::size_t SharedMemory::write(const iovec* pieces, std::size_t count) {
    const std::uint64_t begin = written_;
    const std::uint64_t end =
        begin + capacity_ - filled(begin, out_.marks.read.load(std::memory_order_acquire));
    std::uint64_t published = begin;
    for (std::size_t i = 0; i < count; ++i) {
        const auto* data = static_cast<const std::uint8_t*>(pieces[i].iov_base);
        std::size_t left = pieces[i].iov_len;
        while (left > 0 && written_ < end) {
            const std::size_t size =
                std::min<std::uint64_t>({left, end - written_, published + kPieceBytes - written_});
            std::memcpy(at(out_, written_), data, size);
            written_ += size;
            data += size;
            left -= size;
            if (written_ - published < kPieceBytes) continue;
            publish();
            published = written_;
        }
    }
    if (published != written_) publish();
    return static_cast<std::size_t>(written_ - begin);
}

void SharedMemory::publish() {
    Marks& marks = out_.marks;
    marks.written.store(written_, std::memory_order_seq_cst);
    if (marks.reader_waits.load(std::memory_order_seq_cst) == 0) return;
    if (marks.reader_waits.exchange(0, std::memory_order_seq_cst) != 0) ring_bell();
}

bool SharedMemory::is_full() {
    Marks& marks = out_.marks;
    marks.writer_waits.store(1, std::memory_order_seq_cst);
    if (filled(written_, marks.read.load(std::memory_order_seq_cst)) > capacity_ / 2) return true;
    marks.writer_waits.store(0, std::memory_order_relaxed);
    return false;
}

void SharedMemory::ring_bell() const {
    const std::uint8_t byte = 0;
    if (::send(bell_, &byte, sizeof(byte), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return;
    // The bell rings already, or nobody is there.
    if (errno == EAGAIN || errno == EPIPE || errno == ECONNRESET) return;
    throw std::runtime_error("its bell cannot be rung: " + text_of(errno));
}

void SharedMemory::silence_bell() const {
    std::uint8_t bytes[64];
    [[maybe_unused]] const auto got = ::recv(bell_, bytes, sizeof(bytes), MSG_DONTWAIT);
}

}  // namespace plink::transport
