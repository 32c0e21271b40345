// plink's echo agent: measures the round-trip times between this host and others of one run.
//
// The coordinator speaks on standard input, results go to standard output, and the agent ends when
// its standard input does. Both are lines of text, described in probes/echo/protocol.py.

#include <cstdio>
#include <cstring>

#include "agent.hpp"
#include "kernel_transport.hpp"

int main(int argc, char** argv) {
    if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
        std::puts("plink-echo-agent 1");
        return 0;
    }
    if (argc != 1) {
        std::fputs("plink-echo-agent takes no arguments; plink probe starts it\n", stderr);
        return 2;
    }
    plink::KernelTransport transport;
    return plink::Agent(&transport).run();
}
