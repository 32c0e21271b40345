#include "part.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "control.hpp"
#include "kernels.hpp"

namespace plink::engine {

namespace {

[[noreturn]] void refuse(const Frame& frame, const std::string& why) {
    throw std::runtime_error("it sent a frame of collective " + std::to_string(frame.collective) +
                             ", chunk " + std::to_string(frame.chunk) + ", that " + why);
}

std::uint64_t key(std::uint32_t chunk, int child) {
    return (static_cast<std::uint64_t>(chunk) << 32) | static_cast<std::uint32_t>(child);
}

}  // namespace

Part::Part(std::shared_ptr<Collective> collective, int worker, bool in_order)
    : collective_(std::move(collective)),
      deal_(collective_->schedule->deal),
      share_(collective_->schedule->shares[worker]),
      worker_(worker),
      in_order_(in_order),
      frames_in_left_(share_.frames_in),
      frames_out_left_(share_.frames_out),
      seen_words_((collective_->schedule->places->most_children() + 63) / 64),
      seen_(seen_words_ * deal_.chunks()) {
    if (in_order_) next_child_.resize(deal_.chunks());
}

const Places::Place& Part::place(std::uint32_t chunk) const {
    return collective_->schedule->places->in(static_cast<int>(deal_.route[chunk]));
}

std::uint64_t& Part::seen_word(std::uint32_t chunk, int child) {
    return seen_[chunk * seen_words_ + child / 64];
}

Arrival Part::accept(int peer, const Frame& frame) {
    if (frame.signature != collective_->signature) {
        throw Mismatch(mismatch_text(collective_->number));
    }
    const std::uint32_t chunk = frame.chunk;
    if (chunk >= deal_.chunks() || deal_.worker[chunk] != worker_) {
        refuse(frame, "does not belong on this connection");
    }
    const Places::Place& here = place(chunk);
    std::uint8_t* const data = collective_->at(chunk);
    const std::size_t bytes = deal_.bytes_of(chunk);
    if (frame.phase == Phase::kBroadcast) {
        const ChunkState& state = collective_->states[chunk];
        if (here.is_root() || here.broadcast_parent != peer) refuse(frame, "is not its to send");
        if (!state.is_sent_up || state.is_final) refuse(frame, "comes out of turn");
        return {Arrival::Way::kCopy, data, bytes, chunk, frame.phase, -1};
    }
    const int child =
        collective_->schedule->places->child_index(static_cast<int>(deal_.route[chunk]), peer);
    if (child < 0) refuse(frame, "is not its to send");
    const std::uint64_t bit = std::uint64_t{1} << (child % 64);
    if (seen_word(chunk, child) & bit) refuse(frame, "comes a second time");
    seen_word(chunk, child) |= bit;
    if (in_order_ && next_child_[chunk] != static_cast<std::uint32_t>(child)) {
        Stash& stash = stashing_[key(chunk, child)];
        stash.reset(new std::uint8_t[bytes]);
        return {Arrival::Way::kCopy, stash.get(), bytes, chunk, frame.phase, child};
    }
    if (is_widened(here)) {
        return {Arrival::Way::kWiden,
                reinterpret_cast<std::uint8_t*>(wide(chunk)),
                bytes,
                chunk,
                frame.phase,
                child};
    }
    return {Arrival::Way::kAccumulate, data, bytes, chunk, frame.phase, child};
}

/// Several halves are added in float and rounded once; so is a mean.
bool Part::is_widened(const Places::Place& here) const {
    if (!is_half(collective_->schedule->dtype)) return false;
    if (collective_->op == Op::kMean && here.is_root()) return true;
    return (collective_->op == Op::kSum || collective_->op == Op::kMean) &&
           here.reduce_children.size() > 1;
}

float* Part::wide(std::uint32_t chunk) {
    std::unique_ptr<float[]>& floats = wide_[chunk];
    if (!floats) {
        const std::size_t items = deal_.items_of(chunk);
        floats.reset(new float[items]);
        kernels().widen[static_cast<int>(collective_->schedule->dtype)](
            floats.get(), collective_->at(chunk), items);
    }
    return floats.get();
}

std::size_t Part::take(Arrival& arrival, const std::uint8_t* bytes, std::size_t size) {
    size = std::min(size, arrival.bytes_left);
    const int dtype = static_cast<int>(collective_->schedule->dtype);
    const std::size_t items = size / deal_.item_bytes;
    switch (arrival.way) {
        case Arrival::Way::kCopy:
            std::memcpy(arrival.into, bytes, size);
            arrival.into += size;
            break;
        case Arrival::Way::kAccumulate:
            size = items * deal_.item_bytes;
            kernels().accumulate[dtype][static_cast<int>(collective_->op)](arrival.into, bytes,
                                                                           items);
            arrival.into += size;
            break;
        case Arrival::Way::kWiden:
            size = items * deal_.item_bytes;
            kernels().add_widened[dtype](reinterpret_cast<float*>(arrival.into), bytes, items);
            arrival.into += items * sizeof(float);
            break;
    }
    arrival.bytes_left -= size;
    return size;
}

void Part::finish(const Arrival& arrival, Outbox& outbox) {
    --frames_in_left_;
    const std::uint32_t chunk = arrival.chunk;
    ChunkState& state = collective_->states[chunk];
    if (arrival.phase == Phase::kBroadcast) {
        deliver(chunk, outbox);
        return;
    }
    if (!in_order_) {
        if (--state.children_left == 0) complete(chunk, outbox);
        return;
    }
    std::uint32_t& next = next_child_[chunk];
    if (arrival.way == Arrival::Way::kCopy) {
        const auto found = stashing_.find(key(chunk, arrival.child));
        stashed_[found->first] = std::move(found->second);
        stashing_.erase(found);
    } else {
        ++next;
    }
    add_stashed(chunk, next);
    state.children_left = static_cast<std::uint32_t>(place(chunk).reduce_children.size()) - next;
    if (state.children_left == 0) complete(chunk, outbox);
}

void Part::add_stashed(std::uint32_t chunk, std::uint32_t& next) {
    for (;;) {
        const auto found = stashed_.find(key(chunk, static_cast<int>(next)));
        if (found == stashed_.end()) return;
        combine(chunk, found->second.get(), deal_.items_of(chunk));
        stashed_.erase(found);
        ++next;
    }
}

void Part::combine(std::uint32_t chunk, const std::uint8_t* values, std::size_t items) {
    const int dtype = static_cast<int>(collective_->schedule->dtype);
    if (is_widened(place(chunk))) {
        kernels().add_widened[dtype](wide(chunk), values, items);
    } else {
        kernels().accumulate[dtype][static_cast<int>(collective_->op)](collective_->at(chunk),
                                                                       values, items);
    }
}

/// All children's contributions are in.
void Part::complete(std::uint32_t chunk, Outbox& outbox) {
    const Places::Place& here = place(chunk);
    const int dtype = static_cast<int>(collective_->schedule->dtype);
    const bool divides = collective_->op == Op::kMean && here.is_root();
    const double divisor = divides ? collective_->ranks : 1;
    const std::size_t items = deal_.items_of(chunk);
    if (is_widened(here)) {
        const auto found = wide_.find(chunk);
        kernels().narrow[dtype](collective_->at(chunk), found->second.get(), items,
                                static_cast<float>(divisor));
        wide_.erase(found);
    } else if (divides) {
        kernels().divide[dtype](collective_->at(chunk), items, divisor);
    }
    if (here.is_root()) {
        deliver(chunk, outbox);
    } else {
        outbox.send(here.reduce_parent, chunk, Phase::kReduce);
    }
}

/// The user's buffer holds the result.
void Part::deliver(std::uint32_t chunk, Outbox& outbox) {
    collective_->states[chunk].is_final = true;
    for (const int child : place(chunk).broadcast_children) {
        outbox.send(child, chunk, Phase::kBroadcast);
    }
}

void Part::sent(std::uint32_t chunk, Phase phase) {
    --frames_out_left_;
    if (phase == Phase::kReduce) collective_->states[chunk].is_sent_up = true;
}

}  // namespace plink::engine
