#include "packet_filter.hpp"

#include <linux/filter.h>
#include <sys/socket.h>

#include <cstddef>

namespace plink {
namespace {

bool attach(int socket, sock_filter* code, size_t size) {
    sock_fprog program{static_cast<unsigned short>(size), code};
    return setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

}  // namespace

bool drop_everything(int socket) {
    sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
    return attach(socket, code, 1);
}

bool pass_udp_port(int packet_socket, uint16_t port) {
    constexpr uint32_t kAll = 1 << 16;
    // Jumps are relative: (if true, if false).
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),  // Ethernet type
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x0800, 0, 7),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 23),  // IPv4: protocol
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 17, 0, 11),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 20),  // IPv4: fragment offset
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x1fff, 9, 0),
        BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 14),  // IPv4: header length
        BPF_STMT(BPF_LD | BPF_H | BPF_IND, 16),   // UDP: destination port
        BPF_JUMP(BPF_JMP | BPF_JA, 4, 0, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x86dd, 0, 5),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 20),  // IPv6: next header
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 17, 0, 3),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 56),  // UDP: destination port
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, kAll),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    return attach(packet_socket, code, sizeof code / sizeof *code);
}

}  // namespace plink
