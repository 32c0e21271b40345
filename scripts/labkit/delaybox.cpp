// A delay box: ports, which are TAP devices, and between every two of them a path with a delay,
// jitter, random loss, and a rate with a queue. It stands in for netem.
//
// Lines on standard input say what to make, up to `go`: it then says `ready`.
//
//     seed N
//     end-with-input
//     port NAME
//     path FROM TO DELAY_US JITTER_US LOSS RATE_BITS QUEUE_BYTES
//
// Ports count from 0 in the order given; a path is one way; LOSS is a probability; a rate of 0 is
// none. Without a path two ports do not reach each other. With `end-with-input` it ends when its
// input does, and answers every further line with the figures of each path and an empty line:
//
//     FROM TO FRAMES BYTES LOST OVERFLOWED GREATEST_LATENESS_US

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_ether.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t kMostFrameBytes = 65536;
constexpr std::size_t kMostAddresses = 4096;
constexpr int kReadsInTurn = 32;
// Room for what a path without a rate has under way: half a second of 1 Gbit/s.
constexpr std::size_t kUnlimitedRoomBytes = 64 << 20;
constexpr std::size_t kLeastRoomBytes = 1 << 20;
constexpr std::int64_t kNever = INT64_MAX;
// So that programs which keep the cores busy do not make frames late; only root may have it.
constexpr int kRealTimePriority = 1;

std::int64_t now_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

[[noreturn]] void fail(const std::string& what) {
    throw std::runtime_error(what + ": " + std::strerror(errno));
}

/// Frames in the order in which they came, in memory of a fixed size.
class Line {
  public:
    explicit Line(std::size_t room_bytes) : room_(room_bytes & ~std::size_t{15}) {
        void* const memory = ::mmap(nullptr, room_, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) fail("no memory for a path");
        memory_ = static_cast<std::uint8_t*>(memory);
    }

    /// False where there is no room.
    bool put(std::int64_t due_ns, const std::uint8_t* frame, std::uint32_t size) {
        const std::size_t needed = record_bytes(size);
        const std::size_t to_end = room_ - put_ % room_;
        // A record is in one piece: what is left at the end is skipped where it is too short.
        const std::size_t skipped = to_end < needed ? to_end : 0;
        if (put_ + skipped + needed - taken_ > room_) return false;
        if (skipped > 0) at(put_)->size = 0;
        put_ += skipped;
        Record* const record = at(put_);
        record->due_ns = due_ns;
        record->size = size;
        std::memcpy(record + 1, frame, size);
        put_ += needed;
        return true;
    }

    std::int64_t due_ns() {
        skip();
        return put_ == taken_ ? kNever : at(taken_)->due_ns;
    }
    const std::uint8_t* frame() { return reinterpret_cast<std::uint8_t*>(at(taken_) + 1); }
    std::uint32_t size() { return at(taken_)->size; }
    void pop() { taken_ += record_bytes(size()); }

  private:
    struct Record {
        std::int64_t due_ns;
        std::uint32_t size;  ///< 0: the next one is at the beginning
        std::uint32_t unused;
    };

    static std::size_t record_bytes(std::uint32_t size) {
        return (sizeof(Record) + size + sizeof(Record) - 1) & ~(sizeof(Record) - 1);
    }
    Record* at(std::uint64_t place) { return reinterpret_cast<Record*>(memory_ + place % room_); }
    void skip() {
        if (put_ != taken_ && at(taken_)->size == 0) taken_ += room_ - taken_ % room_;
    }

    std::size_t room_;
    std::uint8_t* memory_;
    std::uint64_t put_ = 0;
    std::uint64_t taken_ = 0;
};

struct PathOptions {
    std::int64_t delay_ns;
    std::int64_t jitter_ns;
    double loss;
    double rate_bits;  ///< 0 for none
    double queue_bytes;

    std::size_t room_bytes() const {
        if (rate_bits == 0) return kUnlimitedRoomBytes;
        const double under_way = rate_bits / 8e9 * static_cast<double>(delay_ns + jitter_ns);
        // Twice, since small frames have a record each.
        return kLeastRoomBytes + static_cast<std::size_t>(2 * (under_way + queue_bytes));
    }
};

