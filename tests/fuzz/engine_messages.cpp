// Fuzzes what an engine's supervisor hears on its control connections. Invariants: it does not
// matter in which pieces bytes arrive, texts can be shown, and when the connections have ended
// there is a verdict that blames a rank, unless every peer has said farewell in time.

#include <sys/socket.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "check.hpp"
#include "control.hpp"
#include "supervisor.hpp"

using namespace plink::transport;

namespace {

constexpr int kRanks = 3;
constexpr std::uint64_t kPosted = 2;
constexpr std::uint16_t kSignature = 0x5a5a;
constexpr auto kPatience = std::chrono::seconds(8);

/// What bytes say.
struct Heard {
    std::vector<Message> messages;
    bool is_broken = false;
};

Heard hear(const std::string& bytes, std::size_t piece) {
    Heard heard;
    MessageReader reader;
    try {
        for (std::size_t begin = 0; begin < bytes.size(); begin += piece) {
            const std::size_t size = std::min(piece, bytes.size() - begin);
            for (Message& message : reader.feed(bytes.data() + begin, size)) {
                heard.messages.push_back(std::move(message));
            }
        }
    } catch (const std::runtime_error&) {
        heard.is_broken = true;
    }
    return heard;
}

bool is_printable(const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= 32 && c < 127; });
}

void check_reader(const std::string& bytes, std::size_t piece) {
    const Heard whole = hear(bytes, bytes.size() + 1);
    const Heard pieces = hear(bytes, piece);
    FUZZ_CHECK(whole.is_broken == pieces.is_broken);
    // Whole, what stands before the break is not handed out.
    FUZZ_CHECK(whole.is_broken || whole.messages.size() == pieces.messages.size());
    for (const Message& message : pieces.messages) {
        FUZZ_CHECK(message.text.size() <= most_text_bytes(message.kind) &&
                   is_printable(message.text));
        const Heard again = hear(encode(message), 1);
        FUZZ_CHECK(!again.is_broken && again.messages.size() == 1);
        FUZZ_CHECK(again.messages[0].value == message.value);
        FUZZ_CHECK(again.messages[0].text == message.text);
    }
}

/// An engine with collectives 0 and 1 posted, of which 1 has not ended.
class Engine final : public Supervised {
  public:
    Pending pending() override { return {kPosted, kSignature, 1, Supervisor::Clock::now()}; }
    std::optional<std::uint16_t> signature(std::uint64_t collective) override {
        if (collective >= kPosted) return std::nullopt;
        return kSignature;
    }
    void fail(const Report& verdict) override {
        const std::lock_guard<std::mutex> lock(mutex_);
        FUZZ_CHECK(!verdict_);
        verdict_ = verdict;
        has_failed_.notify_all();
    }
    std::optional<Report> verdict(std::chrono::milliseconds patience) {
        std::unique_lock<std::mutex> lock(mutex_);
        has_failed_.wait_for(lock, patience, [this] { return verdict_.has_value(); });
        return verdict_;
    }

  private:
    std::mutex mutex_;
    std::condition_variable has_failed_;
    std::optional<Report> verdict_;
};

/// Whether what one peer says must end in a verdict.
bool must_fail(const std::string& bytes) {
    const Heard heard = hear(bytes, bytes.size() + 1);
    if (heard.is_broken) return true;
    bool has_left = false;
    for (const Message& message : heard.messages) {
        if (message.kind == Message::Kind::kAbort) return true;
        if (message.kind == Message::Kind::kLeave) has_left = true;
    }
    return !has_left;
}

void check_supervisor(const std::string (&words)[2]) {
    std::vector<Stream> ours(kRanks);
    Descriptor theirs[2];
    for (int peer = 0; peer < 2; ++peer) {
        int pair[2];
        FUZZ_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
        ours[peer + 1] = Descriptor(pair[0]);
        theirs[peer] = Descriptor(pair[1]);
        [[maybe_unused]] const auto sent =
            ::send(pair[1], words[peer].data(), words[peer].size(), MSG_NOSIGNAL);
        ::shutdown(pair[1], SHUT_WR);
    }
    Engine engine;
    Supervisor supervisor(0, std::move(ours), {"a", "b", "c"}, {60.0, 60.0}, engine);
    if (must_fail(words[0]) || must_fail(words[1])) {
        const auto verdict = engine.verdict(kPatience);
        FUZZ_CHECK(verdict);
        FUZZ_CHECK(verdict->culprit >= 0 && verdict->culprit < kRanks);
        FUZZ_CHECK(is_printable(verdict->text));
    }
    for (Descriptor& their : theirs) their.reset();
    supervisor.leave(kPosted);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2 || size > 4096) return 0;
    const std::string all(reinterpret_cast<const char*>(data + 2), size - 2);
    check_reader(all, 1 + data[0] % 64);
    const std::size_t cut = std::min<std::size_t>(data[1] * 4, all.size());
    check_supervisor({all.substr(0, cut), all.substr(cut)});
    return 0;
}
