#include <algorithm>
#include <stdexcept>
#include <utility>

#include "lane.hpp"
#include "link.hpp"

namespace plink::hub {

namespace {

constexpr std::size_t kMarkBits = 64;

}  // namespace

void Lane::join(Link& link) {
    if (link.worker >= seats_.size()) throw std::invalid_argument("a worker of no number");
    seats_[link.worker].link = &link;
    seats_[link.worker].retirement.clear();
}

void Lane::leave(Link& link) {
    std::replace(peers_.begin(), peers_.end(), &link, static_cast<Link*>(nullptr));
    if (link_of(link.worker) == &link) seats_[link.worker].link = nullptr;
}

Link* Lane::link_of(std::uint32_t worker) const {
    return worker < seats_.size() ? seats_[worker].link : nullptr;
}

void Lane::gather() {
    resize(options_.workers);
    for (std::size_t i = 0; i < seats_.size(); ++i) {
        seats_[i].contributes = i < options_.workers;
        seats_[i].since = 0;
        seats_[i].retirement.clear();
    }
}

/// Room for so many workers.
void Lane::resize(std::size_t workers) {
    const std::size_t before = seats_.size();
    if (workers <= before) return;
    seats_.resize(workers);
    const std::size_t words = (workers + kMarkBits - 1) / kMarkBits;
    std::vector<std::uint64_t> marks(chunks_.size() * words);
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
        std::copy_n(marks_.begin() + static_cast<std::ptrdiff_t>(i * words_), words_,
                    marks.begin() + static_cast<std::ptrdiff_t>(i * words));
    }
    words_ = words;
    marks_ = std::move(marks);
    if (options_.mode == Mode::kSync) return;
    std::vector<std::uint32_t> clocks(chunks_.size() * workers);
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
        std::copy_n(clocks_.begin() + static_cast<std::ptrdiff_t>(i * before), before,
                    clocks.begin() + static_cast<std::ptrdiff_t>(i * workers));
    }
    clocks_ = std::move(clocks);
}

bool Lane::contributes(std::uint32_t worker, std::uint32_t iteration) const {
    const Seat& seat = seats_[worker];
    return seat.contributes && distance(seat.since, iteration) >= 0;
}

std::uint32_t Lane::contributors(std::uint32_t iteration) const {
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < seats_.size(); ++i) count += contributes(i, iteration);
    return count;
}

/// The first from `worker` on; the number of seats where there is none.
std::uint32_t Lane::next_contributor(std::uint32_t worker) const {
    while (worker < seats_.size() && !contributes(worker, iteration_)) ++worker;
    return worker;
}

void Lane::retire(std::uint32_t worker, const std::string& why) {
    seats_.at(worker).retirement = why;
    if (is_begun_ && !why.empty()) miss_retired();
}

void Lane::miss_retired() const {
    for (std::uint32_t i = 0; i < seats_.size(); ++i) {
        if (!contributes(i, iteration_) || seats_[i].retirement.empty()) continue;
        if (!has_all_of(i, iteration_)) calls_.missed(i, seats_[i].retirement);
    }
}

bool Lane::admit(std::uint32_t worker, std::uint32_t since) {
    if (options_.mode == Mode::kSync && distance(iteration_, since) <= 0) return false;
    resize(worker + std::size_t{1});
    seats_[worker].contributes = true;
    seats_[worker].since = since;
    seats_[worker].retirement.clear();
    if (options_.mode != Mode::kSync) {
        // Nobody has to wait for what it did before it was there.
        for (std::size_t i = 0; i < chunks_.size(); ++i) {
            clocks_[i * seats_.size() + worker] = since - 1;
        }
    } else if (is_begun_) {
        // It may have been admitted to this one before.
        expected_ = contributors(iteration_);
        for (Chunk& chunk : chunks_) recount(chunk);
    }
    return true;
}

bool Lane::has_all_of(std::uint32_t worker, std::uint32_t iteration) const {
    const std::int32_t ahead = distance(iteration, iteration_);
    if (ahead != 0) return ahead > 0;
    const auto has = [&](const Chunk& chunk) {
        return chunk.iteration == iteration || has_mark(chunk, worker);
    };
    return !is_begun_ || std::all_of(chunks_.begin(), chunks_.end(), has);
}

void Lane::drop(std::uint32_t worker, std::uint32_t since, std::uint32_t revision) {
    if (worker >= seats_.size()) return;
    const bool did_contribute = std::exchange(seats_[worker].contributes, false);
    if (options_.mode != Mode::kSync) {
        for (Chunk& chunk : chunks_) reply(chunk);
        return;
    }
    if (!did_contribute) return;
    // It may have been to join later.
    if (distance(since, seats_[worker].since) > 0) since = seats_[worker].since;
    if (distance(since, iteration_) < 0) {
        // Norms of the one under way are of the same set as before, and on their way.
        later_revisions_.emplace_back(since, revision);
        return;
    }
    revision_ = std::max(revision_, revision);
    if (!is_begun_) return;
    forget(worker);
    if (is_begun_ && expected_ == 0) {
        // Nobody is left; whoever comes begins it anew.
        is_begun_ = false;
        remaining_ = 0;
        --iteration_;
    }
}

/// Another set of workers contributes to it.
void Lane::recount(Chunk& chunk) {
    if (chunk.is_full || chunk.iteration == iteration_) return;
    // It may have been the turn of one that is gone.
    chunk.next = next_contributor(chunk.next);
    if (options_.is_in_order) add_early(chunk);
    if (!chunk.is_full && chunk.count > 0 && chunk.count == expected_) complete(chunk);
}

/// What it has pushed of the iteration under way does not count.
void Lane::forget(std::uint32_t worker) {
    expected_ = contributors(iteration_);
    for (Chunk& chunk : chunks_) {
        if (chunk.iteration == iteration_) continue;
        if (!has_mark(chunk, worker)) {
            recount(chunk);
            continue;
        }
        for (std::uint32_t i = 0; i < seats_.size(); ++i) {
            if (i == worker || !has_mark(chunk, i) || seats_[i].link == nullptr) continue;
            Link& link = *seats_[i].link;
            link.outbox.queue({Kind::kRepush, 0, link.incarnation, chunk.place.id, iteration_, 0},
                              nullptr);
            calls_.attend(link);
        }
        clear_marks(chunk);
        for (const Array<std::uint8_t>& early : chunk.early) {
            if (early) figures_.early_bytes -= wire_bytes(options_.wire, chunk.place.items);
        }
        chunk.early.clear();
        chunk.count = 0;
        chunk.next = next_contributor(0);
        full_ -= chunk.is_full;
        chunk.is_full = false;
    }
}

bool Lane::has_mark(const Chunk& chunk, std::uint32_t worker) const {
    return (marks_[index_of(chunk) * words_ + worker / kMarkBits] >> (worker % kMarkBits)) & 1;
}

bool Lane::mark(Chunk& chunk, std::uint32_t worker) {
    if (has_mark(chunk, worker)) return false;
    marks_[index_of(chunk) * words_ + worker / kMarkBits] |= std::uint64_t{1}
                                                             << (worker % kMarkBits);
    return true;
}

void Lane::clear_marks(const Chunk& chunk) {
    const auto first = marks_.begin() + static_cast<std::ptrdiff_t>(index_of(chunk) * words_);
    std::fill_n(first, words_, 0);
}

}  // namespace plink::hub
