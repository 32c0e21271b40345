#include "request.hpp"

#include <algorithm>
#include <charconv>

namespace plink::control {

namespace {

constexpr std::size_t kMostShownTensors = 3;

}  // namespace

std::uint64_t Tensor::size_bytes() const {
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
    std::uint64_t bytes = kDTypes[dtype].second;
    for (const std::int64_t size : shape) {
        if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) {
            return UINT64_MAX;
        }
    }
    return bytes;
}

std::string Tensor::described() const {
    std::string text(kDTypes[dtype].first);
    text += "[";
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (i > 0) text += ", ";
        text += std::to_string(shape[i]);
    }
    return text + "]";
}

std::uint64_t Request::size_bytes() const {
    std::uint64_t bytes = 0;
    for (const Tensor& tensor : tensors) bytes = added(bytes, tensor.size_bytes());
    return bytes;
}

std::string Request::described() const {
    std::string text = op.empty() ? kind : op + " " + kind;
    text += members.empty() ? " of " : " of a group of " + std::to_string(tensors.size()) + ": ";
    for (std::size_t i = 0; i < std::min(tensors.size(), kMostShownTensors); ++i) {
        if (i > 0) text += ", ";
        text += tensors[i].described();
    }
    if (tensors.size() > kMostShownTensors) text += " ...";
    if (device != "cpu") text += " on " + device;
    if (prescale != 1.0 || postscale != 1.0) {
        text += " scaled by " + general(prescale) + " and " + general(postscale);
    }
    if (root >= 0) text += " with root " + std::to_string(root);
    return text;
}

bool Request::operator==(const Request& other) const {
    return name == other.name && tensors == other.tensors && members == other.members &&
           kind == other.kind && op == other.op && device == other.device &&
           prescale == other.prescale && postscale == other.postscale && root == other.root;
}

std::string general(double value) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof(text), value, std::chars_format::general, 6);
    return std::string(text, end.ptr);
}

}  // namespace plink::control
