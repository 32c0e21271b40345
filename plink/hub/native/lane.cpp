#include "lane.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "bytes.hpp"
#include "link.hpp"

namespace plink::hub {

namespace {

constexpr std::size_t kLineItems = kAlignment / sizeof(float);
constexpr std::size_t kMarkBits = 64;

std::size_t states_of(Optimizer optimizer) {
    if (optimizer == Optimizer::kMomentum) return 1;
    return optimizer == Optimizer::kAdam || optimizer == Optimizer::kAdamW ? 2 : 0;
}

[[noreturn]] void refuse(const std::string& what) { throw std::runtime_error(what); }

std::string number(std::uint32_t value) { return std::to_string(value); }

}  // namespace

Lane::Lane(LaneOptions options, const std::vector<ChunkPlace>& places, LaneCalls calls)
    : options_(options),
      calls_(std::move(calls)),
      links_(options.workers),
      retirements_(options.workers),
      words_((options.workers + kMarkBits - 1) / kMarkBits),
      remaining_(places.size()) {
    std::size_t items = 0;
    for (const ChunkPlace& place : places) {
        if (place.group >= options_.groups) throw std::invalid_argument("a chunk of no group");
        Chunk& chunk = chunks_.emplace_back();
        chunk.place = place;
        chunk.offset = items;
        if (options_.is_in_order) chunk.early.resize(options_.workers);
        items += (place.items + kLineItems - 1) / kLineItems * kLineItems;
    }
    marks_.resize(chunks_.size() * words_);
    sums_ = make_array<float>(items);
    values_ = make_array<float>(items);
    const std::size_t states = states_of(options_.optimizer);
    if (states > 0) first_ = make_array<float>(items);
    if (states > 1) second_ = make_array<float>(items);
    if (options_.mode != Mode::kSync) clocks_.resize(chunks_.size() * options_.workers);
}

void Lane::join(Link& link) {
    if (link.worker >= options_.workers) throw std::invalid_argument("a worker of no number");
    links_[link.worker] = &link;
    retirements_[link.worker].clear();
}

void Lane::leave(Link& link) {
    if (links_[link.worker] == &link) links_[link.worker] = nullptr;
}

void Lane::retire(std::uint32_t worker, const std::string& why) {
    retirements_.at(worker) = why;
    if (is_begun_) miss_retired();
}

void Lane::miss_retired() const {
    for (std::uint32_t i = 0; i < options_.workers; ++i) {
        if (!retirements_[i].empty()) calls_.missed(i, retirements_[i]);
    }
}

const Lane::Chunk* Lane::find(std::uint32_t id) const {
    const auto is_before = [](const Chunk& chunk, std::uint32_t its) { return chunk.place.id < its; };
    const auto at = std::lower_bound(chunks_.begin(), chunks_.end(), id, is_before);
    return at != chunks_.end() && at->place.id == id ? &*at : nullptr;
}

Lane::Chunk& Lane::chunk_of(std::uint32_t id) { return const_cast<Chunk&>(*find(id)); }

void Lane::check(const Link& link, const Frame& frame) const {
    if (frame.incarnation != link.incarnation) refuse("it sent a frame of another incarnation");
    switch (frame.kind) {
        case Kind::kStep:
            if (frame.bytes != options_.groups * kHyperBytes) {
                refuse("it sent hyperparameters of " + number(frame.bytes) + " bytes, expected " +
                       std::to_string(options_.groups * kHyperBytes));
            }
            return;
        case Kind::kPull:
            if (frame.bytes != 0) refuse("it pulls with a payload");
            return;
        case Kind::kTotal:
            if (!options_.is_by_step || frame.bytes != sizeof(double)) {
                refuse("it sent a norm that was not asked for");
            }
            return;
        case Kind::kPush:
            break;
        default:
            refuse("it sent a frame that only servers send");
    }
    const Chunk* const chunk = find(frame.chunk);
    if (chunk == nullptr) refuse("it pushes chunk " + number(frame.chunk) + ", which is not here");
    const bool is_initial = (frame.flags & kInitial) != 0;
    const std::size_t bytes =
        wire_bytes(is_initial ? Wire::kFloat32 : options_.wire, chunk->place.items);
    if (frame.bytes != bytes) {
        refuse("it pushes " + number(frame.bytes) + " bytes of chunk " + number(frame.chunk) +
               ", expected " + std::to_string(bytes));
    }
    if (is_initial && link.worker != 0) refuse("it pushes first values, which worker 0 has");
    if (!is_initial && (!link.has_begun || frame.iteration != link.iteration)) {
        refuse("it pushes in iteration " + number(frame.iteration) + ", which it has not begun");
    }
}

void Lane::begin(Link& link, const Frame& frame, const std::uint8_t* payload) {
    if (options_.mode != Mode::kSync) {
        if (link.has_begun && distance(link.iteration, frame.iteration) <= 0) {
            refuse("it begins iteration " + number(frame.iteration) + " again");
        }
        link.hypers = decode_hypers(payload, frame.bytes, options_.groups);
        link.iteration = frame.iteration;
        link.has_begun = true;
        return;
    }
    if (!link.outbox.is_empty()) refuse("it begins an iteration before it has all values");
    if (is_begun_ && frame.iteration == iteration_) {
        if (!std::equal(hyper_bytes_.begin(), hyper_bytes_.end(), payload)) {
            refuse("its hyperparameters in iteration " + number(iteration_) +
                   " differ from those of worker " + number(hyper_worker_));
        }
    } else if (is_begun_ || remaining_ > 0 || frame.iteration != iteration_ + 1) {
        refuse("it begins iteration " + number(frame.iteration) + ", expected " +
               number(is_begun_ ? iteration_ : iteration_ + 1));
    } else {
        hypers_ = decode_hypers(payload, frame.bytes, options_.groups);
        hyper_bytes_.assign(payload, payload + frame.bytes);
        hyper_worker_ = link.worker;
        scalars_.clear();
        for (const Hyper& hyper : hypers_) {
            scalars_.push_back(scalars_of(options_.optimizer, hyper, steps_ + 1));
        }
        is_begun_ = true;
        figures_.iteration = iteration_ = frame.iteration;
        remaining_ = chunks_.size();
        filled_chunks_ = 0;
        has_totals_ = false;
        miss_retired();
    }
    link.iteration = frame.iteration;
    link.has_begun = true;
}

bool Lane::mark(Chunk& chunk, std::uint32_t worker) {
    const auto at = static_cast<std::size_t>(&chunk - chunks_.data());
    std::uint64_t& word = marks_[at * words_ + worker / kMarkBits];
    const std::uint64_t bit = std::uint64_t{1} << (worker % kMarkBits);
    const bool is_new = (word & bit) == 0;
    word |= bit;
    return is_new;
}

void Lane::push(Link& link, const Frame& frame, const std::uint8_t* payload) {
    Chunk& chunk = chunk_of(frame.chunk);
    if ((frame.flags & kInitial) != 0) {
        if (chunk.has_values) return;
        std::memcpy(values_.get() + chunk.offset, payload, frame.bytes);
        chunk.has_values = true;
        for (Link* const other : links_) {
            if (other != nullptr && other->is_waiting) {
                send_value(*other, chunk, other->pulled);
            }
        }
        if (--remaining_ == 0) calls_.filled();
        return;
    }
    if (options_.mode != Mode::kSync) {
        step_alone(link, chunk, frame, payload);
    } else if (!is_begun_ || !mark(chunk, link.worker)) {
        ++figures_.replays;
    } else if (options_.is_in_order) {
        add_in_order(chunk, link.worker, payload);
    } else {
        add(chunk, payload);
    }
}

void Lane::add(Chunk& chunk, const std::uint8_t* payload) {
    float* const sums = sums_.get() + chunk.offset;
    if (chunk.count == 0) {
        widen(options_.wire, sums, payload, chunk.place.items);
    } else {
        hub::add(options_.wire, sums, payload, chunk.place.items);
    }
    if (++chunk.count == options_.workers) complete(chunk);
}

void Lane::add_in_order(Chunk& chunk, std::uint32_t worker, const std::uint8_t* payload) {
    if (worker != chunk.next) {
        const std::size_t bytes = wire_bytes(options_.wire, chunk.place.items);
        chunk.early[worker] = make_array<std::uint8_t>(bytes);
        std::memcpy(chunk.early[worker].get(), payload, bytes);
        return;
    }
    Array<std::uint8_t> early;
    do {
        chunk.next = worker + 1 == options_.workers ? 0 : worker + 1;
        add(chunk, payload);
        worker = chunk.next;
        early = worker != 0 ? std::move(chunk.early[worker]) : nullptr;
        payload = early.get();
    } while (early != nullptr);
}

void Lane::pull(Link& link, const Frame& frame) {
    link.is_waiting = true;
    link.pulled = frame.iteration;
    for (const Chunk& chunk : chunks_) {
        if (chunk.has_values) send_value(link, chunk, frame.iteration);
    }
}

}  // namespace plink::hub
