#include "exchange.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <numeric>

#include "bytes.hpp"
#include "control.hpp"
#include "deal.hpp"
#include "window.hpp"

namespace plink::engine {

namespace {

constexpr std::size_t kSuitableChunkBytes = std::size_t{128} << 10;
// Messages no longer than this may all go by one worker.
constexpr std::size_t kMostShortBytes = std::size_t{4} << 10;
// On which a rank sends at once, if it has no more workers: with more, the queue of an uplink that
// many ranks share overflows; with fewer, it stands idle while all of them send within their rack.
constexpr int kFlowsAtOnce = 4;

std::uint16_t signature_of(const Messages& messages, std::size_t bytes, int priority) {
    std::uint64_t hash = mixed(kHashStart, &messages.kind, sizeof(messages.kind));
    hash = mixed(hash, &messages.root, sizeof(messages.root));
    hash = mixed(hash, &priority, sizeof(priority));
    return static_cast<std::uint16_t>(folded(mixed(hash, &bytes, sizeof(bytes))) ^
                                      folded(messages.layout));
}

std::vector<std::size_t> offsets(const std::vector<std::size_t>& sizes) {
    std::vector<std::size_t> offset(sizes.size());
    std::partial_sum(sizes.begin(), std::prev(sizes.end()), std::next(offset.begin()));
    return offset;
}

/// Up to which length all messages go by one worker: an even exchange of such is small.
std::size_t short_bytes(std::size_t ranks) {
    return std::min(kMostShortBytes, kSmallBufferBytes / (2 * std::max<std::size_t>(1, ranks - 1)));
}

void check_chunks(std::size_t message_bytes, std::size_t chunk_bytes) {
    if (message_bytes / chunk_bytes < kMostChunks) return;
    throw std::invalid_argument("a message has too many chunks");
}

/// One worker's pieces of an exchange.
///
/// Each rank goes round from the one after it, and each of its workers from another one, so that
/// all have others to send to, and few come to one receiver at the same time.
class ExchangePart final : public Part {
  public:
    ExchangePart(std::shared_ptr<Exchange> exchange, int worker, int first_step, int most_peers)
        : Part(exchange, worker),
          exchange_(*exchange),
          next_chunk_(share().sends.size()),
          unsent_(share().sends),
          ready_(share().sends.size()) {
        const auto ranks = static_cast<int>(unsent_.size());
        for (int step = 0; step < ranks - 1; ++step) {
            const int others = (first_step + step) % (ranks - 1);
            const int peer = (exchange_.rank() + 1 + others) % ranks;
            if (unsent_[peer] == 0) continue;
            if (--most_peers >= 0) {
                ready_[peer] = exchange_.chunks_to(peer, worker_);
            } else {
                waiting_.push_back(peer);
            }
        }
    }

    const std::vector<std::uint32_t>& ready(int peer) const override { return ready_[peer]; }

    Arrival accept(int peer, const Frame& frame) override {
        const std::size_t bytes = exchange_.receive_bytes(peer);
        if (frame.signature != exchange_.message_signature(bytes)) {
            throw Mismatch(mismatch_text(exchange_.number));
        }
        std::uint32_t& next = next_chunk_[peer];
        const std::uint32_t chunks = exchange_.chunks(bytes);
        while (next < chunks && exchange_.worker(peer, next, bytes) != worker_) ++next;
        if (frame.phase != Phase::kBroadcast || frame.chunk != next || next >= chunks) {
            refuse(frame, "comes out of turn");
        }
        ++next;
        const auto [into, size] = exchange_.place(peer, frame.chunk);
        return {Arrival::Way::kCopy, into, size, frame.chunk, frame.phase, -1};
    }

    void finish(const Arrival&, Outbox&) override { --frames_in_left_; }

    Payload payload(int peer, std::uint32_t chunk, Phase) const override {
        return exchange_.payload(peer, chunk);
    }

    void sent(int peer, std::uint32_t, Phase phase, Outbox& outbox) override {
        --frames_out_left_;
        if (--unsent_[peer] > 0 || waiting_.empty()) return;
        const int next = waiting_.front();
        waiting_.pop_front();
        for (const std::uint32_t chunk : exchange_.chunks_to(next, worker_)) {
            outbox.send(next, chunk, phase);
        }
    }

