#include "control.hpp"

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "bytes.hpp"
#include "text.hpp"

namespace plink::transport {

namespace {

constexpr std::size_t kHeaderBytes = 12;
constexpr std::size_t kMostSentenceBytes = 400;
constexpr std::size_t kMostWordsBytes = 60000;

}  // namespace

std::string mismatch_text(std::uint64_t collective) {
    return "its collective " + std::to_string(collective) +
           " has another length, type, operation or plan than here";
}

const Report& decisive(const std::vector<Report>& reports) {
    return *std::min_element(reports.begin(), reports.end(), [](const Report& a, const Report& b) {
        return std::tie(a.cause, a.culprit, a.reporter) < std::tie(b.cause, b.culprit, b.reporter);
    });
}

std::size_t most_text_bytes(Message::Kind kind) {
    const bool is_long = kind == Message::Kind::kTell || kind == Message::Kind::kLetter;
    return is_long ? kMostWordsBytes : kMostSentenceBytes;
}

std::string encode(const Message& message) {
    const std::string text = message.text.substr(0, most_text_bytes(message.kind));
    std::uint8_t header[kHeaderBytes];
    header[0] = static_cast<std::uint8_t>(message.kind);
    header[1] = static_cast<std::uint8_t>(message.cause);
    put<std::uint16_t>(header + 2, static_cast<std::uint16_t>(text.size()));
    put<std::uint64_t>(header + 4, message.value);
    return std::string(reinterpret_cast<const char*>(header), kHeaderBytes) + text;
}

std::vector<Message> MessageReader::feed(const char* bytes, std::size_t size) {
    rest_.append(bytes, size);
    std::vector<Message> messages;
    std::size_t used = 0;
    while (rest_.size() - used >= kHeaderBytes) {
        const auto* header = reinterpret_cast<const std::uint8_t*>(rest_.data()) + used;
        const auto length = get<std::uint16_t>(header + 2);
        if (header[0] < 1 || header[0] > 5 || header[1] > static_cast<int>(Cause::kStalled) ||
            length > most_text_bytes(static_cast<Message::Kind>(header[0]))) {
            throw std::runtime_error("it sent an unknown control message");
        }
        if (rest_.size() - used < kHeaderBytes + length) break;
        const auto kind = static_cast<Message::Kind>(header[0]);
        std::string text = rest_.substr(used + kHeaderBytes, length);
        if (kind != Message::Kind::kLetter) text = printable(text);
        messages.push_back(
            {kind, get<std::uint64_t>(header + 4), static_cast<Cause>(header[1]), std::move(text)});
        used += kHeaderBytes + length;
    }
    rest_.erase(0, used);
    return messages;
}

}  // namespace plink::transport
