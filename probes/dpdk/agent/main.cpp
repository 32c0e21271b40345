// plink's DPDK agent: the echo agent, with its packets sent and received by DPDK instead of the
// kernel. Without arguments it uses the interface that has the address it is told to bind.

#include <arpa/inet.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../../echo/agent/agent.hpp"
#include "dpdk_transport.hpp"
#include "kernel_interface.hpp"
#include "owned_nic.hpp"

namespace {

int run(plink::Attachment* attachment, const std::string& device) {
    plink::DpdkTransport transport(attachment, device);
    return plink::Agent(&transport).run();
}

bool parse_prefix_length(const char* text, uint32_t* length) {
    char* end = nullptr;
    unsigned long value = std::strtoul(text, &end, 10);
    *length = static_cast<uint32_t>(value);
    return end != text && *end == '\0' && value <= 32;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
        std::puts("plink-dpdk-agent 1");
        return 0;
    }
    if (argc == 1) {
        plink::KernelInterface interface;
        return run(&interface, "its interface");
    }
    plink::OwnedDevice device;
    device.has_gateway = argc == 4;
    if (argc < 3 || argc > 4 || !parse_prefix_length(argv[2], &device.prefix_length) ||
        (device.has_gateway && inet_pton(AF_INET, argv[3], &device.gateway) != 1)) {
        std::fputs(
            "usage: plink-dpdk-agent [DEVICE PREFIX-LENGTH [GATEWAY]]; plink probe starts it\n",
            stderr);
        return 2;
    }
    device.device = argv[1];
    plink::OwnedNic nic(device);
    return run(&nic, device.device);
}
