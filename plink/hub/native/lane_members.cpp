#include <algorithm>
#include <limits>
#include <stdexcept>

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
        seats_[i].counts_in.reset();
        seats_[i].retirement.clear();
    }
    if (is_committing_) commit(std::numeric_limits<std::size_t>::max());
    if (is_begun_ && options_.mode == Mode::kSync) take_back();
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
    if (seat.counts_in == iteration) return true;
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
    if (options_.mode == Mode::kSync) {
        if (is_begun_ && !why.empty()) miss_retired();
        return;
    }
    // Nobody is too far ahead of it any more.
    seats_[worker].contributes = false;
    for (Chunk& chunk : chunks_) reply(chunk);
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
    const bool has_seat = worker < seats_.size();
    if (options_.mode != Mode::kSync) {
        if (!has_seat) return false;
        for (std::size_t i = 0; i < chunks_.size(); ++i) {
            if (distance(iteration, clocks_[i * seats_.size() + worker]) < 0) return false;
        }
        return true;
    }
    const std::int32_t ahead = distance(iteration, iteration_);
    if (ahead != 0) return ahead > 0;
    const auto has = [&](const Chunk& chunk) {
        return chunk.iteration == iteration || (has_seat && has_mark(chunk, worker));
    };
    return !is_begun_ || std::all_of(chunks_.begin(), chunks_.end(), has);
}

void Lane::drop(std::uint32_t worker, std::uint32_t since, std::uint32_t revision) {
    if (worker >= seats_.size()) return;
    Seat& seat = seats_[worker];
    const bool counts = is_begun_ && contributes(worker, iteration_);
    const bool is_other_set = counts && distance(since, iteration_) >= 0;
    seat.contributes = false;
    // What it has pushed of the iteration under way stays in it.
    if (counts && !is_other_set) seat.counts_in = iteration_;
    if (options_.mode != Mode::kSync) {
        for (Chunk& chunk : chunks_) reply(chunk);
        return;
    }
    revisions_.push_back({since, revision});
    if (!is_other_set) return;
    take_revisions();
    forget(worker);
    // Whoever comes begins it anew.
    if (is_begun_ && expected_ == 0) take_back();
}

/// Of all sets up to that of this iteration. Norms of one set are never added to those of another;
/// all lanes hear of a set before any of them can have all contributions of it.
void Lane::take_revisions() {
    const auto is_later = [this](const Revision& one) {
        return distance(one.since, iteration_) < 0;
    };
    for (const Revision& one : revisions_) {
        if (!is_later(one)) revision_ = std::max(revision_, one.number);
    }
    const auto kept = std::partition(revisions_.begin(), revisions_.end(), is_later);
    revisions_.erase(kept, revisions_.end());
}

bool Lane::pass_over(std::uint32_t iteration) {
    if (distance(iteration, iteration_) > 0) return true;
    if (is_committing_) commit(std::numeric_limits<std::size_t>::max());
    if (is_begun_) return false;
    // Then everybody has its values, or is being sent them.
    if (iteration_ == iteration) return true;
    figures_.iteration = iteration_ = iteration;
    const bool is_copied = is_copying_ && distance(copy_.iteration, iteration) >= 0;
    for (Chunk& chunk : chunks_) {
        chunk.iteration = iteration;
        if (is_copied) copy(chunk, steps_);
        for (const Seat& seat : seats_) {
            if (waits_for_values(seat.link)) send_value(*seat.link, chunk, iteration);
        }
    }
    return true;
}

/// Nobody is left who could end the iteration.
void Lane::take_back() {
    is_begun_ = false;
    has_totals_ = true;
    remaining_ = 0;
    full_ = 0;
    for (Chunk& chunk : chunks_) {
        if (chunk.iteration != iteration_) empty(chunk);
    }
    figures_.iteration = --iteration_;
}

/// Another set of workers contributes to it.
void Lane::recount(Chunk& chunk) {
    if (chunk.is_full || chunk.iteration == iteration_) return;
    // It may have been the turn of one that is gone.
    chunk.next = next_contributor(chunk.next);
    if (options_.is_in_order) add_early(chunk);
    if (!chunk.is_full && chunk.count > 0 && chunk.count == expected_) complete(chunk);
}

/// What it has pushed of the iteration under way does not count. Neither does what those have that
/// left before: nobody can push that again.
void Lane::forget(std::uint32_t worker) {
    std::vector<std::uint32_t> gone{worker};
    for (std::uint32_t i = 0; i < seats_.size(); ++i) {
        if (seats_[i].counts_in == iteration_) gone.push_back(i);
        seats_[i].counts_in.reset();
    }
    expected_ = contributors(iteration_);
    for (Chunk& chunk : chunks_) {
        if (chunk.iteration == iteration_) continue;
        const auto is_in = [&](std::uint32_t one) { return has_mark(chunk, one); };
        if (std::none_of(gone.begin(), gone.end(), is_in)) continue;
        for (std::uint32_t i = 0; i < seats_.size(); ++i) {
            if (!contributes(i, iteration_) || !has_mark(chunk, i)) continue;
            if (seats_[i].link == nullptr) continue;
            Link& link = *seats_[i].link;
            link.outbox.queue({Kind::kRepush, 0, link.incarnation, chunk.place.id, iteration_, 0},
                              nullptr);
            calls_.attend(link);
        }
        full_ -= chunk.is_full;
        empty(chunk);
        chunk.next = next_contributor(0);
    }
    // Not before: norms are sent once all chunks have what they need.
    for (Chunk& chunk : chunks_) recount(chunk);
}

/// It has no contributions.
void Lane::empty(Chunk& chunk) {
    clear_marks(chunk);
    for (const Array<std::uint8_t>& early : chunk.early) {
        if (early) figures_.early_bytes -= wire_bytes(options_.wire, chunk.place.items);
    }
    chunk.early.clear();
    chunk.count = 0;
    chunk.is_full = false;
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
