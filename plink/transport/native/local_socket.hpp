#pragma once

#include <sys/types.h>

#include <cstddef>

#include "socket.hpp"

namespace plink::transport {

/// Unix sockets by which ranks of one host find each other. Their names are abstract: they are
/// known within one network namespace of one kernel only, and vanish with their owner.

/// Calls the rank that listens on `endpoint` by TCP under its name among Unix sockets, without
/// blocking. None where it is not of this host, or another user's.
Descriptor call_on_this_host(const Endpoint& endpoint);

/// Whether the process at the other end is this user's.
bool is_of_this_user(int fd);

/// As send(2) and recv(2), with a descriptor that goes along.
ssize_t send_with(int fd, const void* bytes, std::size_t size, const Descriptor& along);
ssize_t receive_with(int fd, void* bytes, std::size_t size, Descriptor& along);

}  // namespace plink::transport
