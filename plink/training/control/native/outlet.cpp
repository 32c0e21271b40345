#include "outlet.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "clocks.hpp"

namespace plink::control {

void Outlet::add(std::vector<Action> actions) {
    if (actions.empty()) return;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        std::move(actions.begin(), actions.end(), std::back_inserter(out_.actions));
    }
    // Who wakes would else wait for the lock.
    changed_.notify_all();
}

void Outlet::cut_off() {
    const std::lock_guard<std::mutex> lock(mutex_);
    out_.is_cut_off = true;
    changed_.notify_all();
}

void Outlet::end() {
    const std::lock_guard<std::mutex> lock(mutex_);
    out_.has_ended = true;
    changed_.notify_all();
}

Outlet::Wanted Outlet::next(double seconds) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(
        lock, std::chrono::duration<double>(std::min(seconds, kLongestSleep_s)),
        [this] { return !out_.actions.empty() || out_.has_ended || out_.is_cut_off; });
    Wanted wanted = std::exchange(out_, {});
    out_.has_ended = wanted.has_ended;
    return wanted;
}

}  // namespace plink::control
