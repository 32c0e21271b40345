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
    const auto divisor = static_cast<float>(options_.workers);
    chunk.count = 0;
    float* const sums = sums_.get() + chunk.offset;
    if (!options_.is_by_step) {
        step(chunk, sums, divisor, 1.0F, scalars_[chunk.place.group]);
        finish_chunk(chunk);
        return;
    }
    chunk.squares = steps().divide(sums, chunk.place.items, divisor);
    if (++filled_chunks_ == chunks_.size()) send_partials();
}

void Lane::step(Chunk& chunk, float* sums, float divisor, float scale, const Scalars& scalars) {
    const auto at = [&chunk](const Array<float>& array) {
        return array == nullptr ? nullptr : array.get() + chunk.offset;
    };
    const Step step{at(values_), sums,    at(first_), at(second_), chunk.place.items,
                    divisor,     scale};
    steps().apply[static_cast<std::size_t>(options_.optimizer)](step, scalars);
}

/// Its values are those after this iteration.
void Lane::finish_chunk(Chunk& chunk) {
    chunk.iteration = iteration_;
    const auto at = static_cast<std::size_t>(&chunk - chunks_.data());
    std::fill_n(marks_.begin() + static_cast<std::ptrdiff_t>(at * words_), words_, 0);
    for (Link* const link : links_) {
        if (link != nullptr) send_value(*link, chunk, iteration_);
    }
    if (--remaining_ > 0) return;
    is_begun_ = false;
    ++steps_;
    figures_.steps = steps_;
}

void Lane::send_value(Link& link, const Chunk& chunk, std::uint32_t iteration) {
    link.outbox.queue({Kind::kValue, 0, link.incarnation, chunk.place.id, iteration,
                       chunk.place.items * static_cast<std::uint32_t>(sizeof(float))},
                      values_.get() + chunk.offset);
    calls_.attend(link);
}

void Lane::send_partials() {
    std::vector<std::uint8_t> payload(chunks_.size() * sizeof(double));
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
        std::memcpy(payload.data() + i * sizeof(double), &chunks_[i].squares, sizeof(double));
    }
    for (Link* const link : links_) {
        if (link == nullptr) continue;
        link->outbox.queue_owned({Kind::kPartial, 0, link->incarnation, 0, iteration_, 0}, payload);
        calls_.attend(*link);
    }
}

void Lane::total(Link& link, const Frame& frame, const std::uint8_t* payload) {
    if (!link.has_begun || frame.iteration != link.iteration) {
        throw std::runtime_error("it sent the norm of an iteration that it has not begun");
    }
    // The first one counts; the others have come to the same.
    if (has_totals_ || frame.iteration != iteration_) return;
    if (filled_chunks_ < chunks_.size()) {
        throw std::runtime_error("it sent a norm before it could know it");
    }
    has_totals_ = true;
    const double squares = number_at(payload);
    if (!std::isfinite(squares) && options_.skips_nonfinite) {
        skip();
        return;
    }
    const float scale = clip_scale(std::sqrt(squares), options_.clip);
    for (Chunk& chunk : chunks_) {
        step(chunk, sums_.get() + chunk.offset, 1.0F, scale, scalars_[chunk.place.group]);
        finish_chunk(chunk);
    }
}

/// The iteration ends with the values that it began with.
void Lane::skip() {
    std::fill(marks_.begin(), marks_.end(), 0);
    for (Chunk& chunk : chunks_) {
        chunk.iteration = iteration_;
        for (Link* const link : links_) {
            if (link == nullptr) continue;
            link->outbox.queue({Kind::kValue, kUnchanged, link->incarnation, chunk.place.id,
                                iteration_, 0},
                               nullptr);
            calls_.attend(*link);
        }
    }
    remaining_ = 0;
    is_begun_ = false;
    ++figures_.skipped;
}

/// A push that waits for no other: it is stepped, and its worker gets what came of it.
void Lane::step_alone(Link& link, Chunk& chunk, const Frame& frame, const std::uint8_t* payload) {
    const auto at = static_cast<std::size_t>(&chunk - chunks_.data());
    std::uint32_t& clock = clocks_[at * options_.workers + link.worker];
    if (distance(clock, frame.iteration) <= 0) {
        ++figures_.replays;
        return;
    }
    clock = frame.iteration;
    float* const sums = sums_.get() + chunk.offset;
    widen(options_.wire, sums, payload, chunk.place.items);
    step(chunk, sums, 1.0F, 1.0F,
         scalars_of(options_.optimizer, link.hypers[chunk.place.group], ++chunk.steps));
    figures_.steps = std::max(figures_.steps, chunk.steps);
    owed_.push_back({static_cast<std::uint32_t>(at), link.worker, frame.iteration});
    reply(chunk);
}

/// Sends the values that workers wait for, unless they would be too far ahead of the slowest.
void Lane::reply(Chunk& chunk) {
    const auto at = static_cast<std::size_t>(&chunk - chunks_.data());
    const std::uint32_t* const clocks = &clocks_[at * options_.workers];
    std::uint32_t slowest = clocks[0];
    for (std::uint32_t i = 1; i < options_.workers; ++i) {
        if (distance(clocks[i], slowest) > 0) slowest = clocks[i];
    }
    const auto is_sent = [&](const Owed& owed) {
        if (owed.chunk != at) return false;
        if (options_.mode == Mode::kSsp &&
            distance(slowest, owed.iteration) > static_cast<std::int32_t>(options_.staleness)) {
            return false;
        }
        if (links_[owed.worker] != nullptr) {
            send_value(*links_[owed.worker], chunk, owed.iteration);
        }
        return true;
    };
    owed_.erase(std::remove_if(owed_.begin(), owed_.end(), is_sent), owed_.end());
}

}  // namespace plink::hub
