#include "lane.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "link.hpp"

namespace plink::hub {

namespace {

constexpr std::size_t kLineItems = kAlignment / sizeof(float);

[[noreturn]] void refuse(const std::string& what) { throw std::runtime_error(what); }

std::string number(std::uint32_t value) { return std::to_string(value); }

}  // namespace

Lane::Lane(LaneOptions options, const std::vector<ChunkPlace>& places, LaneCalls calls)
    : options_(options), calls_(std::move(calls)), remaining_(places.size()) {
    for (const ChunkPlace& place : places) {
        if (place.group >= options_.groups) throw std::invalid_argument("a chunk of no group");
        Chunk& chunk = chunks_.emplace_back();
        chunk.place = place;
        chunk.offset = room_;
        chunk.packed = items_;
        items_ += place.items;
        room_ += (place.items + kLineItems - 1) / kLineItems * kLineItems;
    }
    sums_ = make_array<float>(room_);
    values_ = make_array<float>(room_);
    const std::size_t states = states_of(options_.optimizer);
    if (states > 0) first_ = make_array<float>(room_);
    if (states > 1) second_ = make_array<float>(room_);
    gather();
}

const Lane::Chunk* Lane::find(std::uint32_t id) const {
    const auto is_before = [](const Chunk& chunk, std::uint32_t its) {
        return chunk.place.id < its;
    };
    const auto at = std::lower_bound(chunks_.begin(), chunks_.end(), id, is_before);
    return at != chunks_.end() && at->place.id == id ? &*at : nullptr;
}

Lane::Chunk& Lane::chunk_of(std::uint32_t id) { return const_cast<Chunk&>(*find(id)); }

std::size_t Lane::index_of(const Chunk& chunk) const {
    return static_cast<std::size_t>(&chunk - chunks_.data());
}

void Lane::check(const Link& link, const Frame& frame) const {
    if (link.rack >= 0) return check_peer(link, frame);
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
            if (link.is_waiting && !link.outbox.is_empty()) {
                refuse("it pulls again before it has all values");
            }
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
    if (is_initial && (link.worker != 0 || options_.rack != 0)) {
        refuse("it pushes first values, which worker 0 has");
    }
    if (is_initial) return;
    if (!link.has_begun || frame.iteration != link.iteration) {
        refuse("it pushes in iteration " + number(frame.iteration) + ", which it has not begun");
    }
    if (!chunk->has_values) refuse("it pushes before there are first values");
}

void Lane::begin(Link& link, const Frame& frame, const std::uint8_t* payload) {
    if (options_.mode != Mode::kSync) {
        if (link.has_begun && distance(link.iteration, frame.iteration) <= 0) {
            refuse("it begins iteration " + number(frame.iteration) + " again");
        }
        link.hypers = decode_hypers(payload, frame.bytes, options_.groups);
        hyper_bytes_.assign(payload, payload + frame.bytes);
        if (distance(figures_.iteration, frame.iteration) > 0) figures_.iteration = frame.iteration;
    } else if (!begin_again(link, frame)) {
        if (is_begun_ || remaining_ > 0 || frame.iteration != iteration_ + 1) {
            refuse("it begins iteration " + number(frame.iteration) + ", expected " +
                   number(is_begun_ ? iteration_ : iteration_ + 1));
        }
        const std::vector<Hyper> hypers = decode_hypers(payload, frame.bytes, options_.groups);
        hyper_bytes_.assign(payload, payload + frame.bytes);
        hyper_worker_ = link.worker;
        scalars_.clear();
        for (const Hyper& hyper : hypers) {
            scalars_.push_back(scalars_of(options_.optimizer, hyper, steps_ + 1));
        }
        is_begun_ = true;
        figures_.iteration = iteration_ = frame.iteration;
        take_revisions();
        expected_ = contributors(iteration_);
        remaining_ = chunks_.size();
        full_ = 0;
        has_totals_ = false;
        const std::uint32_t first = next_contributor(0);
        for (Chunk& chunk : chunks_) chunk.next = first;
        begin_rack();
        miss_retired();
    } else if (is_begun_ && frame.iteration == iteration_ &&
               !std::equal(hyper_bytes_.begin(), hyper_bytes_.end(), payload)) {
        const Difference its = difference(payload, hyper_bytes_.data(), options_.groups);
        refuse("its hyperparameters in iteration " + number(iteration_) +
               " differ from those of worker " + number(hyper_worker_) + ": " + its.what + " is " +
               its.one + ", not " + its.other);
    }
    link.iteration = frame.iteration;
    link.has_begun = true;
}

/// Whether a worker begins what others have begun before. One that was away gets what it missed.
bool Lane::begin_again(Link& link, const Frame& frame) {
    if (!link.outbox.is_empty()) refuse("it begins an iteration before it has all values");
    const bool is_last = frame.iteration == iteration_;
    if ((!is_last && frame.iteration + 1 != iteration_) || frame.iteration == 0) return false;
    if (link.has_begun && distance(link.iteration, frame.iteration) <= 0) {
        refuse("it begins iteration " + number(frame.iteration) + " again");
    }
    for (const Chunk& chunk : chunks_) {
        if (chunk.iteration == frame.iteration) send_value(link, chunk, frame.iteration);
    }
    if (is_last && is_begun_ && !has_totals_ && full_ == chunks_.size()) send_partial(link);
    return true;
}

void Lane::push(Link& link, const Frame& frame, const std::uint8_t* payload) {
    Chunk& chunk = chunk_of(frame.chunk);
    if ((frame.flags & kInitial) != 0) {
        fill(chunk, payload);
        return;
    }
    if (options_.mode != Mode::kSync) {
        step_alone(link, chunk, frame, payload);
    } else if (!is_begun_ || frame.iteration != iteration_ || chunk.iteration == iteration_ ||
               !contributes(link.worker, iteration_) || !mark(chunk, link.worker)) {
        ++figures_.replays;
    } else if (!options_.is_in_order) {
        add(chunk, payload);
    } else if (link.worker != chunk.next) {
        keep_early(chunk, link.worker, payload);
    } else {
        add(chunk, payload);
        if (is_begun_ && chunk.count > 0) add_early(chunk);
    }
}

/// Its first values have come.
void Lane::fill(Chunk& chunk, const std::uint8_t* payload) {
    if (chunk.has_values) return;
    std::memcpy(values_.get() + chunk.offset, payload, chunk.place.items * sizeof(float));
    chunk.has_values = true;
    chunk.iteration = iteration_;
    for (const Seat& seat : seats_) {
        if (seat.link != nullptr && seat.link->is_waiting && is_pulled(*seat.link, chunk)) {
            send_value(*seat.link, chunk, seat.link->pulled);
        }
    }
    if (options_.rack == 0) {
        for (Link* const peer : peers_) {
            if (peer != nullptr) send_initial(*peer, chunk);
        }
    }
    if (--remaining_ == 0) calls_.filled();
}

void Lane::add(Chunk& chunk, const std::uint8_t* payload) {
    float* const sums = sums_.get() + chunk.offset;
    if (chunk.count == 0) {
        widen(options_.wire, sums, payload, chunk.place.items);
    } else {
        hub::add(options_.wire, sums, payload, chunk.place.items);
    }
    chunk.next = next_contributor(chunk.next + 1);
    if (++chunk.count == expected_) complete(chunk);
}

void Lane::keep_early(Chunk& chunk, std::uint32_t worker, const std::uint8_t* payload) {
    const std::size_t bytes = wire_bytes(options_.wire, chunk.place.items);
    chunk.early.resize(seats_.size());
    chunk.early[worker] = make_array<std::uint8_t>(bytes);
    std::memcpy(chunk.early[worker].get(), payload, bytes);
    figures_.early_bytes += bytes;
    figures_.most_early_bytes = std::max(figures_.most_early_bytes, figures_.early_bytes);
}

/// What came before its turn, as far as it is its turn now.
void Lane::add_early(Chunk& chunk) {
    while (!chunk.is_full && chunk.next < chunk.early.size() && chunk.early[chunk.next]) {
        const Array<std::uint8_t> early = std::move(chunk.early[chunk.next]);
        figures_.early_bytes -= wire_bytes(options_.wire, chunk.place.items);
        add(chunk, early.get());
    }
}

void Lane::pull(Link& link, const Frame& frame) {
    link.is_waiting = true;
    link.pulled = frame.iteration;
    for (const Chunk& chunk : chunks_) {
        if (chunk.has_values && is_pulled(link, chunk)) send_value(link, chunk, frame.iteration);
    }
}

/// Whether its values are those that a worker begins with. Others come when they are stepped; who
/// begins an iteration in which some have been stepped already takes those as they are.
bool Lane::is_pulled(const Link& link, const Chunk& chunk) const {
    const std::int32_t ahead = distance(link.pulled, chunk.iteration);
    return options_.mode != Mode::kSync || ahead == 0 || ahead == 1;
}

}  // namespace plink::hub
