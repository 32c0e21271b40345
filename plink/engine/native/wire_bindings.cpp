#include "wire_bindings.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "control.hpp"
#include "crowd.hpp"
#include "frame.hpp"
#include "handshake.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace plink::engine {

namespace {

nb::bytes bytes_of(const std::string& text) { return nb::bytes(text.data(), text.size()); }

const std::uint8_t* sized(const nb::bytes& bytes, std::size_t size) {
    if (bytes.size() != size) throw std::invalid_argument("not so many bytes as that has");
    return reinterpret_cast<const std::uint8_t*>(bytes.c_str());
}

nb::bytes job_of(const Hello& hello) {
    return nb::bytes(reinterpret_cast<const char*>(hello.job.data()), hello.job.size());
}

Hello hello_of(std::uint16_t version, std::uint16_t channel, std::uint32_t rank,
               std::uint32_t ranks, std::uint16_t workers, const nb::bytes& job,
               std::uint64_t plan) {
    Hello hello{version, channel, rank, ranks, workers, {}, plan};
    std::copy_n(sized(job, hello.job.size()), hello.job.size(), hello.job.begin());
    return hello;
}

}  // namespace

void register_wire(nb::module_& module) {
    module.def(
        "encode_frame",
        [](std::uint16_t collective, std::uint16_t signature, std::uint32_t chunk,
           bool is_broadcast) {
            std::uint8_t bytes[kFrameBytes];
            encode(
                {collective, signature, chunk, is_broadcast ? Phase::kBroadcast : Phase::kReduce},
                bytes);
            return nb::bytes(bytes, kFrameBytes);
        },
        "collective"_a, "signature"_a, "chunk"_a, "is_broadcast"_a);
    module.def("decode_frame", [](const nb::bytes& bytes) {
        const Frame frame = decode(sized(bytes, kFrameBytes));
        return nb::make_tuple(frame.collective, frame.signature, frame.chunk,
                              frame.phase == Phase::kBroadcast);
    });
    nb::class_<Hello>(module, "Hello")
        .def(nb::new_(&hello_of), "version"_a = kVersion, "channel"_a, "rank"_a, "ranks"_a,
             "workers"_a, "job"_a, "plan"_a)
        .def_ro("version", &Hello::version)
        .def_ro("channel", &Hello::channel)
        .def_ro("rank", &Hello::rank)
        .def_ro("ranks", &Hello::ranks)
        .def_ro("workers", &Hello::workers)
        .def_prop_ro("job", &job_of)
        .def_ro("plan", &Hello::plan)
        .def("encode", [](const Hello& hello) { return bytes_of(encode(hello)); });
    module.def("parse_hello", [](const nb::bytes& bytes) {
        const auto hello = parse_hello(sized(bytes, kHelloBytes));
        return hello ? nb::cast(*hello) : nb::none();
    });
    module.def("refusal", &refusal, "theirs"_a, "ours"_a);
    module.def("who_goes", &transport::who_goes, "sources"_a, "most"_a);
    module.def("encode_answer",
               [](const std::string& reason) { return bytes_of(encode_answer(reason)); });
    module.def("parse_answer", [](const nb::bytes& bytes) -> nb::object {
        const auto answer = parse_answer(sized(bytes, kAnswerBytes));
        if (!answer) return nb::none();
        return nb::make_tuple(answer->is_welcome, answer->reason_bytes);
    });
    module.def(
        "encode_message", [](int kind, std::uint64_t value, int cause, const std::string& text) {
            return bytes_of(encode(
                Message{static_cast<Message::Kind>(kind), value, static_cast<Cause>(cause), text}));
        });
    nb::class_<MessageReader>(module, "MessageReader")
        .def(nb::init<>())
        .def("feed", [](MessageReader& reader, const nb::bytes& bytes) {
            nb::list messages;
            for (const Message& message : reader.feed(bytes.c_str(), bytes.size())) {
                messages.append(nb::make_tuple(static_cast<int>(message.kind), message.value,
                                               static_cast<int>(message.cause),
                                               bytes_of(message.text)));
            }
            return messages;
        });
    module.def("decisive", [](const std::vector<std::pair<int, std::pair<int, int>>>& reports) {
        std::vector<Report> all;
        for (const auto& [cause, who] : reports) {
            all.push_back({static_cast<Cause>(cause), who.first, who.second, ""});
        }
        const Report& report = decisive(all);
        return nb::make_tuple(static_cast<int>(report.cause), report.culprit, report.reporter);
    });
    module.attr("HELLO_BYTES") = kHelloBytes;
    module.attr("ANSWER_BYTES") = kAnswerBytes;
}

}  // namespace plink::engine
