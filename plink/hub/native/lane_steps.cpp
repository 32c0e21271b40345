#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "lane.hpp"
#include "link.hpp"

namespace plink::hub {

namespace {

double number_at(const std::uint8_t* at) {
    double value;
    std::memcpy(&value, at, sizeof(value));
    return value;
}

}  // namespace

/// It has the contributions of all workers.
void Lane::complete(Chunk& chunk) {
    if (options_.racks > 1) {
        complete_rack(chunk);
    } else {
        conclude(chunk, expected_);
    }
}

/// Its sum is that of all workers, so many.
void Lane::conclude(Chunk& chunk, std::uint32_t workers) {
    workers_ = workers;
    const auto divisor = static_cast<float>(workers);
    float* const sums = sums_.get() + chunk.offset;
    if (!options_.is_by_step) {
        step(chunk, sums, divisor, 1.0F, scalars_[chunk.place.group]);
        finish_chunk(chunk);
        return;
    }
    chunk.is_full = true;
    chunk.squares = steps().divide(sums, chunk.place.items, divisor);
    if (++full_ == chunks_.size()) send_partials();
}

void Lane::step(Chunk& chunk, float* sums, float divisor, float scale, const Scalars& scalars) {
    const auto at = [&chunk](const Array<float>& array) {
        return array == nullptr ? nullptr : array.get() + chunk.offset;
    };
    const Step step{at(values_), sums, at(first_), at(second_), chunk.place.items, divisor, scale};
    steps().apply[static_cast<std::size_t>(options_.optimizer)](step, scalars);
}

/// Its values are those after this iteration.
void Lane::finish_chunk(Chunk& chunk) {
    chunk.iteration = iteration_;
    chunk.count = 0;
    chunk.is_full = false;
    clear_marks(chunk);
    if (is_copying_ && copy_.iteration == iteration_) copy(chunk, steps_ + 1);
    for (const Seat& seat : seats_) {
        if (waits_for_values(seat.link)) send_value(*seat.link, chunk, iteration_);
    }
    if (--remaining_ > 0) return;
    is_begun_ = false;
    figures_.steps = ++steps_;
}

/// Whether it has begun the iteration, or starts from its values. Who has come back and not begun
/// it again gets them then.
bool Lane::waits_for_values(const Link* link) const {
    if (link == nullptr) return false;
    if (link->has_begun) return link->iteration == iteration_;
    return link->is_waiting && link->pulled == iteration_;
}

void Lane::send_value(Link& link, const Chunk& chunk, std::uint32_t iteration) {
    // How many have contributed stands where pushes have the incarnation.
    const auto workers = static_cast<std::uint16_t>(workers_);
    link.outbox.queue({Kind::kValue, 0, workers, chunk.place.id, iteration,
                       chunk.place.items * static_cast<std::uint32_t>(sizeof(float))},
                      values_.get() + chunk.offset);
    calls_.attend(link);
}

void Lane::send_partials() {
    for (const Seat& seat : seats_) {
        const Link* const link = seat.link;
        const bool is_with_us = link != nullptr && link->has_begun && link->iteration == iteration_;
        if (is_with_us) send_partial(*seat.link);
    }
}

void Lane::send_partial(Link& link) {
    std::vector<std::uint8_t> payload(chunks_.size() * sizeof(double));
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
        std::memcpy(payload.data() + i * sizeof(double), &chunks_[i].squares, sizeof(double));
    }
    link.outbox.queue_owned({Kind::kPartial, 0, link.incarnation, revision_, iteration_, 0},
                            std::move(payload));
    calls_.attend(link);
}

void Lane::total(Link& link, const Frame& frame, const std::uint8_t* payload) {
    if (!link.has_begun || frame.iteration != link.iteration) {
        throw std::runtime_error("it sent the norm of an iteration that it has not begun");
    }
    // The first one counts: the others have come to the same, or are of a set that is no more.
    if (has_totals_ || frame.iteration != iteration_ || frame.chunk != revision_) return;
    if (full_ < chunks_.size()) {
        throw std::runtime_error("it sent a norm before it could know it");
    }
    has_totals_ = true;
    const double squares = number_at(payload);
    if (!std::isfinite(squares) && options_.skips_nonfinite) {
        skip();
        return;
    }
    scale_ = clip_scale(std::sqrt(squares), options_.clip);
    uncommitted_ = 0;
    is_committing_ = !chunks_.empty();
}

std::size_t Lane::commit(std::size_t most_bytes) {
    std::size_t bytes = 0;
    while (is_committing_ && bytes < most_bytes) {
        Chunk& chunk = chunks_[uncommitted_++];
        is_committing_ = uncommitted_ < chunks_.size();
        bytes += chunk.place.items * sizeof(float);
        step(chunk, sums_.get() + chunk.offset, 1.0F, scale_, scalars_[chunk.place.group]);
        finish_chunk(chunk);
    }
    return bytes;
}

/// The iteration ends with the values that it began with.
void Lane::skip() {
    const auto workers = static_cast<std::uint16_t>(workers_);
    for (Chunk& chunk : chunks_) {
        chunk.iteration = iteration_;
        chunk.count = 0;
        chunk.is_full = false;
        clear_marks(chunk);
        if (is_copying_ && copy_.iteration == iteration_) copy(chunk, steps_);
        for (const Seat& seat : seats_) {
            if (!waits_for_values(seat.link)) continue;
            // Who starts from these values does not have them yet.
            if (!seat.link->has_begun) {
                send_value(*seat.link, chunk, iteration_);
                continue;
            }
            seat.link->outbox.queue(
                {Kind::kValue, kUnchanged, workers, chunk.place.id, iteration_, 0}, nullptr);
            calls_.attend(*seat.link);
        }
    }
    remaining_ = 0;
    is_begun_ = false;
    ++figures_.skipped;
}

}  // namespace plink::hub
