#include "attended_driver.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "clocks.hpp"

namespace plink::control {

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
    const double left_s = std::clamp(wakes_s_ - now_s(), 0.0, kLongestSleep_s);
    return Clock::now() + std::chrono::ceil<Clock::duration>(std::chrono::duration<double>(left_s));
}

/// These, and what was told meanwhile.
void AttendedDriver::step_with_told(std::vector<Event> events) {
    const std::lock_guard<std::mutex> stepping(stepping_);
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
    step(events, now);
    busy_s_ += thread_s() - began_s;
}

}  // namespace plink::control
