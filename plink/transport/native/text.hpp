#pragma once

#include <algorithm>
#include <string>

namespace plink::transport {

/// What a peer says, with a question mark for what is no printable ASCII: it is shown to people,
/// and Python takes no other bytes for text.
inline std::string printable(std::string text) {
    std::replace_if(text.begin(), text.end(), [](char c) { return c < 32 || c > 126; }, '?');
    return text;
}

}  // namespace plink::transport
