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
            [](LineOptions* made, std::string near, std::string far, int near_buffer_bytes,
               std::string certificate, std::string key, std::string authority) {
                std::shared_ptr<const transport::TlsContext> tls;
                if (!certificate.empty()) {
                    transport::TlsOptions files;
                    files.certificate = std::move(certificate);
                    files.key = std::move(key);
                    files.authority = std::move(authority);
                    tls = std::make_shared<const transport::TlsContext>(std::move(files));
                }
                new (made)
                    LineOptions{std::move(near), std::move(far), near_buffer_bytes, std::move(tls)};
            },
            "near"_a = "", "far"_a = "", "near_buffer_bytes"_a = 0, "certificate"_a = "",
            "key"_a = "", "authority"_a = "");
    register_steps(module);
    register_serving(module);
    register_client(module);
}

}  // namespace plink::hub
