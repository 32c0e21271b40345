#include "control.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace plink {
namespace {

constexpr uint32_t kMaxCount = 1000000;
constexpr size_t kMaxPairs = 1 << 17;
constexpr uint32_t kMaxProcessor = 1023;
constexpr size_t kMaxLine = 4096;
constexpr size_t kMaxPercentiles = 16;

std::vector<std::string> words_of(const std::string& line) {
    std::vector<std::string> words;
    size_t begin = 0;
    while ((begin = line.find_first_not_of(' ', begin)) != std::string::npos) {
        size_t end = line.find(' ', begin);
        if (end == std::string::npos) end = line.size();
        words.push_back(line.substr(begin, end - begin));
        begin = end;
    }
    return words;
}

bool parse_number(const std::string& word, uint32_t most, uint32_t* number) {
    if (word.empty() || word.size() > 10) return false;
    uint64_t value = 0;
    for (char letter : word) {
        if (letter < '0' || letter > '9') return false;
        value = value * 10 + static_cast<uint64_t>(letter - '0');
    }
    *number = static_cast<uint32_t>(value);
    return value <= most;
}

bool parse_secret(const std::string& word, Secret* secret) {
    if (word.size() != 32) return false;
    for (char letter : word) {
        if (!std::isxdigit(static_cast<unsigned char>(letter))) return false;
    }
    secret->high = std::strtoull(word.substr(0, 16).c_str(), nullptr, 16);
    secret->low = std::strtoull(word.substr(16).c_str(), nullptr, 16);
    return true;
}

bool parse_percentiles(const std::vector<std::string>& words, std::vector<double>* percentiles) {
    for (size_t i = 1; i < words.size(); ++i) {
        char* end = nullptr;
        double value = std::strtod(words[i].c_str(), &end);
        if (*end != '\0' || !(value >= 0.0 && value <= 100.0)) return false;
        percentiles->push_back(value);
    }
    return !percentiles->empty() && percentiles->size() <= kMaxPercentiles;
}

bool parse_run(const std::vector<std::string>& words, Run* run) {
    run->granted = words.size() > 4 && words[4] == "granted";
    return words.size() == 6 && parse_number(words[1], Peers::kMaxIndex, &run->index) &&
           parse_number(words[2], kMaxCount, &run->count) && run->count > 0 &&
           parse_number(words[3], 3600000, &run->silence_ms) && run->silence_ms > 0 &&
           (run->granted || words[4] == "free") && parse_secret(words[5], &run->secret);
}

bool parse_endpoint(const std::string& address, const std::string& port, Endpoint* endpoint) {
    uint32_t number = 0;
    return parse_number(port, 65535, &number) &&
           Endpoint::parse(address.c_str(), static_cast<uint16_t>(number), endpoint);
}

// ROUND PARTNER probe|answer, from words[1] on.
bool parse_pair(const std::vector<std::string>& words, Run* run) {
    Pair pair;
    if (run->pairs.size() >= kMaxPairs || !parse_number(words[1], kMaxPairs, &pair.round) ||
        !parse_number(words[2], Peers::kMaxIndex, &pair.partner) ||
        (words[3] != "probe" && words[3] != "answer")) {
        return false;
    }
    pair.probes = words[3] == "probe";
    run->pairs.push_back(pair);
    return pair.partner != run->index && run->peers.find(pair.partner) != nullptr;
}

bool parse_processor(const std::string& word, Grant* grant) {
    uint32_t processor = 0;
    if (word == "any") return true;
    if (!parse_number(word, kMaxProcessor, &processor)) return false;
    grant->processor = processor;
    return true;
}

}  // namespace

Control::Status Control::read(Run* run) {
    char chunk[4096];
    for (;;) {
        ssize_t got = ::read(STDIN_FILENO, chunk, sizeof chunk);
        if (got == 0) return Status::closed;
        if (got < 0) {
            if (errno == EINTR) continue;
            return errno == EAGAIN ? Status::open : Status::closed;
        }
        Status status = take(chunk, static_cast<size_t>(got), run);
        if (status != Status::open) return status;
    }
}

