#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "bindings.hpp"
#include "scalars.hpp"
#include "wire.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace plink::hub {

namespace {

using Floats = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

const Steps& chosen(const std::string& instruction_set) {
    if (instruction_set.empty()) return steps();
    const Steps* const found = steps_of(instruction_set.c_str());
    if (found == nullptr) throw std::invalid_argument("this processor has no " + instruction_set);
    return *found;
}

float* at(std::vector<Floats>& state, std::size_t number, std::size_t items) {
    if (number >= state.size()) return nullptr;
    if (state[number].size() != items) throw std::invalid_argument("states of another length");
    return state[number].data();
}

void apply(int optimizer, const nb::bytes& hyper, std::uint64_t step, const Floats& sums,
           Floats& values, std::vector<Floats> state, float divisor, float scale,
           const std::string& instruction_set) {
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(hyper.c_str());
    const Hyper decoded = decode_hypers(bytes, hyper.size(), 1).front();
    if (sums.size() != values.size() || optimizer < 0 || optimizer > 4) {
        throw std::invalid_argument("values and sums of other lengths");
    }
    const auto which = static_cast<Optimizer>(optimizer);
    const std::size_t needed = which < Optimizer::kMomentum ? 0 : which < Optimizer::kAdam ? 1 : 2;
    if (state.size() != needed) throw std::invalid_argument("another number of states");
    const std::size_t items = values.size();
    chosen(instruction_set)
        .apply[optimizer]({values.data(), sums.data(), at(state, 0, items), at(state, 1, items),
                           items, divisor, scale},
                          scalars_of(which, decoded, step));
}

}  // namespace

void register_steps(nb::module_& module) {
    module.def("apply", &apply, "optimizer"_a, "hyper"_a, "step"_a, "sums"_a, "values"_a, "state"_a,
               "divisor"_a, "scale"_a = 1.0F, "instruction_set"_a = "");
    module.def(
        "divide",
        [](Floats sums, float divisor, const std::string& instruction_set) {
            return chosen(instruction_set).divide(sums.data(), sums.size(), divisor);
        },
        "sums"_a, "divisor"_a, "instruction_set"_a = "");
    module.def(
        "has_instruction_set",
        [](const std::string& name) { return steps_of(name.c_str()) != nullptr; }, "name"_a);
    module.def(
        "narrow",
        [](int wire, const Floats& values) {
            const auto which = static_cast<Wire>(wire);
            std::string bytes(wire_bytes(which, values.size()), '\0');
            narrow(which, reinterpret_cast<std::uint8_t*>(bytes.data()), values.data(),
                   values.size());
            return nb::bytes(bytes.data(), bytes.size());
        },
        "wire"_a, "values"_a);
    module.def(
        "add",
        [](int wire, Floats into, const nb::bytes& bytes, bool is_first) {
            const auto which = static_cast<Wire>(wire);
            if (bytes.size() != wire_bytes(which, into.size())) {
                throw std::invalid_argument("bytes of another length");
            }
            const auto* const from = reinterpret_cast<const std::uint8_t*>(bytes.c_str());
            (is_first ? widen : add)(which, into.data(), from, into.size());
        },
        "wire"_a, "into"_a, "data"_a, "is_first"_a);
}

}  // namespace plink::hub
