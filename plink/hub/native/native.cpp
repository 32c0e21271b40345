#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bindings.hpp"
#include "setting_up.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace plink::hub {

NB_MODULE(_native, module) {
    nb::class_<LineOptions>(module, "LineOptions")
        .def(
            "__init__",
            [](LineOptions* made, std::string near, std::string far, int near_buffer_bytes) {
                new (made) LineOptions{std::move(near), std::move(far), near_buffer_bytes};
            },
            "near"_a = "", "far"_a = "", "near_buffer_bytes"_a = 0);
    register_steps(module);
    register_serving(module);
    register_client(module);
}

}  // namespace plink::hub
