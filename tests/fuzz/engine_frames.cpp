// Fuzzes what an engine's worker receives on its data connections while collectives are in flight,
// by an input that is read as a forest, a buffer and a script of deeds: frames in and out of place,
// noise, pauses, new collectives. Invariants: memory is that of the buffers only, what is refused
// is refused by an exception of a known kind, what goes out is what this rank owes each peer, each
// frame once and collective after collective, a part that is over has all its results, and where
// the peers kept to the protocol the sums are right.

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "check.hpp"
#include "connection.hpp"
#include "schedule.hpp"
#include "script.hpp"
#include "tree_collective.hpp"
#include "tree_part.hpp"

using namespace plink::engine;
using plink::fuzz::Script;

namespace {

constexpr int kMostCollectives = 5;
constexpr int kMostInFlight = 2;
constexpr std::size_t kMostItems = 1500;

Forest any_forest(Script& script, int ranks) {
    const int routes = 1 + script.below(3);
    std::vector<double> weights;
    std::vector<std::int32_t> parents[2];
    for (int route = 0; route < routes; ++route) {
        weights.push_back(1.0 + script.below(2));
        const int root = script.below(ranks);
        for (auto& of_phase : parents) {
            std::vector<int> placed{root};
            std::vector<std::int32_t> tree(ranks, -1);
            for (int step = 1; step < ranks; ++step) {
                const int rank = (root + step) % ranks;
                tree[rank] = placed[script.below(static_cast<int>(placed.size()))];
                placed.push_back(rank);
            }
            of_phase.insert(of_phase.end(), tree.begin(), tree.end());
        }
    }
    return Forest(ranks, weights, parents[0], parents[1]);
}

/// What has gone out to one peer.
struct Heard {
    std::vector<std::uint8_t> bytes;
    std::uint64_t collective = 0;
    std::set<std::tuple<std::uint64_t, std::uint32_t, Phase>> frames;
};

/// One worker of one rank, with peers that the script plays.
class Bench final : public Flight {
  public:
    explicit Bench(Script& script)
        : script_(script),
          ranks_(2 + script.below(3)),
          rank_(script.below(ranks_)),
          workers_(1 + script.below(2)),
          in_order_(script.below(2) == 1),
          dtype_(static_cast<DType>(script.below(static_cast<int>(DType::kUint8)))),
          op_(static_cast<Op>(script.below(is_whole(dtype_) ? kOps : kOps - 1))),
          forest_(any_forest(script, ranks_)),
          plan_(forest_, rank_, workers_, 1 + script.below(4096)),
          inbox_(ranks_) {
        outboxes_[0].bench = outboxes_[1].bench = this;
        outboxes_[1].slot = 1;
        for (int peer = 0; peer < ranks_; ++peer) {
            int pair[2];
            FUZZ_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
            connections_.push_back(
                std::make_unique<Connection>(Line{Descriptor(pair[0]), nullptr}, peer));
            theirs_.emplace_back(pair[1]);
            connections_.back()->is_writable = true;
        }
        heard_.resize(ranks_);
    }

    void play() {
        begin_next();
        while (!script_.is_over()) {
            const int deed = script_.below(8);
            const int peer = (rank_ + 1 + script_.below(ranks_ - 1)) % ranks_;
            switch (deed) {
                case 0:
                    is_honest_ = false;
                    send(peer, script_.bytes(script_.below(64)));
                    break;
                case 1:
                    begin_next();
                    break;
                case 2:
                    write(peer);
                    break;
                case 3:
                    is_honest_ = false;
                    send(peer, frame(script_.below(kMostCollectives), script_.below(64),
                                     static_cast<Phase>(script_.below(4))));
                    break;
                default:
                    send_next(peer, 1 + script_.below(256));
                    break;
            }
            read(peer);
            retire();
        }
        if (is_honest_ && script_.goes_on_to_the_end()) finish();
    }

