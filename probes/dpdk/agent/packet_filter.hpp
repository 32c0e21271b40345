// Socket filters: what the kernel passes on to us.
#pragma once

#include <cstdint>

namespace plink {

// A socket that gets nothing any more.
bool drop_everything(int socket);

// A packet socket that sees whole Ethernet frames gets only those with UDP datagrams for this port.
bool pass_udp_port(int packet_socket, uint16_t port);

}  // namespace plink
