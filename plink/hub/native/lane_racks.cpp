#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "lane.hpp"
#include "link.hpp"
#include "text.hpp"

namespace plink::hub {

namespace {

[[noreturn]] void refuse(const char* what) { throw std::runtime_error(what); }

std::uint32_t bytes_of(const ChunkPlace& place) {
    return place.items * static_cast<std::uint32_t>(sizeof(float));
}

}  // namespace

void Lane::join_peer(Link& link) {
    peers_.resize(options_.racks);
    peers_.at(static_cast<std::size_t>(link.rack)) = &link;
    if (is_begun_) send_hypers(link);
    // What was for it before it was there.
    for (const Chunk& chunk : chunks_) {
        const bool is_its = root_of(chunk) == static_cast<std::uint32_t>(link.rack);
        if (is_begun_ && is_its && chunk.is_full && chunk.iteration != iteration_) send_sum(chunk);
    }
    if (options_.rack != 0) return;
    for (const Chunk& chunk : chunks_) {
        if (chunk.has_values && chunk.iteration == 0) send_initial(link, chunk);
    }
}

void Lane::send_initial(Link& link, const Chunk& chunk) {
    link.outbox.queue({Kind::kPeerTotal, kInitial, 0, chunk.place.id, 0, bytes_of(chunk.place)},
                      values_.get() + chunk.offset);
    calls_.attend(link);
}

void Lane::check_peer(const Link& link, const Frame& frame) const {
    if (frame.kind == Kind::kError && frame.bytes <= kMostErrorBytes) return;
    if (frame.kind == Kind::kStep) {
        const std::int32_t ahead = distance(iteration_, frame.iteration);
        if (frame.bytes != options_.groups * kHyperBytes || !is_root(options_.rack) || ahead < 0 ||
            ahead > 1) {
            refuse("it sent hyperparameters that nobody compares");
        }
        return;
    }
    if (frame.kind != Kind::kPeerSum && frame.kind != Kind::kPeerTotal) {
        refuse("it sent a frame that no server of a rack sends");
    }
    const Chunk* const chunk = find(frame.chunk);
    if (chunk == nullptr || frame.bytes != bytes_of(chunk->place)) {
        refuse("it sent a sum of a chunk that is not here");
    }
    if ((frame.flags & kInitial) != 0) {
        if (link.rack != 0 || options_.rack == 0) refuse("it sent first values");
        return;
    }
    const std::uint32_t root = root_of(*chunk);
    if (frame.kind == Kind::kPeerSum) {
        const auto rack = static_cast<std::size_t>(link.rack);
        const bool has_it = chunk->racks.size() > rack && chunk->racks[rack].sum != nullptr;
        if (root != options_.rack || frame.iteration != chunk->totalled + 1 || has_it) {
            refuse("it sent a sum that nobody waits for");
        }
    } else if (root != static_cast<std::uint32_t>(link.rack) || !is_begun_ ||
               frame.iteration != iteration_ || !chunk->is_full) {
        refuse("it sent a total that nobody waits for");
    }
}

void Lane::hear_peer(Link& link, const Frame& frame, const std::uint8_t* payload) {
    if (frame.kind == Kind::kError) {
        const std::string why = transport::printable({payload, payload + frame.bytes});
        // It may have heard that from another rack, or speak of all of them.
        const bool is_named = why.rfind("rack", 0) == 0;
        const std::string prefix = is_named ? "" : "rack " + std::to_string(link.rack) + ": ";
        if (!why.empty()) calls_.missed(static_cast<std::uint32_t>(link.rack), prefix + why);
        throw std::runtime_error("it ends the service");
    }
    if (frame.kind == Kind::kStep) {
        // The worker's number stands where pushes have the chunk.
        rack_hypers_.resize(options_.racks);
        rack_hypers_[static_cast<std::size_t>(link.rack)] = {
            frame.iteration, frame.chunk, {payload, payload + frame.bytes}};
        compare(static_cast<std::uint32_t>(link.rack));
        return;
    }
    Chunk& chunk = chunk_of(frame.chunk);
    if ((frame.flags & kInitial) != 0) {
        fill(chunk, payload);
        return;
    }
    // How many have contributed stands where pushes have the incarnation.
    if (frame.kind == Kind::kPeerTotal) {
        std::memcpy(sums_.get() + chunk.offset, payload, frame.bytes);
        conclude(chunk, frame.incarnation);
        return;
    }
    chunk.racks.resize(options_.racks);
    RackSum& its = chunk.racks[static_cast<std::size_t>(link.rack)];
    its.sum = make_array<float>(chunk.place.items);
    its.workers = frame.incarnation;
    std::memcpy(its.sum.get(), payload, frame.bytes);
    add_racks(chunk);
}

bool Lane::is_root(std::uint32_t rack) const {
    return std::any_of(chunks_.begin(), chunks_.end(),
                       [&](const Chunk& chunk) { return root_of(chunk) == rack; });
}

/// Every root hears a rack's hyperparameters before its sums, so that none is stepped that differs.
void Lane::begin_rack() {
    for (Link* const link : peers_) {
        if (link != nullptr) send_hypers(*link);
    }
    for (std::uint32_t rack = 0; rack < rack_hypers_.size(); ++rack) compare(rack);
}

void Lane::send_hypers(Link& link) {
    if (!is_root(static_cast<std::uint32_t>(link.rack))) return;
    link.outbox.queue_owned({Kind::kStep, 0, 0, hyper_worker_, iteration_, 0}, hyper_bytes_);
    calls_.attend(link);
}

/// What another rack has sent with what this one has, once both are in an iteration.
void Lane::compare(std::uint32_t rack) {
    const RackHypers& its = rack_hypers_[rack];
    const bool is_same = its.bytes.empty() || its.bytes == hyper_bytes_;
    if (!is_begun_ || its.iteration != iteration_ || is_same) return;
    has_disagreed_ = true;
    const Difference found = difference(hyper_bytes_.data(), its.bytes.data(), options_.groups);
    const auto named = [](const std::string& number, std::uint32_t worker, std::uint32_t of_rack) {
        return number + " for worker " + std::to_string(worker) + " of rack " +
               std::to_string(of_rack);
    };
    const std::string own = named(found.one, hyper_worker_, options_.rack);
    const std::string other = named(found.other, its.worker, rack);
    // Both ends say the same.
    calls_.missed(rack, "racks have different hyperparameters in iteration " +
                            std::to_string(iteration_) + ": " + found.what + " is " +
                            (options_.rack < rack ? own : other) + " and " +
                            (options_.rack < rack ? other : own));
}

/// All workers of this rack have contributed.
void Lane::complete_rack(Chunk& chunk) {
    chunk.is_full = true;
    if (root_of(chunk) == options_.rack) {
        chunk.racks.resize(options_.racks);
        add_racks(chunk);
        return;
    }
    send_sum(chunk);
}

/// To its root, if that is there.
void Lane::send_sum(const Chunk& chunk) {
    const std::uint32_t root = root_of(chunk);
    Link* const link = root < peers_.size() ? peers_[root] : nullptr;
    if (link == nullptr) return;
    const auto workers = static_cast<std::uint16_t>(expected_);
    link->outbox.queue(
        {Kind::kPeerSum, 0, workers, chunk.place.id, iteration_, bytes_of(chunk.place)},
        sums_.get() + chunk.offset);
    calls_.attend(*link);
}

/// In the order of the racks, once all are there.
void Lane::add_racks(Chunk& chunk) {
    // Some may be an iteration ahead, where values wait for the norm.
    if (!is_begun_ || !chunk.is_full || chunk.totalled == iteration_ || has_disagreed_) return;
    for (std::uint32_t rack = 0; rack < options_.racks; ++rack) {
        if (rack != options_.rack && chunk.racks[rack].sum == nullptr) return;
    }
    if (totals_ == nullptr) totals_ = make_array<float>(room_);
    float* const sums = sums_.get() + chunk.offset;
    // No rack sends its next sum before it has this total, so it stays until it is sent.
    float* const total = totals_.get() + chunk.offset;
    std::uint32_t workers = expected_;
    for (std::uint32_t rack = 0; rack < options_.racks; ++rack) {
        const bool is_own = rack == options_.rack;
        const float* const its = is_own ? sums : chunk.racks[rack].sum.get();
        if (!is_own) workers += chunk.racks[rack].workers;
        const auto* const bytes = reinterpret_cast<const std::uint8_t*>(its);
        (rack == 0 ? widen : hub::add)(Wire::kFloat32, total, bytes, chunk.place.items);
    }
    chunk.racks.clear();
    for (Link* const link : peers_) {
        if (link == nullptr) continue;
        link->outbox.queue({Kind::kPeerTotal, 0, static_cast<std::uint16_t>(workers),
                            chunk.place.id, iteration_, bytes_of(chunk.place)},
                           total);
        calls_.attend(*link);
    }
    std::memcpy(sums, total, bytes_of(chunk.place));
    chunk.totalled = iteration_;
    conclude(chunk, workers);
}

}  // namespace plink::hub
