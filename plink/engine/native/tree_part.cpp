#include "tree_part.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "control.hpp"
#include "kernels.hpp"

namespace plink::engine {

namespace {

std::uint64_t key(std::uint32_t chunk, int child) {
    return (static_cast<std::uint64_t>(chunk) << 32) | static_cast<std::uint32_t>(child);
}

}  // namespace

TreePart::TreePart(std::shared_ptr<TreeCollective> collective, int worker, bool in_order,
                   Pace& pace)
    : Part(collective, worker),
      tree_(*collective),
      deal_(tree_.schedule->deal),
      in_order_(in_order),
      dtype_(static_cast<int>(tree_.schedule->dtype)),
      seen_words_((tree_.schedule->places->most_children() + 63) / 64) {
    if (deal_.chunks() > 0) {
        most_chunk_bytes_ = deal_.item_bytes *
                            *std::max_element(deal_.chunk_items.begin(), deal_.chunk_items.end());
    }
    if (reduces(tree_.schedule->kind)) {
        seen_.resize(seen_words_ * deal_.chunks());
        if (in_order_) next_child_.resize(deal_.chunks());
    } else {
        keep_own();
    }
    pass_complete();
    window_ = Window(pace, deal_.chunks(), low_, tree_.schedule->mean_chunk_bytes,
                     tree_.schedule->used_routes);
}

/// What this rank sends to all others is its own result already.
void TreePart::keep_own() {
    for (std::uint32_t chunk = 0; chunk < deal_.chunks(); ++chunk) {
        if (deal_.worker[chunk] != worker_ || !tree_.is_root(chunk)) continue;
        std::uint8_t* const result = tree_.result(chunk);
        const std::uint8_t* const own = tree_.own(chunk);
        if (result != own) std::memmove(result, own, deal_.bytes_of(chunk));
        tree_.states[chunk].is_final = true;
    }
}

const Places::Place& TreePart::place(std::uint32_t chunk) const {
    return tree_.schedule->places->in(static_cast<int>(deal_.route[chunk]));
}

std::uint32_t TreePart::hops_left(int peer, std::uint32_t chunk, Phase phase) const {
    const Places::Place& here = place(chunk);
    if (phase == Phase::kBroadcast) return here.hops_by(peer);
    return here.hops_to_root + (broadcasts(tree_.schedule->kind) ? here.hops_from_root : 0);
}

std::uint64_t& TreePart::seen_word(std::uint32_t chunk, int child) {
    return seen_[chunk * seen_words_ + child / 64];
}

Arrival TreePart::accept(int peer, const Frame& frame) {
    if (frame.signature != tree_.signature) throw Mismatch(mismatch_text(tree_.number));
    const std::uint32_t chunk = frame.chunk;
    if (chunk >= deal_.chunks() || deal_.worker[chunk] != worker_) {
        refuse(frame, "does not belong on this connection");
    }
    if (frame.phase == Phase::kBroadcast) return accept_result(peer, frame);
    const int child =
        reduces(tree_.schedule->kind)
            ? tree_.schedule->places->child_index(static_cast<int>(deal_.route[chunk]), peer)
            : -1;
    if (child < 0) refuse(frame, "is not its to send");
    const std::uint64_t bit = std::uint64_t{1} << (child % 64);
    if (seen_word(chunk, child) & bit) refuse(frame, "comes a second time");
    seen_word(chunk, child) |= bit;
    const std::size_t bytes = deal_.bytes_of(chunk);
    if (in_order_ && next_child_[chunk] != static_cast<std::uint32_t>(child)) {
        Bytes& stash = stashing_[key(chunk, child)];
        stash.reset(new std::uint8_t[bytes]);
        return {Arrival::Way::kCopy, stash.get(), bytes, chunk, frame.phase, child};
    }
    if (is_widened(place(chunk))) {
        auto* const into = reinterpret_cast<std::uint8_t*>(wide(chunk));
        return {Arrival::Way::kWiden, into, bytes, chunk, frame.phase, child};
    }
    return {Arrival::Way::kAccumulate, begun_sum(chunk), bytes, chunk, frame.phase, child};
}

Arrival TreePart::accept_result(int peer, const Frame& frame) {
    const Places::Place& here = place(frame.chunk);
    const Kind kind = tree_.schedule->kind;
    if (!broadcasts(kind) || here.is_root() || here.broadcast_parent != peer) {
        refuse(frame, "is not its to send");
    }
    const ChunkState& state = tree_.states[frame.chunk];
    if ((reduces(kind) && !state.is_sent_up) || state.is_final) refuse(frame, "comes out of turn");
    return {Arrival::Way::kCopy,
            tree_.result(frame.chunk),
            deal_.bytes_of(frame.chunk),
            frame.chunk,
            frame.phase,
            -1};
}

/// Several halves are added in float and rounded once; so is a mean.
bool TreePart::is_widened(const Places::Place& here) const {
    if (!is_half(tree_.schedule->dtype)) return false;
    if (tree_.op == Op::kMean && here.is_root()) return true;
    return (tree_.op == Op::kSum || tree_.op == Op::kMean) && here.reduce_children.size() > 1;
}

float* TreePart::wide(std::uint32_t chunk) {
    std::unique_ptr<float[]>& floats = wide_[chunk];
    if (!floats) {
        const std::size_t items = deal_.items_of(chunk);
        floats.reset(new float[items]);
        kernels().widen[dtype_](floats.get(), tree_.own(chunk), items);
    }
    return floats.get();
}

/// Where a chunk's sum is: in the user's memory, or in memory of its own where it is only sent on.
std::uint8_t* TreePart::sum(std::uint32_t chunk) {
    if (std::uint8_t* const result = tree_.result(chunk)) return result;
    Bytes& bytes = passing_[chunk];
    if (!bytes && !spare_.empty()) {
        bytes = std::move(spare_.back());
        spare_.pop_back();
    }
    if (!bytes) bytes.reset(new std::uint8_t[most_chunk_bytes_]);
    return bytes.get();
}

/// The same, with this rank's own contribution in it.
std::uint8_t* TreePart::begun_sum(std::uint32_t chunk) {
    std::uint8_t* const at = sum(chunk);
    ChunkState& state = tree_.states[chunk];
    if (state.is_begun) return at;
    state.is_begun = true;
    const std::uint8_t* const own = tree_.own(chunk);
    if (own != at) std::memmove(at, own, deal_.bytes_of(chunk));
    return at;
}

std::size_t TreePart::take(Arrival& arrival, const std::uint8_t* bytes, std::size_t size) {
    if (arrival.way == Arrival::Way::kCopy) return Part::take(arrival, bytes, size);
    const std::size_t items = std::min(size, arrival.bytes_left) / deal_.item_bytes;
    if (arrival.way == Arrival::Way::kAccumulate) {
        kernels().accumulate[dtype_][static_cast<int>(tree_.op)](arrival.into, bytes, items);
        arrival.into += items * deal_.item_bytes;
    } else {
        kernels().add_widened[dtype_](reinterpret_cast<float*>(arrival.into), bytes, items);
        arrival.into += items * sizeof(float);
    }
    arrival.bytes_left -= items * deal_.item_bytes;
    return items * deal_.item_bytes;
}

void TreePart::finish(const Arrival& arrival, Outbox& outbox) {
    --frames_in_left_;
    const std::uint32_t chunk = arrival.chunk;
    ChunkState& state = tree_.states[chunk];
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

void TreePart::add_stashed(std::uint32_t chunk, std::uint32_t& next) {
    for (;;) {
        const auto found = stashed_.find(key(chunk, static_cast<int>(next)));
        if (found == stashed_.end()) return;
        combine(chunk, found->second.get(), deal_.items_of(chunk));
        stashed_.erase(found);
        ++next;
    }
}

void TreePart::combine(std::uint32_t chunk, const std::uint8_t* values, std::size_t items) {
    if (is_widened(place(chunk))) {
        kernels().add_widened[dtype_](wide(chunk), values, items);
    } else {
        kernels().accumulate[dtype_][static_cast<int>(tree_.op)](begun_sum(chunk), values, items);
    }
}

/// All children's contributions are in.
void TreePart::complete(std::uint32_t chunk, Outbox& outbox) {
    const Places::Place& here = place(chunk);
    const bool divides = tree_.op == Op::kMean && here.is_root();
    const double divisor = divides ? tree_.ranks : 1;
    const std::size_t items = deal_.items_of(chunk);
    if (is_widened(here)) {
        const auto found = wide_.find(chunk);
        kernels().narrow[dtype_](sum(chunk), found->second.get(), items,
                                 static_cast<float>(divisor));
        wide_.erase(found);
    } else if (divides) {
        kernels().divide[dtype_](sum(chunk), items, divisor);
    }
    if (here.is_root()) {
        deliver(chunk, outbox);
    } else {
        outbox.send(here.reduce_parent, chunk, Phase::kReduce);
    }
}

/// The user's buffer holds the result.
void TreePart::deliver(std::uint32_t chunk, Outbox& outbox) {
    tree_.states[chunk].is_final = true;
    if (broadcasts(tree_.schedule->kind)) {
        for (const int child : place(chunk).broadcast_children) {
            outbox.send(child, chunk, Phase::kBroadcast);
        }
    }
    if (chunk != low_) return;
    pass_complete();
    if (window_.advance(low_, Window::Clock::now())) outbox.widen();
}

/// Moves on to the first chunk whose result is yet to come here.
void TreePart::pass_complete() {
    const bool is_for_all = broadcasts(tree_.schedule->kind);
    const auto is_awaited = [&](std::uint32_t chunk) {
        return deal_.worker[chunk] == worker_ && !tree_.states[chunk].is_final &&
               (is_for_all || tree_.is_root(chunk));
    };
    while (low_ < deal_.chunks() && !is_awaited(low_)) ++low_;
}

Payload TreePart::payload(int, std::uint32_t chunk, Phase phase) const {
    const std::size_t size = deal_.bytes_of(chunk);
    const bool is_own = phase == Phase::kReduce && place(chunk).reduce_children.empty();
    if (is_own) return {tree_.own(chunk), size, tree_.signature};
    if (const std::uint8_t* const result = tree_.result(chunk)) {
        return {result, size, tree_.signature};
    }
    return {passing_.at(chunk).get(), size, tree_.signature};
}

void TreePart::sent(int, std::uint32_t chunk, Phase phase, Outbox&) {
    --frames_out_left_;
    if (phase != Phase::kReduce) return;
    tree_.states[chunk].is_sent_up = true;
    const auto found = passing_.find(chunk);
    if (found == passing_.end()) return;
    spare_.push_back(std::move(found->second));
    passing_.erase(found);
}

}  // namespace plink::engine
