#include "clocked.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "digest.hpp"

namespace plink::simulate {

using control::Action;
using control::Event;
using control::Heard;
using control::mixed;
using control::Send;
using control::SleepUntil;
using control::Ticked;

double Often::operator()(std::uint64_t rank, std::uint64_t sleep) const {
    const auto value = static_cast<double>(mixed(mixed(mixed(seed) ^ rank) ^ sleep));
    return value < share * 0x1p64 ? by_s : 0.0;
}

Clocked::Clocked(Machines machines, const Costs& costs, std::optional<Often> oversleep, Do act,
                 Call call)
    : costs_(costs), oversleep_(oversleep), do_(std::move(act)), call_(std::move(call)) {
    threads_.reserve(machines.size());
    for (auto& machine : machines) {
        Thread& thread = threads_.emplace_back();
        thread.cycles = dynamic_cast<const control::Cycles*>(machine.get());
        thread.machine = std::move(machine);
    }
}

void Clocked::start() {
    if (std::exchange(is_started_, true)) return;
    for (std::size_t rank = 0; rank < ranks(); ++rank) step(rank);
}

void Clocked::run() {
    is_stopped_ = false;
    while (!queue_.empty() && !is_stopped_) {
        std::pop_heap(queue_.begin(), queue_.end(), is_later);
        const Time time = queue_.back();
        queue_.pop_back();
        now_s_ = time.at_s;
        free_.push_back(time.slot);
        happen(std::move(happenings_[time.slot]));
    }
}

void Clocked::at(double at_s, std::uint32_t one, std::uint64_t other) {
    push(at_s, {Kind::kCall, one, other, Ticked{}});
}

void Clocked::tell(std::size_t rank, std::vector<Event> events) {
    auto& inbox = threads_[rank].inbox;
    for (Event& event : events) inbox.push_back(std::move(event));
    look_soon(rank);
}

void Clocked::let_go(std::size_t rank) {
    Thread& thread = threads_[rank];
    if (!std::exchange(thread.is_held, false)) return;
    thread.busy_until_s = std::max(thread.busy_until_s, now_s_);
    look_soon(rank);
}

double Clocked::waited_s(std::size_t rank) const {
    const Thread& thread = threads_[rank];
    const double waits_s = thread.waits_since_s ? now_s_ - *thread.waits_since_s : 0.0;
    return thread.waited_s + std::max(0.0, waits_s);
}

std::vector<double> Clocked::spreads_s() const {
    std::vector<double> spreads;
    for (const Cycle& cycle : began_) {
        if (cycle.count == ranks()) spreads.push_back(cycle.last_s - cycle.first_s);
    }
    return spreads;
}

bool Clocked::is_later(const Time& one, const Time& other) {
    return one.at_s != other.at_s ? one.at_s > other.at_s : one.count > other.count;
}

void Clocked::push(double at_s, Happening happening) {
    std::uint32_t slot = 0;
    if (free_.empty()) {
        slot = static_cast<std::uint32_t>(happenings_.size());
        happenings_.push_back(std::move(happening));
    } else {
        slot = free_.back();
        free_.pop_back();
        happenings_[slot] = std::move(happening);
    }
    queue_.push_back({at_s, count_++, slot});
    std::push_heap(queue_.begin(), queue_.end(), is_later);
}

void Clocked::happen(Happening happening) {
    switch (happening.kind) {
        case Kind::kTell:
            threads_[happening.rank].inbox.push_back(std::move(happening.event));
            return look_soon(happening.rank);
        case Kind::kWake:
            return wake(happening.rank, happening.number);
        case Kind::kLook:
            return look(happening.rank);
        case Kind::kCall:
            return call_(happening.rank, happening.number);
    }
}

void Clocked::look_soon(std::size_t rank) {
    Thread& thread = threads_[rank];
    if (thread.is_asleep || thread.will_look || thread.is_held) return;
    if (now_s_ < thread.busy_until_s) {
        thread.will_look = true;
        push(thread.busy_until_s, {Kind::kLook, static_cast<std::uint32_t>(rank), 0, Ticked{}});
    } else {
        step(rank);
    }
}

/// It has time again.
void Clocked::look(std::size_t rank) {
    Thread& thread = threads_[rank];
    thread.will_look = false;
    if (!thread.inbox.empty() && !thread.is_asleep && !thread.is_held) step(rank);
}

void Clocked::wake(std::size_t rank, std::uint64_t asked) {
    Thread& thread = threads_[rank];
    if (asked != thread.asked) return;
    thread.is_asleep = false;
    thread.asked = kNever;
    thread.inbox.push_back(Ticked{});
    look_soon(rank);
}

/// Read, step, send.
void Clocked::step(std::size_t rank) {
    Thread& thread = threads_[rank];
    const std::vector<Event> events = std::exchange(thread.inbox, {});
    double at_s = now_s_ + costs_.step_s;
    for (const Event& event : events) {
        if (const auto* heard = std::get_if<Heard>(&event)) {
            const auto size = static_cast<double>(heard->message.size());
            at_s += costs_.in_s + costs_.in_s_per_byte * size;
            thread.heard_bytes += heard->message.size();
        }
    }
    const std::uint64_t before = cycles_of(thread);
    for (Action& action : thread.machine->step(events, at_s)) {
        if (auto* send = std::get_if<Send>(&action)) {
            const auto size = static_cast<double>(send->message.size());
            at_s += costs_.out_s + costs_.out_s_per_byte * size;
            ++messages_;
            const auto to = static_cast<std::uint32_t>(send->rank);
            Heard heard{static_cast<std::int64_t>(rank), std::move(send->message)};
            push(at_s + costs_.latency_s, {Kind::kTell, to, 0, std::move(heard)});
        } else if (const auto* until = std::get_if<SleepUntil>(&action)) {
            sleep(rank, *until, at_s);
        } else {
            do_(rank, action, at_s);
        }
    }
    note(thread, before, at_s);
    thread.busy_s += at_s - now_s_;
    thread.busy_until_s = at_s;
}

/// Of cycles: when each began, and who waits within one.
void Clocked::note(Thread& thread, std::uint64_t before, double at_s) {
    const std::uint64_t cycles = cycles_of(thread);
    if (cycles > before) {
        if (began_.size() < cycles) began_.resize(cycles, {now_s_, now_s_, 0});
        Cycle& cycle = began_[cycles - 1];
        cycle.last_s = now_s_;
        ++cycle.count;
    }
    if (thread.waits_since_s) {
        thread.waited_s += std::max(0.0, now_s_ - *thread.waits_since_s);
    }
    const bool waits = cycles > 0 && !thread.is_asleep;
    thread.waits_since_s = waits ? std::optional(at_s) : std::nullopt;
}

void Clocked::sleep(std::size_t rank, const SleepUntil& action, double at_s) {
    Thread& thread = threads_[rank];
    thread.is_asleep = !action.wakes_on_message;
    thread.asked = kNever;
    if (!std::isfinite(action.at_s)) return;
    double longer_s = 0.0;
    if (action.at_s > at_s) {
        ++thread.sleeps;
        if (oversleep_) longer_s = (*oversleep_)(rank, thread.sleeps);
    }
    thread.asked = count_;
    push(std::max(at_s, action.at_s) + longer_s,
         {Kind::kWake, static_cast<std::uint32_t>(rank), count_, Ticked{}});
}

}  // namespace plink::simulate
