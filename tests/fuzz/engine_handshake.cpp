// Fuzzes what an engine hears while ranks connect: a caller's first words, and a called rank's
// answer. Invariants: who is not refused is a higher rank of this job with a channel that exists,
// a mesh keeps no connection that was not greeted rightly, and an error names whose fault it is.

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "check.hpp"
#include "hello.hpp"
#include "mesh.hpp"

using namespace plink::transport;

namespace {

constexpr int kSteps = 4;
constexpr std::uint16_t kWorkers = 1;

Hello ours(std::uint32_t rank, std::uint32_t ranks) {
    return plink::fuzz::hello_of(rank, ranks, kWorkers);
}

void check_parsers(const std::uint8_t* words) {
    const auto heard = parse_hello(words);
    if (heard) {
        std::string expected(reinterpret_cast<const char*>(words), kHelloBytes);
        expected[38] = expected[39] = 0;  // unused
        FUZZ_CHECK(encode(*heard) == expected);
        const Hello us = ours(1, 4);
        const std::string reason = refusal(*heard, us);
        if (reason.empty()) {
            FUZZ_CHECK(heard->job == us.job && heard->version == us.version);
            FUZZ_CHECK(heard->rank > us.rank && heard->rank < us.ranks);
            FUZZ_CHECK(heard->channel <= us.workers && heard->plan == us.plan);
        }
        const std::string answer = encode_answer(reason);
        const auto parsed = parse_answer(reinterpret_cast<const std::uint8_t*>(answer.data()));
        FUZZ_CHECK(parsed && parsed->is_welcome == reason.empty());
        FUZZ_CHECK(answer.size() == kAnswerBytes + parsed->reason_bytes);
    }
    const auto answer = parse_answer(words);
    FUZZ_CHECK(!answer || answer->reason_bytes <= kMostReasonBytes);
}

/// Steps until words of `size` bytes have surely been heard.
void step(Mesh& mesh) {
    for (int i = 0; i < kSteps; ++i) mesh.step(0);
}

/// A caller that says anything to rank 0 of 3.
void call(const std::string& words, std::size_t cut) {
    Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    // Without a path the kernel chooses a name.
    FUZZ_CHECK(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address),
                      sizeof(address.sun_family)) == 0);
    FUZZ_CHECK(::listen(listener.get(), 8) == 0);
    socklen_t size = sizeof(address);
    ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
    Descriptor caller(::socket(AF_UNIX, SOCK_STREAM, 0));
    FUZZ_CHECK(::connect(caller.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);

    Listeners listeners;
    listeners.tcp.push_back(std::move(listener));
    Mesh mesh(ours(0, 3), std::move(listeners), {{}, {}, {}}, "", 0);
    bool is_welcome = false;
    try {
        mesh.step(0);
        for (const auto& [begin, end] :
             {std::pair{std::size_t{0}, cut}, std::pair{cut, words.size()}}) {
            [[maybe_unused]] const auto sent =
                ::send(caller.get(), words.data() + begin, end - begin, MSG_NOSIGNAL);
            step(mesh);
        }
        ::shutdown(caller.get(), SHUT_WR);
        step(mesh);
        const auto hello = words.size() >= kHelloBytes
                               ? parse_hello(reinterpret_cast<const std::uint8_t*>(words.data()))
                               : std::nullopt;
        is_welcome = hello && refusal(*hello, ours(0, 3)).empty();
    } catch (const MeshError& error) {
        FUZZ_CHECK(std::string(error.what()).find("was refused") != std::string::npos);
        return;
    }
    const auto lines = mesh.take();
    const auto open = [](const std::vector<Line>& of_channel) {
        return std::count_if(of_channel.begin(), of_channel.end(),
                             [](const Line& line) { return line.socket.is_open(); });
    };
    FUZZ_CHECK(open(lines[0]) + open(lines[1]) == (is_welcome ? 1 : 0));
}

/// Rank 0 answers anything to rank 1 of 2.
void answer(const std::string& words, std::size_t cut) {
    Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof(address);
    FUZZ_CHECK(::bind(listener.get(), any, size) == 0 && ::listen(listener.get(), 8) == 0);
    ::getsockname(listener.get(), any, &size);
    Mesh mesh(ours(1, 2), {}, {{{"127.0.0.1", ntohs(address.sin_port)}}, {{"127.0.0.1", 1}}}, "",
              0);
    try {
        step(mesh);
        for (const auto& part : {words.substr(0, cut), words.substr(cut)}) {
            Descriptor called(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
            if (!called.is_open()) continue;
            // Reset when it is closed, so that no port waits for stragglers.
            const linger at_once{1, 0};
            ::setsockopt(called.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
            [[maybe_unused]] const auto sent =
                ::send(called.get(), part.data(), part.size(), MSG_NOSIGNAL);
            step(mesh);
        }
        step(mesh);
        FUZZ_CHECK(mesh.missing().size() <= 1);
    } catch (const MeshError& error) {
        FUZZ_CHECK(error.rank == 0);
        const std::string text = error.what();
        FUZZ_CHECK(
            std::all_of(text.begin(), text.end(), [](char c) { return c >= 32 && c < 127; }));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const std::string words(reinterpret_cast<const char*>(data + 2), size - 2);
    const std::size_t cut = std::min<std::size_t>(data[1], words.size());
    if (words.size() >= kHelloBytes) check_parsers(data + 2);
    if (data[0] % 2 == 0) {
        call(words, cut);
    } else {
        answer(words, cut);
    }
    return 0;
}
