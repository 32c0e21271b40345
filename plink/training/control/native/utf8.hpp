#pragma once

#include <string>
#include <string_view>

namespace plink::control {

/// Whether bytes are UTF-8 (RFC 3629): no longer forms than need be, no surrogates.
bool is_utf8(std::string_view text);

/// Bytes as UTF-8: what is none is replaced by U+FFFD, once for each beginning of a character that
/// does not go on (Unicode, section 3.9), as Python does.
std::string as_utf8(std::string_view text);

}  // namespace plink::control
