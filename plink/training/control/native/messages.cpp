#include "messages.hpp"

#include <algorithm>

#include "wire.hpp"

namespace plink::control {

namespace {

constexpr std::uint64_t kMostItems = 1 << 20;
constexpr std::uint64_t kLow = 0xFFFFFFFF;

void write_spans(Writer& writer, const std::vector<std::uint64_t>& positions) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> spans;
    for (const std::uint64_t position : positions) {
        if (!spans.empty() && spans.back().first + spans.back().second == position) {
            ++spans.back().second;
        } else {
            spans.emplace_back(position, 1);
        }
    }
    writer.number(spans.size());
    for (const auto& [first, count] : spans) {
        writer.number(first);
        writer.number(count);
    }
}

void read_spans(Reader& reader, std::vector<std::uint64_t>& positions) {
    for (std::uint64_t left = reader.number(kMostItems); left > 0; --left) {
        const std::uint64_t first = reader.number(kMostPositions);
        const std::uint64_t count = reader.number(kMostPositions);
        if (first + count > kMostPositions || positions.size() + count > kMostPositions) {
            throw WireError("there are too many positions");
        }
        for (std::uint64_t i = 0; i < count; ++i) positions.push_back(first + i);
    }
}

void end(const Reader& reader) {
    if (!reader.is_at_end()) throw WireError("a message has more than belongs to it");
}

}  // namespace

void Waiting::merge(const Waiting& other) {
    waited_ms = std::max(waited_ms, other.waited_ms);
    announced |= other.announced;
    answered |= other.answered;
}

std::string packed(const Upward& message) {
    Writer writer;
    writer.number(message.seen);
    write_spans(writer, message.ready);
    writer.number(message.versions.size());
    for (const Versions& versions : message.versions) {
        writer.number(versions.size());
        for (const Version& version : versions) {
            writer.request(*version.request);
            writer.ranks(version.ranks);
        }
    }
    writer.ranks(message.joined);
    writer.number(message.waiting.size());
    for (const Waiting& waiting : message.waiting) {
        writer.text(waiting.name);
        writer.number(waiting.waited_ms);
        writer.ranks(waiting.announced);
        writer.ranks(waiting.answered);
    }
    writer.number(message.check.has_value());
    if (message.check) {
        writer.number(message.check->first);
        writer.number(message.check->second >> 32);
        writer.number(message.check->second & kLow);
    }
    writer.text(message.failed);
    return writer.done();
}

std::string packed(const Downward& message) {
    Writer writer;
    writer.number(message.batches.size());
    for (const std::vector<Member>& batch : message.batches) {
        writer.number(batch.size());
        for (const Member& member : batch) {
            writer.number(member.position << 1 | (member.request != nullptr));
            if (member.request) writer.request(*member.request);
        }
    }
    writer.number(message.joined);
    writer.number(message.refused.size());
    for (const auto& [name, text] : message.refused) {
        writer.text(name);
        writer.text(text);
    }
    writer.number(message.last ? static_cast<std::uint64_t>(*message.last) + 1 : 0);
    writer.number(message.warnings.size());
    for (const std::string& text : message.warnings) writer.text(text);
    writer.number(message.stalled.size());
    for (const auto& [name, waited_ms] : message.stalled) {
        writer.text(name);
        writer.number(waited_ms);
    }
    writer.text(message.failed);
    return writer.done();
}

Upward upward_of(std::string_view data, std::int64_t ranks) {
    Reader reader(data);
    Upward message;
    message.seen = reader.number();
    read_spans(reader, message.ready);
    for (std::uint64_t left = reader.number(kMostItems); left > 0; --left) {
        Versions versions;
        for (std::uint64_t more = reader.number(kMostItems); more > 0; --more) {
            RequestRef request = reader.request();
            versions.push_back({std::move(request), reader.ranks(ranks)});
        }
        if (versions.empty()) throw WireError("a request has no version");
        message.versions.push_back(std::move(versions));
    }
    message.joined = reader.ranks(ranks);
    for (std::uint64_t left = reader.number(kMostItems); left > 0; --left) {
        Waiting waiting;
        waiting.name = reader.text();
        waiting.waited_ms = reader.number();
        waiting.announced = reader.ranks(ranks);
        waiting.answered = reader.ranks(ranks);
        message.waiting.push_back(std::move(waiting));
    }
    if (reader.number(1) == 1) {
        const std::uint64_t at = reader.number();
        const std::uint64_t high = reader.number(kLow);
        message.check = {at, high << 32 | reader.number(kLow)};
    }
    message.failed = reader.text();
    end(reader);
    return message;
}

Downward downward_of(std::string_view data, std::int64_t ranks) {
    Reader reader(data);
    Downward message;
    for (std::uint64_t left = reader.number(kMostItems); left > 0; --left) {
        std::vector<Member> batch;
        for (std::uint64_t more = reader.number(kMostItems); more > 0; --more) {
            const std::uint64_t one = reader.number(2 * kMostPositions + 1);
            batch.push_back({one >> 1, (one & 1) != 0 ? reader.request() : nullptr});
        }
        if (batch.empty()) throw WireError("a batch is empty");
        message.batches.push_back(std::move(batch));
    }
    message.joined = reader.number(1) == 1;
    for (std::uint64_t left = reader.number(kMostItems); left > 0; --left) {
        std::string name = reader.text();
        message.refused.emplace_back(std::move(name), reader.text());
    }
    const std::uint64_t last = reader.number(static_cast<std::uint64_t>(ranks));
    if (last > 0) message.last = static_cast<std::int64_t>(last) - 1;
    for (std::uint64_t left = reader.number(kMostItems); left > 0; --left) {
        message.warnings.push_back(reader.text());
    }
    for (std::uint64_t left = reader.number(kMostItems); left > 0; --left) {
        std::string name = reader.text();
        message.stalled.emplace_back(std::move(name), reader.number());
    }
    message.failed = reader.text();
    end(reader);
    return message;
}

}  // namespace plink::control
