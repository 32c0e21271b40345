#include "driver.hpp"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>

namespace plink::control {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
// Nothing has to be looked at so seldom, and clocks count so far.
constexpr double kLongestSleep_s = 3600.0;

double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

double thread_s() {
    timespec busy{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &busy);
    return static_cast<double>(busy.tv_sec) + 1e-9 * static_cast<double>(busy.tv_nsec);
}

}  // namespace

Driver::Driver(Tree& machine, std::shared_ptr<transport::Letters> letters)
    : letters_(std::move(letters)), machine_(machine), wakes_s_(kNever) {
    letters_->read_by(this);
}

Driver::~Driver() { close("the driver has ended"); }

void Driver::tell(Event event) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        events_.push_back(std::move(event));
    }
    // Where no supervisor attends any more, what is told is answered here.
    if (!letters_->wake()) step({});
}

Driver::Wanted Driver::next(double seconds) {
    std::unique_lock<std::mutex> lock(mutex_);
    wanted_.wait_for(lock, std::chrono::duration<double>(std::min(seconds, kLongestSleep_s)),
                     [this] { return !out_.actions.empty() || out_.has_ended || out_.is_cut_off; });
    Wanted wanted = std::move(out_);
    out_ = {};
    out_.has_ended = wanted.has_ended;
    return wanted;
}

void Driver::close(const std::string& text) {
    letters_->read_by(nullptr);
    {
        const std::lock_guard<std::mutex> stepping(stepping_);
        if (std::exchange(is_closed_, true)) return;
    }
    step({Lost{text}});
    const std::lock_guard<std::mutex> lock(mutex_);
    out_.has_ended = true;
    wanted_.notify_all();
}

double Driver::busy_s() {
    const std::lock_guard<std::mutex> stepping(stepping_);
    return busy_s_;
}

Driver::Clock::time_point Driver::read(std::vector<Letter> come, bool is_over) {
    std::vector<Event> events;
    for (Letter& letter : come) {
        if (letter.has_left) {
            events.push_back(
                Left{letter.rank, "rank " + std::to_string(letter.rank) + " closed its engine"});
        } else {
            events.push_back(Heard{letter.rank, std::move(letter.bytes)});
        }
    }
    step(std::move(events));
    if (is_over) {
        const std::lock_guard<std::mutex> lock(mutex_);
        out_.is_cut_off = true;
        wanted_.notify_all();
    }
    const std::lock_guard<std::mutex> stepping(stepping_);
    const double left_s = std::clamp(wakes_s_ - now_s(), 0.0, kLongestSleep_s);
    return Clock::now() + std::chrono::ceil<Clock::duration>(std::chrono::duration<double>(left_s));
}

/// These, and what was told meanwhile.
void Driver::step(std::vector<Event> events) {
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
        events.push_back(Ticked{});
    }
    act(machine_.step(events, now));
    busy_s_ += thread_s() - began_s;
}

void Driver::act(std::vector<Action> actions) {
    std::vector<Action> others;
    for (Action& action : actions) {
        if (auto* send = std::get_if<Send>(&action)) {
            letters_->post(static_cast<int>(send->rank), std::move(send->message));
        } else if (const auto* sleep = std::get_if<SleepUntil>(&action)) {
            wakes_s_ = sleep->at_s;
        } else {
            others.push_back(std::move(action));
        }
    }
    if (others.empty()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    std::move(others.begin(), others.end(), std::back_inserter(out_.actions));
    wanted_.notify_all();
}

}  // namespace plink::control