  private:
    struct SlotOutbox final : Outbox {
        Bench* bench = nullptr;
        int slot = 0;
        void send(int peer, std::uint32_t chunk, Phase phase) override {
            bench->connections_[peer]->queue(slot, chunk, phase);
        }
        void widen() override {}
    };
    /// A collective with a buffer of exactly its size.
    struct Buffer {
        std::unique_ptr<std::uint8_t[]> bytes;
        std::shared_ptr<TreeCollective> collective;
    };

    const InFlight* find(std::uint16_t collective) const override {
        for (int i = 0; i < in_flight_count_; ++i) {
            if (in_flight_[i].part->collective()->number == collective) return &in_flight_[i];
        }
        if (collective < buffers_.size()) throw std::runtime_error("it is over");
        return nullptr;
    }
    /// The peers send no messages that this rank asked for.
    const InFlight* find_message(int, std::uint16_t) const override {
        throw std::runtime_error("nobody waits for it");
    }
    void hear(int, std::uint16_t, Note note, const Wish&) const override {
        FUZZ_CHECK(note != Note::kBegun && note <= Note::kOffer);
    }
    /// Nor does it receive what they send without being asked, so that it is kept.
    std::shared_ptr<Eager> arrive(int peer, std::uint16_t heard, const Wish& wish) const override {
        const std::shared_ptr<Eager> eager = inbox_.arrive(peer, heard, wish);
        FUZZ_CHECK(eager->kept && !eager->receiver);
        kept_bytes_[peer] += charge(eager->content.bytes);
        FUZZ_CHECK(kept_bytes_[peer] <= kMostKeptBytes);
        return eager;
    }
    void finish(const std::shared_ptr<Eager>& eager) const override {
        FUZZ_CHECK(!inbox_.finish(eager));
    }
    const InFlight* begin() const override { return in_flight_.data(); }
    const InFlight* end() const override { return in_flight_.data() + in_flight_count_; }

    void begin_next() {
        if (in_flight_count_ == kMostInFlight || buffers_.size() == kMostCollectives) return;
        const std::size_t items = 1 + script_.below(kMostItems);
        const auto schedule = plan_.schedule({Kind::kAllReduce, dtype_, -1, {items}});
        const std::size_t bytes = items * item_bytes(dtype_);
        Buffer buffer{std::unique_ptr<std::uint8_t[]>(new std::uint8_t[bytes]), nullptr};
        std::memset(buffer.bytes.get(), 1, bytes);
        buffer.collective = std::make_shared<TreeCollective>(
            buffers_.size(), schedule, buffer.bytes.get(), buffer.bytes.get(), op_, ranks_, 0);
        buffers_.push_back(std::move(buffer));
        if (schedule->shares[0].frames_in + schedule->shares[0].frames_out == 0) return;
        const int slot = parts_[0] ? 1 : 0;
        parts_[slot] = std::make_unique<TreePart>(buffers_.back().collective, 0, in_order_, pace_);
        in_flight_[in_flight_count_++] = {parts_[slot].get(), &outboxes_[slot], slot, false};
        for (auto& connection : connections_) {
            connection->begin(in_flight_[in_flight_count_ - 1], in_flight_count_ > 1);
            connection->resume();
        }
    }

    void retire() {
        for (int i = 0; i < in_flight_count_;) {
            Part& part = *in_flight_[i].part;
            if (!part.is_over()) {
                ++i;
                continue;
            }
            const auto& collective = static_cast<const TreeCollective&>(*part.collective());
            const Deal& deal = collective.schedule->deal;
            for (std::uint32_t chunk = 0; chunk < deal.chunks(); ++chunk) {
                if (deal.worker[chunk] != 0) continue;
                FUZZ_CHECK(collective.states[chunk].is_final);
                FUZZ_CHECK(collective.states[chunk].children_left == 0);
                if (is_honest_) check_sum(collective, chunk);
            }
            parts_[in_flight_[i].slot].reset();
            std::move(in_flight_.begin() + i + 1, in_flight_.begin() + in_flight_count_,
                      in_flight_.begin() + i);
            --in_flight_count_;
        }
    }

