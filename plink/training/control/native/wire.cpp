#include "wire.hpp"

#include <cmath>
#include <cstring>

#include "utf8.hpp"

namespace plink::control {

namespace {

constexpr std::size_t kMostMessageBytes = std::size_t{64} << 20;
constexpr std::uint64_t kMostSpans = 65'536;
constexpr std::uint64_t kMostRoot = std::uint64_t{1} << 31;

}  // namespace

void Writer::number(std::uint64_t value) {
    while (value >= 0x80) {
        bytes_.push_back(static_cast<char>((value & 0x7F) | 0x80));
        value >>= 7;
    }
    bytes_.push_back(static_cast<char>(value));
}

void Writer::text(std::string_view value) {
    number(value.size());
    bytes_ += value;
}

void Writer::real(double value) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    for (int byte = 0; byte < 8; ++byte) bytes_.push_back(static_cast<char>(bits >> (8 * byte)));
}

void Writer::ranks(const Ranks& value) {
    number(value.spans().size());
    std::int64_t end = 0;
    for (const auto& [first, last] : value.spans()) {
        number(static_cast<std::uint64_t>(first - end));
        number(static_cast<std::uint64_t>(last - first));
        end = last + 1;
    }
}

void Writer::request(const Request& value) {
    text(value.name);
    number(value.tensors.size());
    for (const Tensor& tensor : value.tensors) {
        number(tensor.dtype);
        number(tensor.shape.size());
        for (const std::int64_t size : tensor.shape) number(static_cast<std::uint64_t>(size));
    }
    number(value.members.size());
    for (const std::string& name : value.members) text(name);
    text(value.kind);
    text(value.op);
    text(value.device);
    real(value.prescale);
    real(value.postscale);
    number(static_cast<std::uint64_t>(value.root + 1));
}

Reader::Reader(std::string_view message) : rest_(message) {
    if (message.size() > kMostMessageBytes) throw WireError("a message is too long");
}

std::uint64_t Reader::number(std::uint64_t most) {
    std::uint64_t value = 0;
    unsigned shift = 0;
    std::uint8_t byte = 0;
    for (;;) {
        byte = static_cast<std::uint8_t>(take(1)[0]);
        value |= std::uint64_t{byte & 0x7Fu} << shift;
        if (byte < 0x80) break;
        shift += 7;
        if (shift > 56) throw WireError("a number is too long");
    }
    if (value > most) {
        throw WireError("a number is " + std::to_string(value) + ", at most " +
                        std::to_string(most) + " can be");
    }
    if (byte == 0 && shift > 0) throw WireError("a number is longer than it has to be");
    return value;
}

std::string Reader::text(std::uint64_t most_bytes) {
    const std::string_view taken = take(number(most_bytes));
    if (!is_utf8(taken)) throw WireError("a text is not UTF-8");
    return std::string(taken);
}

double Reader::real() {
    const std::string_view taken = take(8);
    std::uint64_t bits = 0;
    for (int byte = 0; byte < 8; ++byte) {
        bits |= std::uint64_t{static_cast<std::uint8_t>(taken[byte])} << (8 * byte);
    }
    double value;
    std::memcpy(&value, &bits, sizeof(value));
    if (!std::isfinite(value)) throw WireError("a factor is no finite number");
    return value;
}

Ranks Reader::ranks(std::int64_t ranks) {
    Ranks::Spans spans;
    const auto most = static_cast<std::uint64_t>(ranks);
    std::int64_t end = 0;
    for (std::uint64_t left = number(kMostSpans); left > 0; --left) {
        const auto gap = static_cast<std::int64_t>(number(most));
        if (!spans.empty() && gap == 0) throw WireError("two spans of ranks are one");
        const std::int64_t first = end + gap;
        const std::int64_t last = first + static_cast<std::int64_t>(number(most));
        if (last >= ranks) {
            throw WireError("there is no rank " + std::to_string(last) + " among " +
                            std::to_string(ranks));
        }
        spans.emplace_back(first, last);
        end = last + 1;
    }
    return Ranks(std::move(spans));
}

RequestRef Reader::request() {
    auto request = std::make_shared<Request>();
    request->name = text(kMostNameBytes);
    for (std::uint64_t left = number(kMostTensors); left > 0; --left) {
        request->tensors.push_back(tensor());
    }
    for (std::uint64_t left = number(kMostTensors); left > 0; --left) {
        request->members.push_back(text(kMostNameBytes));
    }
    const std::size_t members = request->members.size();
    if (request->tensors.empty() || (members > 0 && members != request->tensors.size())) {
        throw WireError("a request's tensors and names differ in number");
    }
    request->kind = text();
    request->op = text();
    request->device = text();
    request->prescale = real();
    request->postscale = real();
    request->root = static_cast<std::int64_t>(number(kMostRoot)) - 1;
    return request;
}

Tensor Reader::tensor() {
    Tensor tensor{static_cast<std::size_t>(number(kDTypes.size() - 1)), {}};
    for (std::uint64_t left = number(kMostDimensions); left > 0; --left) {
        tensor.shape.push_back(static_cast<std::int64_t>(number()));
    }
    if (tensor.size_bytes() > kMostTensorBytes) {
        throw WireError("a tensor has more bytes than can be");
    }
    return tensor;
}

std::string_view Reader::take(std::uint64_t size) {
    if (size > rest_.size()) throw WireError("a message ends too soon");
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
}

}  // namespace plink::control
