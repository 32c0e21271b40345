#include "training.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <variant>

namespace plink::simulate {

using control::Action;
using control::Announced;
using control::Batch;
using control::Done;
using control::Event;
using control::Release;
using control::Warn;

namespace {

// No iteration takes so long, unless ranks wait for each other for ever.
constexpr double kLongest_s = 600.0;
// What is called: by its rank, who announces something; or the end of an all-reduce, or of the time
// that an iteration has.
constexpr std::uint32_t kEnd = UINT32_MAX;
constexpr std::uint32_t kExpire = UINT32_MAX - 1;

[[noreturn]] void disagree(const std::string& text) { throw std::runtime_error(text); }

bool are_same(const std::vector<control::RequestRef>& one,
              const std::vector<control::RequestRef>& other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                      [](const auto& a, const auto& b) { return a == b || a->name == b->name; });
}

}  // namespace

Training::Training(Clocked::Machines machines, std::vector<Call> calls, const Costs& costs,
                   const DataPlane& data, std::optional<Often> oversleep, double spinning,
                   std::vector<std::size_t> heeds_done)
    : calls_(std::move(calls)),
      data_(data),
      spinning_(spinning),
      heeds_done_(std::move(heeds_done)),
      clock_(
          std::move(machines), costs, oversleep,
          [this](std::size_t rank, const Action& action, double at_s) { act(rank, action, at_s); },
          [this](std::uint32_t one, std::uint64_t other) {
              if (one == kEnd) return end(other);
              one == kExpire ? expire(other) : announce(one);
          }),
      programs_(clock_.ranks()) {
    for (const Call& call : calls_) requests_ += call.size();
}

Iteration Training::iterate(const Drawn& drawn) {
    clock_.start();
    drawn_ = drawn;
    iteration_ = {};
    announced_s_.clear();
    is_over_ = false;
    reduced_ = 0;
    began_s_ = clock_.now_s();
    clock_.at(began_s_ + kLongest_s, kExpire, iterations_);
    for (std::size_t rank = 0; rank < programs_.size(); ++rank) {
        programs_[rank].made = 0;
        programs_[rank].waited_before_s = clock_.waited_s(rank);
        clock_.at(due_s(rank), static_cast<std::uint32_t>(rank), 0);
    }
    clock_.run();
    if (!is_over_) disagree("ranks wait for each other for ever");
    return std::move(iteration_);
}

void Training::expire(std::uint64_t iteration) {
    if (iterations_ == iteration) disagree("an iteration takes more than ten minutes");
}

/// When the next call of a rank is made, if its thread waits for nobody from now on.
double Training::due_s(std::size_t rank) const {
    const Program& program = programs_[rank];
    double due_s = began_s_ + drawn_.ready_s[rank * calls_.size() + program.made];
    if (spinning_ > 0.0) {
        due_s += spinning_ * (clock_.waited_s(rank) - program.waited_before_s);
    }
    return due_s;
}

/// All calls of a rank that are due; and then the next.
void Training::announce(std::size_t rank) {
    const double now_s = clock_.now_s();
    Program& program = programs_[rank];
    std::vector<Event> events;
    while (program.made < calls_.size() && due_s(rank) <= now_s) {
        const auto call = drawn_.order[rank * calls_.size() + program.made];
        for (const auto& request : calls_[static_cast<std::size_t>(call)]) {
            events.emplace_back(Announced{{request}});
            announced_s_[request->name] = now_s;
        }
        ++program.made;
    }
    if (!events.empty()) clock_.tell(rank, std::move(events));
    if (program.made < calls_.size()) {
        clock_.at(due_s(rank), static_cast<std::uint32_t>(rank), 0);
    }
}

void Training::act(std::size_t rank, const Action& action, double at_s) {
    if (const auto* released = std::get_if<Release>(&action)) {
        for (const Batch& batch : released->batches) release(rank, batch, at_s);
        if (data_.holds_thread) clock_.hold(rank);
    } else if (!std::holds_alternative<Warn>(action)) {
        disagree("rank " + std::to_string(rank) + " wants something else than a release");
    }
}

void Training::release(std::size_t rank, const Batch& batch, double at_s) {
    const std::size_t number = programs_[rank].begun++;
    if (number == buffers_.size()) buffers_.push_back({batch.requests});
    Buffer& buffer = buffers_[number];
    if (buffer.released_by == programs_.size() || !are_same(batch.requests, buffer.requests)) {
        disagree("rank " + std::to_string(rank) + " released another buffer " +
                 std::to_string(number) + " than others");
    }
    buffer.released_s = std::max(buffer.released_s, at_s);
    if (++buffer.released_by == programs_.size()) reduce(number);
}

/// All ranks have begun an all-reduce: it follows the one before.
void Training::reduce(std::size_t number) {
    Buffer& buffer = buffers_[number];
    std::uint64_t size_bytes = 0;
    std::vector<std::string> names;
    for (const auto& request : buffer.requests) {
        size_bytes += request->size_bytes();
        names.push_back(request->name);
        iteration_.latencies_s.push_back(buffer.released_s - announced_s_[request->name]);
    }
    const double took_s = data_.latency_s + static_cast<double>(size_bytes) / data_.bytes_s;
    is_free_at_s_ = std::max(is_free_at_s_, buffer.released_s) + took_s;
    iteration_.reduced_s += took_s;
    reduced_ += names.size();
    iteration_.released.push_back(std::move(names));
    buffer.requests.clear();
    clock_.at(is_free_at_s_, kEnd, number);
}

void Training::end(std::size_t number) {
    for (const std::size_t rank : heeds_done_) clock_.tell(rank, {Done{1}});
    if (number + 1 != buffers_.size()) return;
    if (data_.holds_thread) {
        for (std::size_t rank = 0; rank < programs_.size(); ++rank) clock_.let_go(rank);
    }
    if (reduced_ == requests_) {
        iteration_.took_s = clock_.now_s() - began_s_;
        ++iterations_;
        is_over_ = true;
        clock_.stop();
    }
}

}  // namespace plink::simulate