    /// Every byte of every contribution is 1, and of every result 7.
    void check_sum(const TreeCollective& collective, std::uint32_t chunk) const {
        const bool is_root =
            forest_.root(static_cast<int>(collective.schedule->deal.route[chunk])) == rank_;
        if (is_root && (op_ != Op::kSum || !is_whole(dtype_))) return;
        const std::uint8_t* const at = collective.result(chunk);
        const std::size_t bytes = collective.schedule->deal.bytes_of(chunk);
        const int expected = is_root ? ranks_ : 7;
        FUZZ_CHECK(!is_root || ranks_ < 256);
        if (is_root && !is_star(collective, chunk)) return;
        FUZZ_CHECK(
            std::all_of(at, at + bytes, [&](std::uint8_t byte) { return byte == expected; }));
    }

    /// Whether each other rank brings its own contribution to this one, and no sum of several.
    bool is_star(const TreeCollective& collective, std::uint32_t chunk) const {
        const auto route = static_cast<int>(collective.schedule->deal.route[chunk]);
        return static_cast<int>(collective.schedule->places->in(route).reduce_children.size()) ==
               ranks_ - 1;
    }

    std::vector<std::uint8_t> frame(std::size_t number, std::uint32_t chunk, Phase phase) const {
        std::vector<std::uint8_t> bytes(kFrameBytes);
        const std::uint16_t signature =
            number < buffers_.size() ? buffers_[number].collective->signature : 0;
        encode({static_cast<std::uint16_t>(number), signature, chunk, phase}, bytes.data());
        return bytes;
    }

    /// The next bytes of what `peer` owes this rank in the collectives that have begun.
    void send_next(int peer, std::size_t most) {
        std::vector<std::uint8_t>& owed = owed_[peer];
        if (owed.empty()) find_owed(peer, owed);
        most = std::min(most * 16, owed.size());
        send(peer, {owed.begin(), owed.begin() + static_cast<std::ptrdiff_t>(most)});
        owed.erase(owed.begin(), owed.begin() + static_cast<std::ptrdiff_t>(most));
    }

    /// One frame: a contribution, or a result once this rank's contribution is sent.
    void find_owed(int peer, std::vector<std::uint8_t>& owed) {
        for (const Buffer& buffer : buffers_) {
            const TreeCollective& collective = *buffer.collective;
            const Deal& deal = collective.schedule->deal;
            for (std::uint32_t chunk = 0; chunk < deal.chunks(); ++chunk) {
                if (deal.worker[chunk] != 0) continue;
                const auto route = static_cast<int>(deal.route[chunk]);
                const bool is_child = forest_.reduce_parent(route, peer) == rank_;
                const bool is_parent = forest_.broadcast_parent(route, rank_) == peer &&
                                       collective.states[chunk].is_sent_up;
                for (const auto& [is_due, phase] : {std::pair{is_child, Phase::kReduce},
                                                    std::pair{is_parent, Phase::kBroadcast}}) {
                    if (!is_due || !given_.insert({collective.number, chunk, phase, peer}).second) {
                        continue;
                    }
                    owed = frame(collective.number, chunk, phase);
                    owed.resize(owed.size() + deal.bytes_of(chunk),
                                phase == Phase::kReduce ? 1 : 7);
                    return;
                }
            }
        }
    }

    void send(int peer, const std::vector<std::uint8_t>& bytes) {
        // Where there is no room any more, the peer is silent from now on.
        const ssize_t sent = ::send(theirs_[peer].get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent != static_cast<ssize_t>(bytes.size())) is_honest_ = false;
        connections_[peer]->is_readable = true;
    }

    void read(int peer) {
        Connection& connection = *connections_[peer];
        try {
            while (connection.can_read()) connection.read(staging_, *this);
        } catch (const std::runtime_error&) {
            FUZZ_CHECK(!is_honest_);
            connection.is_lost = true;
        }
    }

