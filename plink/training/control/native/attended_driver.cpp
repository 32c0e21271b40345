#include "attended_driver.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "clocks.hpp"

namespace plink::control {

namespace {

// The supervisor's thread looks as often as that, so that it need not be told of what is to happen
// later.
constexpr double kLooks_s = 5.0;

}  // namespace

AttendedDriver::AttendedDriver(Machine& machine, std::shared_ptr<transport::Letters> letters)
    : Driver(machine, std::move(letters)) {
    letters_->read_by(this);
}

AttendedDriver::~AttendedDriver() { close("the driver has ended"); }

void AttendedDriver::tell(Event event) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        events_.push_back(std::move(event));
    }
    {
        const std::unique_lock<std::mutex> stepping(stepping_, std::try_to_lock);
        if (stepping.owns_lock() && !is_awaiting_) {
            step_locked({});
            if (wakes_s_ >= attended_s_) return;
        }
    }
    // Where no supervisor attends any more, what is told is answered here.
    if (!letters_->wake()) step_with_told({});
}

void AttendedDriver::close(const std::string& text) {
    letters_->read_by(nullptr);
    {
        const std::lock_guard<std::mutex> stepping(stepping_);
        if (std::exchange(is_closed_, true)) return;
    }
    step_with_told({Lost{text}});
    outlet_.end();
}

double AttendedDriver::busy_s() {
    const std::lock_guard<std::mutex> stepping(stepping_);
    return busy_s_;
}

AttendedDriver::Clock::time_point AttendedDriver::read(std::vector<Letter> come, bool is_over) {
    step_with_told(events_of(std::move(come)));
    if (is_over) outlet_.cut_off();
    const std::lock_guard<std::mutex> stepping(stepping_);
    const double now = now_s();
    attended_s_ = std::clamp(wakes_s_, now, now + kLooks_s);
    return Clock::now() +
           std::chrono::ceil<Clock::duration>(std::chrono::duration<double>(attended_s_ - now));
}

/// These, and what was told meanwhile.
void AttendedDriver::step_with_told(std::vector<Event> events) {
    const std::lock_guard<std::mutex> stepping(stepping_);
    step_locked(std::move(events));
}

void AttendedDriver::step_locked(std::vector<Event> events) {
    const double began_s = thread_s();
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        std::move(events_.begin(), events_.end(), std::back_inserter(events));
        events_.clear();
    }
    const double now = now_s();
    if (now >= wakes_s_) {
        wakes_s_ = kNever;
        events.emplace_back(Ticked{});
    }
    const bool announces = std::any_of(events.begin(), events.end(), [](const Event& event) {
        return std::holds_alternative<Announced>(event);
    });
    const bool has_wanted = step(events, now);
    is_awaiting_ = !has_wanted && (is_awaiting_ || announces);
    busy_s_ += thread_s() - began_s;
}

}  // namespace plink::control