/// Whether an Ethernet frame asks for an address or answers (ARP, RFC 826).
bool is_arp(const std::uint8_t* frame, std::uint32_t size) {
    return size >= ETH_HLEN && frame[12] == ETH_P_ARP >> 8 && frame[13] == (ETH_P_ARP & 0xff);
}

class Path {
  public:
    Path(PathOptions options, std::uint64_t seed)
        : options_(options), line_(options.room_bytes()), random_(seed) {}

    void take(std::int64_t now, const std::uint8_t* frame, std::uint32_t size) {
        ++frames;
        bytes += size;
        std::int64_t due = now;
        if (options_.rate_bits > 0) {
            const std::int64_t begins = std::max(now, free_at_ns_);
            const double waiting = static_cast<double>(begins - now) * options_.rate_bits / 8e9;
            if (waiting + size > options_.queue_bytes) {
                ++overflowed;
                return;
            }
            free_at_ns_ = begins + static_cast<std::int64_t>(size * 8e9 / options_.rate_bits);
            due = free_at_ns_;
        }
        // The kernel asks for addresses when it likes: drawn, they would change what else is lost.
        const bool is_drawn = !is_arp(frame, size);
        if (is_drawn && options_.loss > 0 && share_() < options_.loss) {
            ++lost;
            return;
        }
        due += options_.delay_ns;
        if (is_drawn && options_.jitter_ns > 0) {
            due += static_cast<std::int64_t>(share_() * static_cast<double>(options_.jitter_ns));
        }
        // Frames do not overtake one another.
        latest_due_ns_ = std::max(latest_due_ns_, due);
        if (!line_.put(latest_due_ns_, frame, size)) ++overflowed;
    }

    /// Hands over what is due; returns when the next is.
    std::int64_t release(std::int64_t now, int to) {
        std::int64_t due = line_.due_ns();
        while (due <= now) {
            latest_us = std::max(latest_us, (now - due) / 1000);
            // A device that is down takes nothing, like a cable that is not plugged in.
            [[maybe_unused]] const ssize_t written = ::write(to, line_.frame(), line_.size());
            line_.pop();
            due = line_.due_ns();
        }
        return due;
    }

    std::uint64_t frames = 0, bytes = 0, lost = 0, overflowed = 0;
    std::int64_t latest_us = 0;

  private:
    double share_() { return std::uniform_real_distribution<double>(0.0, 1.0)(random_); }

    PathOptions options_;
    Line line_;
    std::mt19937_64 random_;
    std::int64_t free_at_ns_ = 0;
    std::int64_t latest_due_ns_ = 0;
};

int open_tap(const std::string& name) {
    const int fd = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) fail("cannot open /dev/net/tun");
    ifreq request{};
    if (name.size() >= sizeof(request.ifr_name)) throw std::runtime_error("too long: " + name);
    name.copy(request.ifr_name, name.size());
    // Without offloads, so that the kernel cuts what it sends into the frames of a real network.
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    if (::ioctl(fd, TUNSETIFF, &request) != 0) fail("cannot make the device " + name);
    return fd;
}

class Box {
  public:
    /// Reads what to make, up to `go`.
    explicit Box(std::istream& input) {
        std::string line;
        std::uint64_t seed = 1;
        while (std::getline(input, line) && line != "go") {
            std::istringstream words(line);
            std::string what;
            words >> what;
            if (what == "seed") {
                words >> seed;
            } else if (what == "end-with-input") {
                ends_with_input_ = true;
            } else if (what == "port") {
                std::string name;
                words >> name;
                ports_.push_back(open_tap(name));
            } else if (what == "path") {
                add_path(words, seed);
            } else {
                words.setstate(std::ios::failbit);
            }
            if (words.fail()) throw std::runtime_error("not understood: " + line);
        }
        if (!input) throw std::runtime_error("the input ends before `go`");
    }

