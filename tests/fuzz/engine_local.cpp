// Fuzzes what ranks of one host say to each other by Unix sockets while they connect: a caller's
// words with any descriptors, and a called rank's answer. Invariants: data goes through memory only
// where the caller sent some that is safe, every descriptor that came is kept or closed, and who
// gives an unclear answer is called by TCP.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "check.hpp"
#include "hello.hpp"
#include "mesh.hpp"
#include "script.hpp"

using namespace plink::transport;
using plink::fuzz::hello_of;
using plink::fuzz::Script;

namespace {

constexpr int kSteps = 4;
constexpr std::uint16_t kWorkers = 1;
constexpr std::size_t kMostHandles = 3;
constexpr std::size_t kMemoryBytes = std::size_t{256} << 10;
// Where nobody listens by TCP.
constexpr std::uint16_t kPort = 1;

/// The lowest number that is free: one more than before where a descriptor was left open.
int next_descriptor() {
    const Descriptor probe(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
    return probe.get();
}

sockaddr_un address_of(const std::string& name, socklen_t& size) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    return address;
}

Descriptor listening(const std::string& name) {
    Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    socklen_t size;
    const sockaddr_un address = address_of(name, size);
    FUZZ_CHECK(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0);
    FUZZ_CHECK(::listen(listener.get(), 8) == 0);
    return listener;
}

/// Memory as honest ranks make it, or nearly.
Descriptor any_handle(Script& script, bool& is_safe) {
    const int kind = script.below(6);
    is_safe = kind == 0;
    if (kind == 1) return Descriptor(::open("/dev/null", O_RDWR | O_CLOEXEC));
    Descriptor memory(::memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    const off_t size = static_cast<off_t>(kMemoryBytes) - (kind == 2 ? 4096 : 0);
    FUZZ_CHECK(::ftruncate(memory.get(), size) == 0);
    int seals = F_SEAL_SHRINK | F_SEAL_GROW;
    if (kind == 3) seals = F_SEAL_SHRINK;
    if (kind == 4) seals |= F_SEAL_WRITE;
    if (kind != 5) FUZZ_CHECK(::fcntl(memory.get(), F_ADD_SEALS, seals) == 0);
    return memory;
}

void send_with(int fd, const std::string& words, const std::vector<Descriptor>& handles) {
    iovec piece{const_cast<char*>(words.data()), words.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(kMostHandles * sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    if (!handles.empty()) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(handles.size() * sizeof(int));
        cmsghdr* const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(handles.size() * sizeof(int));
        for (std::size_t i = 0; i < handles.size(); ++i) {
            const int handle = handles[i].get();
            std::memcpy(CMSG_DATA(header) + i * sizeof(int), &handle, sizeof(int));
        }
    }
    [[maybe_unused]] const auto sent = ::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/// Says `words` in two pieces, each with some descriptors; returns the last one's safety.
bool say(Script& script, int fd, const std::string& words, Mesh& mesh) {
    bool is_safe = false;
    const auto cut = static_cast<std::size_t>(script.below(static_cast<int>(words.size()) + 1));
    for (const std::string& part : {words.substr(0, cut), words.substr(cut)}) {
        if (part.empty()) continue;
        std::vector<Descriptor> handles(static_cast<std::size_t>(script.below(kMostHandles + 1)));
        // Of several in one message the first is taken.
        for (std::size_t i = handles.size(); i-- > 0;) handles[i] = any_handle(script, is_safe);
        send_with(fd, part, handles);
        for (int i = 0; i < kSteps; ++i) mesh.step(0);
    }
    return is_safe;
}

/// An honest hello with some bytes changed, cut or lengthened.
std::string any_words(Script& script, std::string words) {
    for (int changes = script.below(4); changes > 0; --changes) {
        words[static_cast<std::size_t>(script.below(static_cast<int>(words.size())))] =
            static_cast<char>(script.below(256));
    }
    if (script.below(4) == 0) words.resize(static_cast<std::size_t>(script.below(80)) + 1);
    return words;
}

/// A caller that says anything to rank 0 of 2.
void call(Script& script) {
    static const std::string name = "plink-fuzz/" + std::to_string(::getpid());
    Listeners listeners;
    listeners.local = listening(name);
    Mesh mesh(hello_of(0, 2, kWorkers), std::move(listeners), {{}, {}}, "", kMemoryBytes);
    Descriptor caller(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    socklen_t size;
    const sockaddr_un address = address_of(name, size);
    FUZZ_CHECK(::connect(caller.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0);
    Hello theirs = hello_of(1, 2, kWorkers);
    theirs.channel = static_cast<std::uint16_t>(script.below(kWorkers + 1));
    const std::string words = any_words(script, encode(theirs));
    bool is_welcome = false;
    bool is_safe = false;
    try {
        is_safe = say(script, caller.get(), words, mesh);
        const auto hello = words.size() >= kHelloBytes
                               ? parse_hello(reinterpret_cast<const std::uint8_t*>(words.data()))
                               : std::nullopt;
        is_welcome = hello && refusal(*hello, hello_of(0, 2, kWorkers)).empty();
        if (is_welcome) theirs.channel = hello->channel;
    } catch (const MeshError& error) {
        FUZZ_CHECK(std::string(error.what()).find("was refused") != std::string::npos);
        return;
    }
    const auto lines = mesh.take();
    FUZZ_CHECK(!lines[kWorkers][1].socket.is_open() && !lines[kWorkers][1].memory);
    const Line& line = lines[0][1];
    FUZZ_CHECK(line.socket.is_open() == (line.memory != nullptr));
    if (line.memory) FUZZ_CHECK(is_welcome && theirs.channel < kWorkers);
    // What comes after the last word of the hello is no longer part of it.
    if (line.memory && words.size() == kHelloBytes) FUZZ_CHECK(is_safe);
}

/// Rank 0 answers anything to rank 1 of 2.
void answer(Script& script) {
    static const std::string host = "127.0.0." + std::to_string(2 + ::getpid() % 200);
    const Descriptor listener = listening("plink/" + host + "/" + std::to_string(kPort));
    Listeners listeners;
    listeners.local = Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    Mesh mesh(hello_of(1, 2, kWorkers), std::move(listeners), {{{host, kPort}}, {{host, kPort}}},
              "", kMemoryBytes);
    const Descriptor called(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    FUZZ_CHECK(called.is_open());
    const std::string honest = encode_answer(script.below(2) == 0 ? "" : "no room");
    try {
        mesh.step(0);
        say(script, called.get(), any_words(script, honest), mesh);
        ::shutdown(called.get(), SHUT_WR);
        for (int i = 0; i < kSteps; ++i) mesh.step(0);
        FUZZ_CHECK(mesh.missing().size() == 1);
    } catch (const MeshError& error) {
        FUZZ_CHECK(error.rank == 0);
        const std::string text = error.what();
        FUZZ_CHECK(
            std::all_of(text.begin(), text.end(), [](char c) { return c >= 32 && c < 127; }));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Script script(data, size);
    const int before = next_descriptor();
    if (script.below(2) == 0) {
        call(script);
    } else {
        answer(script);
    }
    FUZZ_CHECK(next_descriptor() == before);
    return 0;
}
