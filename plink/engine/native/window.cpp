#include "window.hpp"

#include <algorithm>
#include <cmath>

namespace plink::engine {

namespace {

// What is completed in this time may be under way: longer than a chunk's way through near hosts
// and the queues before slow links, which hold about as much.
constexpr double kHorizon_s = 0.05;
// So much may be in any case, and a chunk of every route: quicker pipes are filled at the start.
constexpr double kLeastBytes = 1 << 20;
// More may begin each time that so large a part of the window has moved on.
constexpr std::uint32_t kSteps = 8;

}  // namespace

Window::Window(Pace& pace, std::uint32_t chunks, std::uint32_t low, double chunk_bytes,
               std::uint32_t routes)
    : chunk_bytes_(chunk_bytes), chunks_(chunks) {
    if (chunks == 0 || !pace.is_followed) return;
    pace_ = &pace;
    least_ = std::max<std::uint32_t>(
        {1, routes, static_cast<std::uint32_t>(std::ceil(kLeastBytes / chunk_bytes))});
    fit();
    end_ = low + size_;
}

bool Window::advance(std::uint32_t low, Clock::time_point now) {
    if (pace_ == nullptr) return false;
    measure(low, now);
    const std::uint64_t end = std::uint64_t{low} + size_;
    if (end_ >= chunks_ || end < end_ + std::max<std::uint64_t>(1, size_ / kSteps)) return false;
    end_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(end, chunks_));
    return true;
}

/// Each time that as much as the window holds is complete, that shows the pace. The first chunk
/// has to wait for the last rank to call the collective, and shows nothing.
void Window::measure(std::uint32_t low, Clock::time_point now) {
    if (is_measuring_ && low < measured_to_) return;
    if (is_measuring_) {
        const double seconds =
            std::max(1e-6, std::chrono::duration<double>(now - measured_since_).count());
        pace_->bytes_per_s = (low - measured_from_) * chunk_bytes_ / seconds;
        fit();
    }
    is_measuring_ = true;
    measured_from_ = low;
    measured_to_ = low + size_;
    measured_since_ = now;
}

void Window::fit() {
    const double ahead = pace_->bytes_per_s * kHorizon_s / chunk_bytes_;
    size_ = std::max(least_, static_cast<std::uint32_t>(std::min<double>(ahead, chunks_)));
}

}  // namespace plink::engine
