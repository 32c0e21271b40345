#include "handshake.hpp"

#include <algorithm>
#include <cstring>

#include "bytes.hpp"

namespace plink::transport {

namespace {

constexpr char kMagic[] = "plinkeng";
constexpr std::size_t kMagicBytes = 8;

bool has_magic(const std::uint8_t* bytes) { return std::memcmp(bytes, kMagic, kMagicBytes) == 0; }

std::string differing(const std::string& what, std::uint64_t theirs, std::uint64_t ours) {
    return what + " " + std::to_string(theirs) + ", here " + std::to_string(ours);
}

}  // namespace

std::string encode(const Hello& hello) {
    std::uint8_t bytes[kHelloBytes] = {};
    std::memcpy(bytes, kMagic, kMagicBytes);
    put<std::uint16_t>(bytes + 8, hello.version);
    put<std::uint16_t>(bytes + 10, hello.channel);
    std::copy(hello.job.begin(), hello.job.end(), bytes + 12);
    put<std::uint32_t>(bytes + 28, hello.rank);
    put<std::uint32_t>(bytes + 32, hello.ranks);
    put<std::uint16_t>(bytes + 36, hello.workers);
    put<std::uint64_t>(bytes + 40, hello.plan);
    return std::string(reinterpret_cast<const char*>(bytes), kHelloBytes);
}

bool is_begun_hello(char first) { return first == kMagic[0]; }

std::optional<Hello> parse_hello(const std::uint8_t* bytes) {
    if (!has_magic(bytes)) return std::nullopt;
    Hello hello;
    hello.version = get<std::uint16_t>(bytes + 8);
    hello.channel = get<std::uint16_t>(bytes + 10);
    std::copy(bytes + 12, bytes + 28, hello.job.begin());
    hello.rank = get<std::uint32_t>(bytes + 28);
    hello.ranks = get<std::uint32_t>(bytes + 32);
    hello.workers = get<std::uint16_t>(bytes + 36);
    hello.plan = get<std::uint64_t>(bytes + 40);
    return hello;
}

std::string refusal(const Hello& theirs, const Hello& ours) {
    if (theirs.version != ours.version) {
        return differing("it speaks version", theirs.version, ours.version);
    }
    if (theirs.job != ours.job) return "it belongs to another job";
    if (theirs.ranks != ours.ranks) {
        return differing("its number of ranks is", theirs.ranks, ours.ranks);
    }
    if (theirs.workers != ours.workers) {
        return differing("its number of workers is", theirs.workers, ours.workers);
    }
    if (theirs.plan != ours.plan) return "it has another plan or other options";
    if (theirs.rank >= ours.ranks || theirs.rank <= ours.rank) {
        return "rank " + std::to_string(theirs.rank) + " does not connect to rank " +
               std::to_string(ours.rank);
    }
    if (theirs.channel > ours.workers) return "it asks for a channel that does not exist";
    return "";
}

std::string encode_answer(const std::string& refusal) {
    const std::string reason = refusal.substr(0, kMostReasonBytes);
    std::uint8_t bytes[kAnswerBytes] = {};
    std::memcpy(bytes, kMagic, kMagicBytes);
    put<std::uint16_t>(bytes + 8, reason.empty() ? 0 : 1);
    put<std::uint16_t>(bytes + 10, static_cast<std::uint16_t>(reason.size()));
    return std::string(reinterpret_cast<const char*>(bytes), kAnswerBytes) + reason;
}

std::optional<Answer> parse_answer(const std::uint8_t* bytes) {
    const auto code = get<std::uint16_t>(bytes + 8);
    const auto length = get<std::uint16_t>(bytes + 10);
    if (!has_magic(bytes) || code > 1 || length > kMostReasonBytes) return std::nullopt;
    return Answer{code == 0, length};
}

}  // namespace plink::transport