    void run() {
        for (const int port : ports_) polled_.push_back({port, POLLIN, 0});
        if (ends_with_input_) polled_.push_back({STDIN_FILENO, POLLIN, 0});
        for (;;) {
            std::int64_t next = kNever;
            for (auto& [ends, path] : paths_) {
                next = std::min(next, path->release(now_ns(), ports_[ends.second]));
            }
            const std::int64_t wait = std::max<std::int64_t>(0, next - now_ns());
            const timespec limit{wait / 1'000'000'000, wait % 1'000'000'000};
            if (::ppoll(polled_.data(), polled_.size(), next == kNever ? nullptr : &limit,
                        nullptr) < 0 &&
                errno != EINTR) {
                fail("cannot wait");
            }
            for (std::size_t port = 0; port < ports_.size(); ++port) {
                if (polled_[port].revents != 0) read_from(static_cast<int>(port));
            }
            if (ends_with_input_ && polled_.back().revents != 0 && !answer()) return;
        }
    }

  private:
    void add_path(std::istringstream& words, std::uint64_t seed) {
        std::size_t from = 0, to = 0;
        double delay_us = 0, jitter_us = 0;
        PathOptions options{};
        words >> from >> to >> delay_us >> jitter_us >> options.loss >> options.rate_bits >>
            options.queue_bytes;
        if (words.fail() || from >= ports_.size() || to >= ports_.size()) {
            words.setstate(std::ios::failbit);
            return;
        }
        options.delay_ns = static_cast<std::int64_t>(delay_us * 1e3);
        options.jitter_ns = static_cast<std::int64_t>(jitter_us * 1e3);
        paths_[{from, to}] = std::make_unique<Path>(options, seed * 65537 + from * 257 + to);
    }

    void read_from(int port) {
        for (int turn = 0; turn < kReadsInTurn; ++turn) {
            const ssize_t got = ::read(ports_[port], frame_, sizeof(frame_));
            if (got < 14) return;
            const std::int64_t now = now_ns();
            const std::uint64_t to = address(frame_), from = address(frame_ + 6);
            if (known_.size() < kMostAddresses || known_.count(from) != 0) known_[from] = port;
            const auto found = known_.find(to);
            if (found != known_.end()) {
                take(now, port, found->second, static_cast<std::uint32_t>(got));
                continue;
            }
            for (std::size_t other = 0; other < ports_.size(); ++other) {
                take(now, port, static_cast<int>(other), static_cast<std::uint32_t>(got));
            }
        }
    }

    void take(std::int64_t now, int from, int to, std::uint32_t size) {
        const auto path = paths_.find({from, to});
        if (from != to && path != paths_.end()) path->second->take(now, frame_, size);
    }

    static std::uint64_t address(const std::uint8_t* bytes) {
        std::uint64_t value = 0;
        std::memcpy(&value, bytes, 6);
        return value;
    }

    /// False at the end of the input.
    bool answer() {
        char asked[256];
        if (::read(STDIN_FILENO, asked, sizeof(asked)) <= 0) return false;
        for (const auto& [ends, path] : paths_) {
            std::cout << ends.first << ' ' << ends.second << ' ' << path->frames << ' '
                      << path->bytes << ' ' << path->lost << ' ' << path->overflowed << ' '
                      << path->latest_us << '\n';
        }
        std::cout << std::endl;
        return true;
    }

    bool ends_with_input_ = false;
    std::vector<int> ports_;
    std::vector<pollfd> polled_;
    std::map<std::pair<int, int>, std::unique_ptr<Path>> paths_;
    std::unordered_map<std::uint64_t, int> known_;
    std::uint8_t frame_[kMostFrameBytes];
};

}  // namespace

int main() {
    try {
        // Otherwise waits end up to 50 µs late.
        ::prctl(PR_SET_TIMERSLACK, 1UL);
        const sched_param priority{kRealTimePriority};
        ::sched_setscheduler(0, SCHED_RR, &priority);
        // Lines behind `go` are read from the descriptor, so none may be taken along.
        std::setvbuf(stdin, nullptr, _IONBF, 0);
        const auto box = std::make_unique<Box>(std::cin);
        std::cout << "ready" << std::endl;
        box->run();
    } catch (const std::exception& error) {
        std::cerr << "delaybox: " << error.what() << '\n';
        return 1;
    }
}
