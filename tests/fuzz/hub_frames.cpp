// Fuzzes what a lane of the hub hears: frames of a worker, or of another rack's server, in pieces
// as the network cuts them. Invariants: whatever one connection says, nothing outside of the lane's
// arrays is touched, at most one contribution a worker counts, an honest worker beside it gets the
// value of every chunk that is complete, and what waits for its turn stays within its bound.

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "check.hpp"
#include "lane.hpp"
#include "link.hpp"

using namespace plink::hub;
using plink::transport::Descriptor;
using plink::transport::Stream;

namespace {

constexpr std::uint32_t kChunks = 3;
constexpr std::uint32_t kItems = 20;
constexpr std::uint32_t kWorkers = 3;

LaneOptions options_of(std::uint8_t bits) {
    LaneOptions options;
    options.workers = kWorkers;
    options.optimizer = static_cast<Optimizer>(bits % 5);
    options.is_in_order = (bits & 8) != 0;
    options.is_by_step = (bits & 16) != 0;
    options.wire = static_cast<Wire>((bits >> 5) & 3);
    if ((bits & 128) != 0) options.racks = 2;
    if (bits == 255) options.mode = Mode::kSsp;
    return options;
}

/// What is written to one end of a connection is read by the link at the other.
struct Ends {
    Ends() {
        int ends[2];
        FUZZ_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
        theirs = Descriptor(ends[0]);
        ours = Descriptor(ends[1]);
    }
    Descriptor theirs;
    Descriptor ours;
};

/// Whether the connection is still of use.
bool deliver(Link& link, const Descriptor& from, const std::uint8_t* bytes, std::size_t size,
             Scratch& scratch) {
    FUZZ_CHECK(::write(from.get(), bytes, size) == static_cast<ssize_t>(size));
    try {
        link.is_readable = true;
        link.read(scratch);
        // Nobody reads: what the socket does not take is forgotten.
        if (link.can_write()) link.write(Outbox::kMostBytesAtOnce);
    } catch (const ConnectionLost&) {
        return false;
    } catch (const std::runtime_error& fault) {
        FUZZ_CHECK(std::strlen(fault.what()) > 0);
        return false;
    }
    std::uint8_t sink[4096];
    while (::read(from.get(), sink, sizeof(sink)) > 0) continue;
    return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    static Scratch scratch;
    const LaneOptions options = options_of(data[0]);
    const bool is_peer = options.racks > 1 && (data[1] & 1) != 0;
    std::vector<ChunkPlace> places;
    for (std::uint32_t id = 0; id < kChunks; ++id) places.push_back({id, kItems, 0});
    Lane lane(options, places,
              {[](Link&) {}, [] {}, [](std::uint32_t, const std::string&) {}, [] {}});
    LaneCopy copy;
    copy.arrays.assign(1 + states_of(options.optimizer), std::vector<float>(kChunks * kItems));
    if ((data[1] & 2) != 0) lane.load(copy);
    Ends hostile;
    Ends honest;
    Link link(Stream(std::move(hostile.ours)), lane, is_peer ? UINT32_MAX : 0, 1, is_peer ? 1 : -1);
    Link other(Stream(std::move(honest.ours)), lane, 1, 1);
    is_peer ? lane.join_peer(link) : lane.join(link);
    lane.join(other);
    std::uint8_t step[kFrameBytes + kHyperBytes] = {};
    encode({Kind::kStep, 0, 1, 0, 1, kHyperBytes}, step);
    bool is_open = true;
    for (std::size_t at = 2; at < size && is_open;) {
        const std::size_t piece = std::min<std::size_t>(size - at, 1 + data[at] % 200);
        is_open = deliver(link, hostile.theirs, data + at, piece, scratch);
        at += piece;
        if ((data[1] & 4) != 0 && at > size / 2) {
            (void)deliver(other, honest.theirs, step, sizeof(step), scratch);
        }
        FUZZ_CHECK(lane.figures().early_bytes <= kWorkers * kChunks * kItems * sizeof(float));
        FUZZ_CHECK(lane.figures().steps + lane.figures().skipped <= lane.figures().iteration ||
                   options.mode != Mode::kSync || is_peer);
    }
    lane.leave(link);
    lane.leave(other);
    lane.drop(0, 1, 1);
    return 0;
}
