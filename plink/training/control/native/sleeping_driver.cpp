#include "sleeping_driver.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "clocks.hpp"

namespace plink::control {

SleepingDriver::SleepingDriver(Machine& machine, std::shared_ptr<transport::Letters> letters)
    : Driver(machine, std::move(letters)) {
    thread_ = std::thread([this] { run(); });
}

SleepingDriver::~SleepingDriver() { close("the driver has ended"); }

void SleepingDriver::tell(Event event) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        events_.push_back(std::move(event));
    }
    told_.notify_one();
    letters_->wake();
}

void SleepingDriver::close(const std::string& text) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (std::exchange(is_closed_, true)) return;
        events_.push_back(Lost{text});
    }
    told_.notify_one();
    closing_.notify_one();
    letters_->wake();
    thread_.join();
}

void SleepingDriver::run() {
    pthread_setname_np(pthread_self(), "plink-control");
    std::vector<Event> events;
    for (bool is_closed = false; !is_closed;) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            std::move(events_.begin(), events_.end(), std::back_inserter(events));
            events_.clear();
            is_closed = is_closed_;
        }
        const double now = now_s();
        if (now >= wakes_s_) {
            wakes_s_ = kNever;
            is_asleep_ = false;
            events.emplace_back(Ticked{});
        }
        step(events, now);
        busy_s_ = thread_s();
        events = is_closed ? std::vector<Event>() : await();
    }
    outlet_.end();
}

/// What comes from others, or nothing when something else is to be looked at.
std::vector<Event> SleepingDriver::await() {
    if (is_cut_off_) {
        std::unique_lock<std::mutex> lock(mutex_);
        told_.wait(lock, [this] { return !events_.empty(); });
        return {};
    }
    double left_s = wakes_s_ - now_s();
    if (is_asleep_ && left_s > 0.0) {
        sleep(left_s);
        left_s = 0.0;
    }
    auto come = letters_->next(std::clamp(left_s, 0.0, kLongestSleep_s));
    if (come) return events_of(std::move(*come));
    is_cut_off_ = true;
    outlet_.cut_off();
    return {};
}

void SleepingDriver::sleep(double seconds) {
    std::unique_lock<std::mutex> lock(mutex_);
    closing_.wait_for(lock, std::chrono::duration<double>(std::min(seconds, kLongestSleep_s)),
                      [this] { return is_closed_; });
}

}  // namespace plink::control
