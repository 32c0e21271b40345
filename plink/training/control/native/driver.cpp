#include "driver.hpp"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <iterator>

namespace plink::control {

namespace {

// Nothing has to be looked at so seldom.
constexpr double kLongestSleep_s = 3600.0;

double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

}  // namespace

Driver::Driver(Tree& machine, std::shared_ptr<transport::Letters> letters)
    : machine_(machine), letters_(std::move(letters)), thread_([this] { run(); }) {}

Driver::~Driver() { close("the driver has ended"); }

void Driver::tell(Event event) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        events_.push_back(std::move(event));
    }
    told_.notify_one();
    letters_->wake();
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
    const std::lock_guard<std::mutex> closing(closing_);
    if (!thread_.joinable()) return;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        events_.push_back(Lost{text});
        is_closed_ = true;
    }
    told_.notify_one();
    letters_->wake();
    thread_.join();
}

double Driver::busy_s() {
    const std::lock_guard<std::mutex> closing(closing_);
    clockid_t clock;
    timespec busy{};
    if (!thread_.joinable() || pthread_getcpuclockid(thread_.native_handle(), &clock) != 0)
        return 0;
    clock_gettime(clock, &busy);
    return static_cast<double>(busy.tv_sec) + 1e-9 * static_cast<double>(busy.tv_nsec);
}

void Driver::run() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    pthread_setname_np(pthread_self(), "plink-control");
    for (bool is_closed = false; !is_closed;) {
        std::vector<Event> events = await();
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            std::move(events_.begin(), events_.end(), std::back_inserter(events));
            events_.clear();
            is_closed = is_closed_;
        }
        const double now = now_s();
        if (now >= wakes_s_) {
            wakes_s_ = std::numeric_limits<double>::infinity();
            events.push_back(Ticked{});
        }
        act(machine_.step(events, now));
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    out_.has_ended = true;
    wanted_.notify_all();
}

std::vector<Event> Driver::await() {
    if (is_cut_off_) {
        std::unique_lock<std::mutex> lock(mutex_);
        told_.wait(lock, [this] { return !events_.empty(); });
        return {};
    }
    const double left_s = std::clamp(wakes_s_ - now_s(), 0.0, kLongestSleep_s);
    auto come = letters_->next(left_s);
    if (!come) {
        is_cut_off_ = true;
        const std::lock_guard<std::mutex> lock(mutex_);
        out_.is_cut_off = true;
        wanted_.notify_all();
        return {};
    }
    std::vector<Event> events;
    for (transport::Letters::Letter& letter : *come) {
        if (letter.has_left) {
            events.push_back(
                Left{letter.rank, "rank " + std::to_string(letter.rank) + " closed its engine"});
        } else {
            events.push_back(Heard{letter.rank, std::move(letter.bytes)});
        }
    }
    return events;
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
