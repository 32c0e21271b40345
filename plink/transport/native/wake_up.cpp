#include "wake_up.hpp"

#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

namespace plink::transport {

WakeUp::WakeUp() : timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
    if (!timer_.is_open()) throw std::runtime_error("no timer: " + text_of(errno));
}

void WakeUp::call_in(std::chrono::nanoseconds delay) const {
    itimerspec when{};
    when.it_value.tv_sec = static_cast<time_t>(delay.count() / 1'000'000'000);
    when.it_value.tv_nsec = static_cast<long>(delay.count() % 1'000'000'000);
    ::timerfd_settime(timer_.get(), 0, &when, nullptr);
}

void WakeUp::sleep() const {
    pollfd polled[] = {{alarm_.fd(), POLLIN, 0}, {timer_.get(), POLLIN, 0}};
    ::poll(polled, 2, -1);
    if (polled[0].revents != 0) alarm_.silence();
    std::uint64_t count;
    if (polled[1].revents != 0) {
        [[maybe_unused]] const auto read = ::read(timer_.get(), &count, sizeof(count));
    }
}

}  // namespace plink::transport
