#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "ranks.hpp"
#include "request.hpp"

namespace plink::control {

/// These bytes are no message that a rank sends.
class WireError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

constexpr std::uint64_t kMostNumber = INT64_MAX;
constexpr std::uint64_t kMostTextBytes = 65'536;

/// Puts one message together: numbers of seven bits a byte, texts with their length.
class Writer {
  public:
    void number(std::uint64_t value);
    void text(std::string_view value);
    void real(double value);
    /// As spans, each by the gap before it and its length.
    void ranks(const Ranks& value);
    void request(const Request& value);
    std::string done() { return std::move(bytes_); }

  private:
    std::string bytes_;
};

/// Takes one message apart; `WireError` for whatever no `Writer` has written.
class Reader {
  public:
    explicit Reader(std::string_view message);
    bool is_at_end() const { return rest_.empty(); }
    /// All that is not read yet.
    std::string_view rest() { return std::exchange(rest_, {}); }
    std::uint64_t number(std::uint64_t most = kMostNumber);
    /// UTF-8.
    std::string text(std::uint64_t most_bytes = kMostTextBytes);
    /// Neither infinite nor no number.
    double real();
    /// Below `ranks`.
    Ranks ranks(std::int64_t ranks);
    RequestRef request();

  private:
    std::string_view take(std::uint64_t size);
    Tensor tensor();

    std::string_view rest_;
};

}  // namespace plink::control