Control::Status Control::take(const char* text, size_t size, Run* run) {
    buffer_.append(text, size);
    size_t begin = 0, end;
    while ((end = buffer_.find('\n', begin)) != std::string::npos) {
        std::string line = buffer_.substr(begin, end - begin);
        begin = end + 1;
        if (line.size() > kMaxLine || !apply(line, run)) return broken(line);
        if (stopped_) return Status::closed;
    }
    buffer_.erase(0, begin);
    return buffer_.size() > kMaxLine ? broken(buffer_) : Status::open;
}

// Of the line only the first word is kept to be repeated: behind it the secret may stand.
Control::Status Control::broken(const std::string& line) {
    broken_word_ = line.substr(0, std::min<size_t>(line.find(' '), 40));
    return Status::broken;
}

bool Control::take_grant(Grant* grant) {
    if (grants_.empty()) return false;
    *grant = grants_.front();
    grants_.pop_front();
    return true;
}

// Whether the coordinator could say this now: who the agent is, then the schedule, then grants, and
// hosts that are met beside the schedule.
bool Control::is_timely(const std::string& verb) const {
    if (verb == "run" || verb == "percentiles" || verb == "bind") return !has_run_;
    if (verb == "peer") return has_run_;
    if (verb == "pair" || verb == "start") return has_run_ && !has_start_;
    return (verb != "go" && verb != "again") || has_start_;
}

bool Control::apply(const std::string& line, Run* run) {
    std::vector<std::string> words = words_of(line);
    if (words.empty()) return true;
    const std::string& verb = words[0];
    if (!is_timely(verb)) return false;
    if (verb == "run") return parse_run(words, run);
    if (verb == "percentiles") return parse_percentiles(words, &run->percentiles);
    if (verb == "bind") {
        if (words.size() != 3 || !parse_endpoint(words[1], words[2], &run->bind) ||
            run->bind.is_any()) {
            return false;
        }
        return has_run_ = run->count > 0 && !run->percentiles.empty();
    }
    if (verb == "peer") {
        uint32_t index = 0;
        Endpoint endpoint;
        if (words.size() != 4 || !parse_number(words[1], Peers::kMaxIndex, &index) ||
            !parse_endpoint(words[2], words[3], &endpoint) ||
            (has_start_ && run->peers.find(index) != nullptr)) {
            return false;
        }
        run->peers.add(index, endpoint);
        return true;
    }
    if (verb == "pair") return words.size() == 4 && parse_pair(words, run);
    if (verb == "start") return has_start_ = true;
    Grant grant;
    if (verb == "go") {
        if (words.size() != 3 || grants_.size() >= kMaxPairs ||
            !parse_number(words[1], kMaxPairs, &grant.round) ||
            !parse_processor(words[2], &grant)) {
            return false;
        }
        grants_.push_back(grant);
        return true;
    }
    if (verb == "again") {
        // Its round comes after all others: pairs are found by round.
        uint32_t last = run->pairs.empty() ? 0 : run->pairs.back().round;
        if (words.size() != 5 || grants_.size() >= kMaxPairs || !parse_pair(words, run) ||
            run->pairs.back().round <= last || !parse_processor(words[4], &grant)) {
            return false;
        }
        grant.round = run->pairs.back().round;
        grants_.push_back(grant);
        return true;
    }
    if (verb == "gone" || verb == "suspect") {
        uint32_t index = 0;
        if (words.size() != 2 || !parse_number(words[1], Peers::kMaxIndex, &index)) return false;
        if (verb == "gone") {
            run->peers.mark_gone(index);
        } else if (index == run->index) {
            ++run->suspected;
        } else {
            run->peers.mark_suspect(index);
        }
        return true;
    }
    if (verb == "stop") return stopped_ = true;
    if (verb == "alive") {
        std::puts("alive");
        return true;
    }
    return false;
}

}  // namespace plink
