#include "governor.hpp"

#include <linux/inet_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace plink::engine {

namespace {

// What is lost is known a round trip and a queue later.
constexpr std::uint64_t kSpan_us = 200'000;
constexpr std::uint64_t kSpanTrips = 3;
// More than paths lose by chance, and with a queue that is as long as that.
constexpr double kOverflow = 0.02;
constexpr double kLongQueue = 1.25;
constexpr double kMostLess = 0.8;
constexpr double kMore = 1.07;
// bbr goes on one part in a hundred below.
constexpr double kBinding = 0.95;
// Before more is tried: some seconds of sending.
constexpr int kHeldSpans = 16;
constexpr double kLeastBound = 64 << 10;
constexpr std::chrono::milliseconds kBetweenLooks{20};

/// What the kernel says of a socket; none where it has no bbr.
std::optional<Delivery> delivery(int fd) {
    tcp_info info{};
    socklen_t size = sizeof(info);
    if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
    tcp_cc_info control{};
    size = sizeof(control);
    if (::getsockopt(fd, IPPROTO_TCP, TCP_CC_INFO, &control, &size) != 0) return std::nullopt;
    // Others say nothing, or something shorter.
    if (size != sizeof(control.bbr)) return std::nullopt;
    const std::uint64_t rate = std::uint64_t{control.bbr.bbr_bw_hi} << 32 | control.bbr.bbr_bw_lo;
    return Delivery{info.tcpi_busy_time, info.tcpi_data_segs_out, info.tcpi_total_retrans,
                    info.tcpi_rtt,       info.tcpi_min_rtt,       rate};
}

}  // namespace

std::optional<std::uint64_t> Governor::follow(const Delivery& now) {
    const std::optional<Delivery> before = std::exchange(last_, now);
    if (!before) return std::nullopt;
    span_us_ += now.busy_us - before->busy_us;
    segments_ += static_cast<std::uint32_t>(now.segments - before->segments);
    again_ += static_cast<std::uint32_t>(now.again - before->again);
    has_queue_ = has_queue_ || now.trip_us > kLongQueue * now.least_trip_us;
    if (segments_ == 0 || span_us_ < std::max(kSpan_us, kSpanTrips * now.least_trip_us)) {
        return std::nullopt;
    }
    const double lost = static_cast<double>(again_) / static_cast<double>(segments_);
    const std::optional<double> bound = decided(lost, static_cast<double>(now.rate));
    span_us_ = segments_ = again_ = 0;
    has_queue_ = false;
    if (!bound) return std::nullopt;
    bound_ = std::max(kLeastBound, *bound);
    return static_cast<std::uint64_t>(bound_);
}

std::optional<double> Governor::decided(double lost, double rate) {
    if (std::exchange(is_settling_, false)) return std::nullopt;
    const bool is_bounded = bound_ > 0.0 && rate > kBinding * bound_;
    if (has_queue_ && lost > kOverflow) {
        is_settling_ = true;
        const double harmless = std::exchange(harmless_, 0.0);
        if (is_bounded && harmless > 0.0) {
            held_ = kHeldSpans;
            return harmless;
        }
        const double sent = bound_ > 0.0 ? std::min(bound_, rate) : rate;
        return sent * std::max(kMostLess, 1.0 - lost);
    }
    // What bbr itself keeps below shows nothing.
    if (!is_bounded) return std::nullopt;
    harmless_ = bound_;
    if (held_ > 0) {
        --held_;
        return std::nullopt;
    }
    return kMore * bound_;
}

void Governor::look_at(int fd) {
    const auto now = std::chrono::steady_clock::now();
    if (now - looked_at_ < kBetweenLooks) return;
    looked_at_ = now;
    const std::optional<Delivery> latest = delivery(fd);
    if (!latest) return;
    const std::optional<std::uint64_t> bound = follow(*latest);
    if (bound) ::setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &*bound, sizeof(*bound));
}

}  // namespace plink::engine
