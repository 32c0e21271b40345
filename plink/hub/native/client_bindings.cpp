#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>

#include "bindings.hpp"
#include "client.hpp"
#include "setting_up.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace plink::hub {

namespace {

using Numbers = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Floats = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::vector<ClientChunk> chunks_of(const Numbers& items, const Numbers& links) {
    if (items.size() != links.size())
        throw std::invalid_argument("a chunk has a length and a link");
    std::vector<ClientChunk> chunks;
    chunks.reserve(items.size());
    std::size_t offset = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
        chunks.push_back({offset, items.data()[i], links.data()[i]});
        offset += items.data()[i];
    }
    return chunks;
}

std::vector<Dialled> dialled_of(std::uint16_t incarnation, const std::vector<int>& fds,
                                const std::vector<std::string>& servers, const LineOptions& line) {
    if (servers.size() != fds.size()) throw std::invalid_argument("a connection has a server");
    std::vector<Dialled> dialled;
    for (std::size_t i = 0; i < fds.size(); ++i) {
        auto stream = fds[i] < 0 ? transport::Stream() : taken_over(fds[i], line, true);
        dialled.push_back({std::move(stream), servers[i], incarnation});
    }
    return dialled;
}

void make(Client* made, const Numbers& items, const Numbers& links, const Floats& gradients,
          const Floats& values, int wire, std::uint16_t incarnation, bool is_by_step,
          std::uint32_t iteration, const std::vector<int>& fds,
          const std::vector<std::string>& servers, const LineOptions& line) {
    auto chunks = chunks_of(items, links);
    const std::size_t all = chunks.empty() ? 0 : chunks.back().offset + chunks.back().items;
    if (gradients.size() != all || values.size() != all) {
        throw std::invalid_argument("gradients and values are as long as all chunks");
    }
    new (made) Client(std::move(chunks), gradients.data(), values.data(), static_cast<Wire>(wire),
                      is_by_step, iteration, dialled_of(incarnation, fds, servers, line));
}

}  // namespace

void register_client(nb::module_& module) {
    nb::class_<StepResult>(module, "StepResult")
        .def_ro("iteration", &StepResult::iteration)
        .def_ro("squares", &StepResult::squares)
        .def_ro("is_skipped", &StepResult::is_skipped)
        .def_ro("workers", &StepResult::workers);
    nb::class_<ClientLinkFigures>(module, "ClientLinkFigures")
        .def_ro("link", &ClientLinkFigures::link)
        .def_ro("bytes_in", &ClientLinkFigures::bytes_in)
        .def_ro("bytes_out", &ClientLinkFigures::bytes_out);
    const auto unlocked = nb::call_guard<nb::gil_scoped_release>();
    nb::class_<Client>(module, "Client")
        .def("__init__", &make, "items"_a, "links"_a, "gradients"_a, "values"_a, "wire"_a,
             "incarnation"_a, "is_by_step"_a, "iteration"_a, "fds"_a, "servers"_a, "line"_a,
             nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>())
        .def("initialise", &Client::initialise, "is_source"_a, unlocked)
        .def(
            "begin",
            [](Client& client, const nb::bytes& hypers) {
                const auto* const bytes = reinterpret_cast<const std::uint8_t*>(hypers.c_str());
                return client.begin({bytes, bytes + hypers.size()});
            },
            "hypers"_a)
        .def("push", &Client::push, "first"_a, "end"_a, unlocked)
        .def("wait", &Client::wait, "seconds"_a, unlocked)
        .def("last_contribution", &Client::last_contribution)
        .def("is_lost", &Client::is_lost)
        .def(
            "resume",
            [](Client& client, std::uint16_t incarnation, const std::vector<int>& fds,
               const std::vector<std::string>& servers, const LineOptions& line) {
                client.resume(dialled_of(incarnation, fds, servers, line));
            },
            "incarnation"_a, "fds"_a, "servers"_a, "line"_a, unlocked)
        .def("figures", &Client::figures)
        .def("close", &Client::close, unlocked);
}

}  // namespace plink::hub