  private:
    Exchange& exchange_;
    std::vector<std::uint32_t> next_chunk_;          ///< by peer, that it may send
    std::vector<std::uint32_t> unsent_;              ///< by peer, frames
    std::vector<std::vector<std::uint32_t>> ready_;  ///< by peer, from the start
    std::deque<int> waiting_;                        ///< peers that nothing is sent to yet
};

}  // namespace

Exchange::Exchange(std::uint64_t its_number, Messages messages, const void* input, void* output,
                   int rank, int workers, const WorkerWeights& weights, std::size_t chunk_bytes,
                   int its_priority)
    : Collective(its_number, signature_of(messages, 0, its_priority), its_priority),
      messages_(std::move(messages)),
      input_(static_cast<const std::uint8_t*>(input)),
      output_(static_cast<std::uint8_t*>(output)),
      rank_(rank),
      turns_(worker_turns(weights, workers)),
      heaviest_worker_(heaviest(weights)),
      short_bytes_(short_bytes(messages_.send_bytes.size())),
      chunk_bytes_(chunk_bytes != 0 ? chunk_bytes : kSuitableChunkBytes),
      send_offset_(offsets(messages_.send_bytes)),
      receive_offset_(offsets(messages_.receive_bytes)) {
    const auto ranks = static_cast<int>(messages_.send_bytes.size());
    shares_.assign(workers, Share(messages_.send_bytes.size()));
    std::size_t moved_bytes = 0;
    for (int peer = 0; peer < ranks; ++peer) {
        if (peer == rank_) continue;
        check_chunks(messages_.send_bytes[peer], chunk_bytes_);
        check_chunks(messages_.receive_bytes[peer], chunk_bytes_);
        const std::size_t out = messages_.send_bytes[peer];
        const std::size_t in = messages_.receive_bytes[peer];
        moved_bytes += out + in;
        for (std::uint32_t chunk = 0; chunk < chunks(out); ++chunk) {
            Share& share = shares_[worker(peer, chunk, out)];
            ++share.sends[peer];
            ++share.frames_out;
        }
        for (std::uint32_t chunk = 0; chunk < chunks(in); ++chunk) {
            Share& share = shares_[worker(peer, chunk, in)];
            ++share.receives[peer];
            ++share.frames_in;
        }
    }
    if (moved_bytes <= kSmallBufferBytes &&
        std::all_of(shares_.begin(), shares_.end(), [this](const Share& share) {
            return share.is_empty() || &share == &shares_[heaviest_worker_];
        })) {
        sole_worker_ = heaviest_worker_;
    }
}

std::unique_ptr<Part> Exchange::part(const std::shared_ptr<Collective>& self, int worker, bool,
                                     Pace& pace) {
    const int workers = static_cast<int>(shares_.size());
    const int peers = static_cast<int>(messages_.send_bytes.size()) - 1;
    const bool is_bounded = pace.is_followed && !sole_worker_;
    const int most_peers = is_bounded ? std::max(1, kFlowsAtOnce / workers) : peers;
    const int first_step = is_bounded ? worker * peers / workers : 0;
    return std::make_unique<ExchangePart>(std::static_pointer_cast<Exchange>(self), worker,
                                          first_step, most_peers);
}

void Exchange::copy_own() {
    const std::size_t bytes = messages_.send_bytes[rank_];
    if (bytes == 0) return;
    std::memmove(output_ + receive_offset_[rank_], input_ + send_offset_[rank_], bytes);
}

std::vector<std::uint32_t> Exchange::chunks_to(int peer, int worker) const {
    const std::size_t bytes = messages_.send_bytes[peer];
    std::vector<std::uint32_t> found;
    for (std::uint32_t chunk = 0; chunk < chunks(bytes); ++chunk) {
        if (this->worker(peer, chunk, bytes) == worker) found.push_back(chunk);
    }
    return found;
}

int Exchange::worker(int peer, std::uint32_t chunk, std::size_t message_bytes) const {
    if (message_bytes <= short_bytes_) return heaviest_worker_;
    return turns_[(chunk + static_cast<std::size_t>(peer + rank_)) % turns_.size()];
}

std::uint32_t Exchange::chunks(std::size_t message_bytes) const {
    return static_cast<std::uint32_t>((message_bytes + chunk_bytes_ - 1) / chunk_bytes_);
}

std::uint16_t Exchange::message_signature(std::size_t message_bytes) const {
    return signature_of(messages_, message_bytes, priority);
}

std::size_t Exchange::piece_bytes(std::size_t message_bytes, std::uint32_t chunk) const {
    return std::min(chunk_bytes_, message_bytes - chunk * chunk_bytes_);
}

Payload Exchange::payload(int peer, std::uint32_t chunk) const {
    const std::size_t bytes = messages_.send_bytes[peer];
    return {input_ + send_offset_[peer] + chunk * chunk_bytes_, piece_bytes(bytes, chunk),
            message_signature(bytes)};
}

std::pair<std::uint8_t*, std::size_t> Exchange::place(int peer, std::uint32_t chunk) const {
    return {output_ + receive_offset_[peer] + chunk * chunk_bytes_,
            piece_bytes(messages_.receive_bytes[peer], chunk)};
}

}  // namespace plink::engine
