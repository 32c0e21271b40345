#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <string>
#include <vector>

namespace plink::transport {

/// Which of the callers that have not said who they are go, so that `most` of them stay: the oldest
/// ones of the address that has most of them there, since who says who it is does so at once.
///
/// `sources`: their addresses, the oldest caller's first.
std::vector<bool> who_goes(const std::vector<std::string>& sources, std::size_t most);

/// Where a caller is: its address, of IPv6 the network's half, since whoever has
/// one such address has them all. Empty for a Unix socket.
std::string source_of(const sockaddr_storage& address);

}  // namespace plink::transport