    void write(int peer) {
        Connection& connection = *connections_[peer];
        while (connection.can_write(*this)) connection.write(*this);
        std::uint8_t bytes[4096];
        for (;;) {
            const ssize_t got = ::recv(theirs_[peer].get(), bytes, sizeof(bytes), 0);
            if (got <= 0) break;
            heard_[peer].bytes.insert(heard_[peer].bytes.end(), bytes, bytes + got);
        }
        check_heard(peer, heard_[peer]);
        connection.is_writable = true;
    }

    void check_heard(int peer, Heard& heard) {
        std::size_t used = 0;
        while (heard.bytes.size() - used >= kFrameBytes) {
            const Frame frame = decode(heard.bytes.data() + used);
            if (frame.phase == Phase::kNote) {
                FUZZ_CHECK(frame.collective < buffers_.size());
                used += kFrameBytes;
                continue;
            }
            FUZZ_CHECK(frame.collective < buffers_.size());
            // A peer that says that it has begun a later one may be sent that first.
            FUZZ_CHECK(!is_honest_ || frame.collective >= heard.collective);
            const TreeCollective& collective = *buffers_[frame.collective].collective;
            const Deal& deal = collective.schedule->deal;
            FUZZ_CHECK(frame.signature == collective.signature);
            FUZZ_CHECK(frame.chunk < deal.chunks() && deal.worker[frame.chunk] == 0);
            const auto route = static_cast<int>(deal.route[frame.chunk]);
            FUZZ_CHECK((frame.phase == Phase::kReduce ? forest_.reduce_parent(route, rank_)
                                                      : forest_.broadcast_parent(route, peer)) ==
                       (frame.phase == Phase::kReduce ? peer : rank_));
            const std::size_t size = kFrameBytes + deal.bytes_of(frame.chunk);
            if (heard.bytes.size() - used < size) break;
            heard.collective = frame.collective;
            FUZZ_CHECK(heard.frames.insert({frame.collective, frame.chunk, frame.phase}).second);
            used += size;
        }
        heard.bytes.erase(heard.bytes.begin(),
                          heard.bytes.begin() + static_cast<std::ptrdiff_t>(used));
    }

    /// Peers that keep to the protocol and say all they owe: everything must end.
    void finish() {
        // What is sent to one peer may let another one go on in the next round only.
        for (int idle = 0; idle < 2 && is_honest_; ++idle) {
            for (int peer = 0; peer < ranks_; ++peer) {
                if (peer == rank_) continue;
                write(peer);
                const std::size_t before = given_.size() + owed_[peer].size();
                send_next(peer, kMostItems);
                if (before != given_.size() + owed_[peer].size()) idle = -1;
                read(peer);
                retire();
            }
        }
        FUZZ_CHECK(!is_honest_ || in_flight_count_ == 0);
    }

    Script& script_;
    const int ranks_;
    const int rank_;
    const int workers_;
    const bool in_order_;
    const DType dtype_;
    const Op op_;
    const Forest forest_;
    Plan plan_;
    mutable Inbox inbox_;
    mutable std::map<int, std::size_t> kept_bytes_;
    Staging staging_;
    Pace pace_;
    std::array<SlotOutbox, kMostInFlight> outboxes_;
    std::vector<Buffer> buffers_;  ///< by collective
    std::array<std::unique_ptr<Part>, kMostInFlight> parts_;
    std::array<InFlight, kMostInFlight> in_flight_;
    int in_flight_count_ = 0;
    std::vector<std::unique_ptr<Connection>> connections_;
    std::vector<Descriptor> theirs_;
    std::vector<Heard> heard_;
    std::map<int, std::vector<std::uint8_t>> owed_;  ///< of a frame that has begun
    std::set<std::tuple<std::uint64_t, std::uint32_t, Phase, int>> given_;
    bool is_honest_ = true;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Script script(data, size);
    Bench(script).play();
    return 0;
}
