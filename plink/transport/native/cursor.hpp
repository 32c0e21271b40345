#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace plink::transport {

/// Walks over pieces, at most so many bytes at a time.
class Cursor {
  public:
    Cursor(const iovec* pieces, std::size_t count, std::size_t most_bytes,
           std::vector<std::uint8_t>& gathered)
        : pieces_(pieces), end_(pieces + count), most_bytes_(most_bytes), gathered_(gathered) {}

    void skip(std::size_t bytes) {
        while (pieces_ != end_ && bytes > 0) {
            const std::size_t step = std::min(bytes, pieces_->iov_len - offset_);
            bytes -= step;
            move(step);
        }
    }

    /// The next bytes, where they lie or else gathered; none at the end.
    iovec next() {
        while (pieces_ != end_ && pieces_->iov_len == offset_) move(0);
        if (pieces_ == end_) return {nullptr, 0};
        const std::size_t here = pieces_->iov_len - offset_;
        if (here >= most_bytes_ || pieces_ + 1 == end_) {
            return {at(), std::min(here, most_bytes_)};
        }
        gathered_.clear();
        const iovec* piece = pieces_;
        for (std::size_t offset = offset_; piece != end_ && gathered_.size() < most_bytes_;
             ++piece, offset = 0) {
            const auto* const begin = static_cast<const std::uint8_t*>(piece->iov_base) + offset;
            const std::size_t size =
                std::min(piece->iov_len - offset, most_bytes_ - gathered_.size());
            gathered_.insert(gathered_.end(), begin, begin + size);
        }
        return {gathered_.data(), gathered_.size()};
    }

  private:
    void* at() const { return static_cast<std::uint8_t*>(pieces_->iov_base) + offset_; }
    void move(std::size_t bytes) {
        offset_ += bytes;
        if (offset_ < pieces_->iov_len) return;
        ++pieces_;
        offset_ = 0;
    }

    const iovec* pieces_;
    const iovec* end_;
    std::size_t most_bytes_;
    std::size_t offset_ = 0;
    std::vector<std::uint8_t>& gathered_;
};

}  // namespace plink::transport
