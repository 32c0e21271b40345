#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace plink::transport {

constexpr std::uint16_t kVersion = 3;
constexpr std::size_t kHelloBytes = 48;
constexpr std::size_t kAnswerBytes = 12;
constexpr std::size_t kMostReasonBytes = 200;

/// What a rank says first on each connection that it opens.
struct Hello {
    std::uint16_t version = kVersion;
    std::uint16_t channel = 0;  ///< a worker's index, or their number for the control connection
    std::uint32_t rank = 0;
    std::uint32_t ranks = 0;
    std::uint16_t workers = 0;
    std::array<std::uint8_t, 16> job{};
    std::uint64_t plan = 0;  ///< digest of forest and options on which ranks must agree
};

std::string encode(const Hello& hello);
/// Whether a hello may begin so.
bool is_begun_hello(char first);
/// From `kHelloBytes` bytes; nothing where they say something else.
std::optional<Hello> parse_hello(const std::uint8_t* bytes);

/// Why the sender of `theirs` is refused by the sender of `ours`; empty where it is not.
std::string refusal(const Hello& theirs, const Hello& ours);

/// What the other side says to a hello: `kAnswerBytes`, then the reason.
struct Answer {
    bool is_welcome;
    std::uint16_t reason_bytes;
};

std::string encode_answer(const std::string& refusal);
/// From `kAnswerBytes` bytes; nothing where they say something else.
std::optional<Answer> parse_answer(const std::uint8_t* bytes);

}  // namespace plink::transport
