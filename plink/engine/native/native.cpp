#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "loan.hpp"
#include "mesh.hpp"
#include "setup_bindings.hpp"
#include "wire_bindings.hpp"
#include "work_bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace plink::engine {

namespace {

using Buffer = nb::ndarray<nb::c_contig, nb::device::cpu>;

void register_figures(nb::module_& module) {
    nb::class_<ConnectionFigures>(module, "ConnectionFigures")
        .def_ro("peer", &ConnectionFigures::peer)
        .def_ro("worker", &ConnectionFigures::worker)
        .def_ro("is_shared_memory", &ConnectionFigures::is_shared_memory)
        .def_ro("bytes_sent", &ConnectionFigures::bytes_sent)
        .def_ro("bytes_received", &ConnectionFigures::bytes_received)
        .def_ro("rtt_us", &ConnectionFigures::rtt_us)
        .def_ro("rtt_variation_us", &ConnectionFigures::rtt_variation_us)
        .def_ro("least_rtt_us", &ConnectionFigures::least_rtt_us)
        .def_ro("delivery_rate_bytes_s", &ConnectionFigures::delivery_rate_bytes_s)
        .def_ro("retransmissions", &ConnectionFigures::retransmissions)
        .def_ro("congestion_window", &ConnectionFigures::congestion_window)
        .def_ro("busy_us", &ConnectionFigures::busy_us)
        .def_ro("receiver_limited_us", &ConnectionFigures::receiver_limited_us)
        .def_ro("buffer_limited_us", &ConnectionFigures::buffer_limited_us)
        .def_ro("congestion_control", &ConnectionFigures::congestion_control)
        .def_ro("cipher", &ConnectionFigures::cipher)
        .def_ro("is_encrypted_by_kernel", &ConnectionFigures::is_encrypted_by_kernel);
}

void register_worker_figures(nb::module_& module) {
    nb::class_<WorkerFigures>(module, "WorkerFigures")
        .def_ro("busy_us", &WorkerFigures::busy_us)
        .def_ro("bytes", &WorkerFigures::bytes)
        .def_ro("weight", &WorkerFigures::weight);
}

LentEngine& lent(nb::handle_t<LentEngine> engine) { return *nb::inst_ptr<LentEngine>(engine); }

void register_engine(nb::module_& module) {
    const nb::call_guard<nb::gil_scoped_release> unlocked;
    nb::class_<Letters>(module, "Letters");
    nb::class_<LentEngine>(module, "Engine")
        .def(
            "__init__",
            [](LentEngine* self, int rank, int ranks, Mesh& mesh, const Forest& forest,
               std::vector<std::string> names, std::size_t chunk_bytes, bool in_order,
               double silence_s, double stall_s, int send_buffer_bytes, double spin_us,
               bool spins_carefully, std::vector<int> cores, int in_flight,
               std::string far_congestion, std::string distant_congestion) {
                const auto spin = std::chrono::duration_cast<std::chrono::nanoseconds>(
                    std::chrono::duration<double, std::micro>(spin_us));
                new (self) LentEngine(rank, ranks,
                                      EngineOptions{chunk_bytes,
                                                    in_order,
                                                    silence_s,
                                                    stall_s,
                                                    send_buffer_bytes,
                                                    {spin, spins_carefully},
                                                    std::move(cores),
                                                    in_flight,
                                                    std::move(far_congestion),
                                                    std::move(distant_congestion)},
                                      forest, mesh.take(), std::move(names));
            },
            "rank"_a, "ranks"_a, "mesh"_a, "forest"_a, "names"_a, "chunk_bytes"_a, "in_order"_a,
            "silence_s"_a, "stall_s"_a, "send_buffer_bytes"_a, "spin_us"_a, "spins_carefully"_a,
            "cores"_a, "in_flight"_a, "far_congestion"_a, "distant_congestion"_a)
        .def(
            "post",
            [](nb::handle_t<LentEngine> self, Buffer buffer, std::size_t items, DType dtype, Op op,
               int priority, std::uint64_t layout) {
                void* const data = buffer.data();
                return posted(self, lent(self).post(std::make_shared<Buffer>(std::move(buffer)),
                                                    {Kind::kAllReduce,
                                                     dtype,
                                                     op,
                                                     -1,
                                                     {items},
                                                     {},
                                                     priority,
                                                     data,
                                                     data,
                                                     layout}));
            },
            "buffer"_a.noconvert(), "items"_a, "dtype"_a, "op"_a, "priority"_a, "layout"_a)
        .def(
            "post_lent",
            [](nb::handle_t<LentEngine> self, nb::handle array, std::optional<DType> dtype, Op op,
               int priority, std::uint64_t layout) -> std::optional<Posted> {
                auto work = lent(self).post_lent(array, dtype, op, priority, layout);
                if (!work) return std::nullopt;
                return posted(self, std::move(*work));
            },
            "array"_a, "dtype"_a.none(), "op"_a, "priority"_a, "layout"_a)
        .def(
            "post_call",
            [](nb::handle_t<LentEngine> self, Kind kind, nb::handle input, nb::handle output,
               DType dtype, Op op, int root, std::vector<std::size_t> counts,
               std::vector<std::size_t> receive_counts, int priority, std::uint64_t layout) {
                return posted(self, lent(self).post_call(input, output,
                                                         {kind, dtype, op, root, std::move(counts),
                                                          std::move(receive_counts), priority,
                                                          nullptr, nullptr, layout}));
            },
            "kind"_a, "source"_a, "result"_a, "dtype"_a, "op"_a, "root"_a, "counts"_a,
            "receive_counts"_a, "priority"_a, "layout"_a)
        .def(
            "post_message",
            [](nb::handle_t<LentEngine> self, nb::handle array, int peer, std::uint32_t tag,
               std::uint16_t type, bool is_received) {
                return posted(self, lent(self).post_message(array, peer, tag, type, is_received));
            },
            "array"_a, "peer"_a, "tag"_a, "type_code"_a, "is_received"_a)
        .def(
            "post_message_at",
            [](nb::handle_t<LentEngine> self, nb::object owner, std::uintptr_t address,
               std::size_t size_bytes, int peer, std::uint32_t tag, std::uint16_t type,
               bool is_received) {
                const Content content{size_bytes, type};
                return posted(self, lent(self).post_message_at(std::move(owner), address, content,
                                                               peer, tag, is_received));
            },
            "owner"_a, "address"_a, "size_bytes"_a, "peer"_a, "tag"_a, "type_code"_a,
            "is_received"_a)
        .def(
            "install",
            [](LentEngine& self, const Forest& forest, std::uint64_t at) {
                self.engine.install(forest, at);
            },
            "forest"_a, "at"_a, unlocked)
        .def(
            "weigh_workers",
            [](LentEngine& self, WorkerWeights weights, std::uint64_t at) {
                self.engine.weigh_workers(std::move(weights), at);
            },
            "weights"_a, "at"_a, unlocked)
        .def_prop_ro("posted", [](const LentEngine& self) { return self.engine.posted(); })
        .def("check", [](const LentEngine& self) { self.engine.check(); })
        .def("tell", [](LentEngine& self,
                        std::string text) { self.engine.supervisor().tell(std::move(text)); })
        .def(
            "hear",
            [](LentEngine& self,
               double seconds) -> std::optional<std::pair<int, std::optional<std::string>>> {
                auto heard = self.engine.supervisor().hear(seconds);
                if (!heard) return std::nullopt;
                std::optional<std::string> text;
                if (!heard->has_left) text = std::move(heard->text);
                return std::pair{heard->rank, std::move(text)};
            },
            "seconds"_a, unlocked)
        .def(
            "post_letter",
            [](LentEngine& self, int rank, const nb::bytes& letter) {
                self.engine.supervisor().letters()->post(
                    rank, std::string(letter.c_str(), letter.size()));
            },
            "rank"_a, "letter"_a)
        .def(
            "letters",
            [](LentEngine& self, double seconds)
                -> std::optional<std::vector<std::pair<int, std::optional<nb::bytes>>>> {
                std::optional<std::vector<Letters::Letter>> come;
                {
                    const nb::gil_scoped_release unlocked_here;
                    come = self.engine.supervisor().letters()->next(seconds);
                }
                if (!come) return std::nullopt;
                std::vector<std::pair<int, std::optional<nb::bytes>>> letters;
                for (const Letters::Letter& one : *come) {
                    auto bytes = std::make_optional<nb::bytes>(one.bytes.data(), one.bytes.size());
                    letters.emplace_back(one.rank, one.has_left ? std::nullopt : std::move(bytes));
                }
                return letters;
            },
            "seconds"_a)
        .def("wake_letters", [](LentEngine& self) { self.engine.supervisor().letters()->wake(); })
        .def_prop_ro("letter_box",
                     [](LentEngine& self) { return self.engine.supervisor().letters(); })
        .def("drain", &LentEngine::drain, "grace_s"_a)
        .def("close", &LentEngine::close)
        .def("figures", [](const LentEngine& self) { return self.engine.figures(); })
        .def("worker_figures", [](const LentEngine& self) { return self.engine.worker_figures(); });
    nb::enum_<Kind>(module, "Kind")
        .value("all_reduce", Kind::kAllReduce)
        .value("reduce_scatter", Kind::kReduceScatter)
        .value("all_gather", Kind::kAllGather)
        .value("broadcast", Kind::kBroadcast)
        .value("reduce", Kind::kReduce)
        .value("gather", Kind::kGather)
        .value("scatter", Kind::kScatter)
        .value("all_to_all", Kind::kAllToAll);
    nb::enum_<DType>(module, "DType")
        .value("float32", DType::kFloat32)
        .value("float64", DType::kFloat64)
        .value("float16", DType::kFloat16)
        .value("bfloat16", DType::kBfloat16)
        .value("int32", DType::kInt32)
        .value("int64", DType::kInt64)
        .value("uint8", DType::kUint8);
    nb::dict bytes;
    for (const auto& [name, dtype] :
         {std::pair{"float32", DType::kFloat32}, std::pair{"float64", DType::kFloat64},
          std::pair{"float16", DType::kFloat16}, std::pair{"bfloat16", DType::kBfloat16},
          std::pair{"int32", DType::kInt32}, std::pair{"int64", DType::kInt64},
          std::pair{"uint8", DType::kUint8}}) {
        bytes[name] = item_bytes(dtype);
    }
    module.attr("DTYPE_BYTES") = bytes;
    nb::enum_<Op>(module, "Op")
        .value("sum", Op::kSum)
        .value("mean", Op::kMean)
        .value("min", Op::kMin)
        .value("max", Op::kMax)
        .value("and_", Op::kAnd);
}

void register_engine_error() {
    nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
        try {
            std::rethrow_exception(pointer);
        } catch (const EngineFailed& failed) {
            const nb::object type =
                nb::module_::import_("plink.engine.failure").attr("EngineError");
            const nb::object rank =
                failed.rank < 0 ? nb::none() : nb::object(nb::int_(failed.rank));
            PyErr_SetObject(type.ptr(), nb::make_tuple(failed.what(), rank).ptr());
        }
    });
}

}  // namespace

}  // namespace plink::engine

NB_MODULE(_native, module) {
    module.doc() = "The native engine; use it through plink.engine.";
    // Programs end with groups alive, which PyTorch keeps to the end of the process.
    nb::set_leak_warnings(false);
    plink::engine::register_engine_error();
    plink::engine::register_wire(module);
    plink::engine::register_figures(module);
    plink::engine::register_worker_figures(module);
    plink::engine::register_setting_up(module);
    plink::engine::register_work(module);
    plink::engine::register_engine(module);
}
