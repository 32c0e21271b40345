#pragma once

#include <string_view>

namespace plink::control {

/// Whether bytes are UTF-8 (RFC 3629): no longer forms than need be, no surrogates.
bool is_utf8(std::string_view text);

}  // namespace plink::control
