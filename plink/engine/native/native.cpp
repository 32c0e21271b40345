#include <fcntl.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <numeric>

#include "loan.hpp"
#include "mesh.hpp"
#include "wire_bindings.hpp"
#include "work_bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace plink::engine {

namespace {

using Buffer = nb::ndarray<nb::c_contig, nb::device::cpu>;
using Parents = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

std::unique_ptr<Forest> forest_of(int ranks, const std::vector<double>& weights,
                                  const Parents& reduce, const Parents& broadcast) {
    for (const Parents* parents : {&reduce, &broadcast}) {
        if (parents->shape(0) != weights.size() ||
            parents->shape(1) != static_cast<std::size_t>(ranks)) {
            throw std::invalid_argument("the parents do not fit the weights and ranks");
        }
    }
    return std::make_unique<Forest>(
        ranks, weights, std::vector<std::int32_t>(reduce.data(), reduce.data() + reduce.size()),
        std::vector<std::int32_t>(broadcast.data(), broadcast.data() + broadcast.size()));
}

Hello hello_of(int rank, int ranks, int workers, const nb::bytes& job, std::uint64_t plan) {
    Hello hello;
    if (job.size() != hello.job.size()) throw std::invalid_argument("a job is named by 16 bytes");
    std::copy(job.c_str(), job.c_str() + job.size(), hello.job.begin());
    hello.rank = static_cast<std::uint32_t>(rank);
    hello.ranks = static_cast<std::uint32_t>(ranks);
    hello.workers = static_cast<std::uint16_t>(workers);
    hello.plan = plan;
    return hello;
}

std::unique_ptr<Mesh> mesh_of(int rank, int ranks, int workers, const nb::bytes& job,
                              std::uint64_t plan, const std::vector<int>& listeners,
                              int local_listener,
                              const std::vector<std::vector<std::pair<std::string, int>>>& where,
                              const std::string& congestion, std::size_t memory_bytes,
                              std::shared_ptr<TlsContext> tls) {
    Listeners owned;
    for (const int listener : listeners)
        owned.tcp.emplace_back(::fcntl(listener, F_DUPFD_CLOEXEC, 0));
    if (local_listener >= 0) owned.local = Descriptor(::fcntl(local_listener, F_DUPFD_CLOEXEC, 0));
    std::vector<std::vector<Endpoint>> endpoints;
    for (const auto& of_rank : where) {
        endpoints.emplace_back();
        for (const auto& [host, port] : of_rank) {
            endpoints.back().push_back({host, static_cast<std::uint16_t>(port)});
        }
    }
    return std::make_unique<Mesh>(hello_of(rank, ranks, workers, job, plan), std::move(owned),
                                  std::move(endpoints), congestion, memory_bytes, std::move(tls));
}

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

void register_setting_up(nb::module_& module) {
    nb::class_<Forest>(module, "Forest")
        .def(nb::new_(&forest_of), "ranks"_a, "weights"_a, "reduce_parents"_a,
             "broadcast_parents"_a);
    module.def(
        "agreement",
        [](const Forest& forest, std::uint64_t chunk_bytes, bool in_order) {
            const std::uint64_t hash = mixed(forest.digest(), &chunk_bytes, sizeof(chunk_bytes));
            return mixed(hash, &in_order, sizeof(in_order));
        },
        "forest"_a, "chunk_bytes"_a, "in_order"_a);
    nb::class_<Mesh>(module, "Mesh")
        .def(nb::new_(&mesh_of), "rank"_a, "ranks"_a, "workers"_a, "job"_a, "plan"_a, "listeners"_a,
             "local_listener"_a, "endpoints"_a, "congestion"_a, "memory_bytes"_a, "tls"_a.none())
        .def("step", &Mesh::step, "milliseconds"_a, nb::call_guard<nb::gil_scoped_release>())
        .def("missing", &Mesh::missing)
        .def("dropped", &Mesh::dropped)
        .def("observed", &Mesh::observed);
    module.attr("HAS_TLS") = has_tls();
    nb::class_<TlsContext>(module, "TlsContext")
        .def(nb::new_([](std::string certificate, std::string key, std::string authority,
                         std::vector<int> names, std::uint64_t records_per_key,
                         bool is_record_by_record) {
                 return std::make_shared<TlsContext>(
                     TlsOptions{std::move(certificate), std::move(key), std::move(authority),
                                std::move(names), records_per_key, is_record_by_record});
             }),
             "certificate"_a, "key"_a, "authority"_a, "names"_a, "records_per_key"_a,
             "is_record_by_record"_a);
    module.def(
        "deal",
        [](const Forest& forest, std::size_t items, std::size_t item_bytes, std::size_t chunk_bytes,
           int workers, const WorkerWeights& weights) {
            check_weights(weights, workers);
            std::vector<std::uint32_t> routes(forest.routes());
            std::iota(routes.begin(), routes.end(), 0U);
            Deal deal = make_deal({{items, std::move(routes), forest.weights()}}, item_bytes,
                                  chunk_bytes, workers);
            deal_by_weight(deal, weights);
            return nb::make_tuple(deal.chunk_items, deal.route, deal.worker);
        },
        "forest"_a, "items"_a, "item_bytes"_a, "chunk_bytes"_a, "workers"_a,
        "weights"_a = WorkerWeights());
    module.def("chunk_bytes", &suitable_chunk_bytes, "size_bytes"_a, "routes"_a);
    nb::class_<Pace>(module, "Pace")
        .def(nb::init<>())
        .def_rw("bytes_per_s", &Pace::bytes_per_s)
        .def_rw("is_followed", &Pace::is_followed);
    nb::class_<Window>(module, "Window")
        .def(nb::init<Pace&, std::uint32_t, std::uint32_t, double, std::uint32_t>(), "pace"_a,
             "chunks"_a, "low"_a, "chunk_bytes"_a, "routes"_a, nb::keep_alive<1, 2>())
        .def_prop_ro("end", &Window::end)
        .def(
            "advance",
            [](Window& window, std::uint32_t low, double at_s) {
                const std::chrono::duration<double> at(at_s);
                return window.advance(low, Window::Clock::time_point(
                                               std::chrono::round<Window::Clock::duration>(at)));
            },
            "low"_a, "at_s"_a);
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
               std::string far_congestion) {
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
                                                    std::move(far_congestion)},
                                      forest, mesh.take(), std::move(names));
            },
            "rank"_a, "ranks"_a, "mesh"_a, "forest"_a, "names"_a, "chunk_bytes"_a, "in_order"_a,
            "silence_s"_a, "stall_s"_a, "send_buffer_bytes"_a, "spin_us"_a, "spins_carefully"_a,
            "cores"_a, "in_flight"_a, "far_congestion"_a)
        .def(
            "post",
            [](nb::handle_t<LentEngine> self, Buffer buffer, std::size_t items, DType dtype, Op op,
               int priority) {
                void* const data = buffer.data();
                return posted(
                    self,
                    lent(self).post(
                        std::make_shared<Buffer>(std::move(buffer)),
                        {Kind::kAllReduce, dtype, op, -1, {items}, {}, priority, data, data}));
            },
            "buffer"_a.noconvert(), "items"_a, "dtype"_a, "op"_a, "priority"_a)
        .def(
            "post_lent",
            [](nb::handle_t<LentEngine> self, nb::handle array, std::optional<DType> dtype, Op op,
               int priority) -> std::optional<Posted> {
                auto work = lent(self).post_lent(array, dtype, op, priority);
                if (!work) return std::nullopt;
                return posted(self, std::move(*work));
            },
            "array"_a, "dtype"_a.none(), "op"_a, "priority"_a)
        .def(
            "post_call",
            [](nb::handle_t<LentEngine> self, Kind kind, nb::handle input, nb::handle output,
               DType dtype, Op op, int root, std::vector<std::size_t> counts,
               std::vector<std::size_t> receive_counts, int priority) {
                return posted(self, lent(self).post_call(
                                        input, output,
                                        {kind, dtype, op, root, std::move(counts),
                                         std::move(receive_counts), priority, nullptr, nullptr}));
            },
            "kind"_a, "source"_a, "result"_a, "dtype"_a, "op"_a, "root"_a, "counts"_a,
            "receive_counts"_a, "priority"_a)
        .def(
            "post_message",
            [](nb::handle_t<LentEngine> self, nb::handle array, int peer, std::uint32_t tag,
               bool is_received) {
                return posted(self, lent(self).post_message(array, peer, tag, is_received));
            },
            "array"_a, "peer"_a, "tag"_a, "is_received"_a)
        .def(
            "post_message_at",
            [](nb::handle_t<LentEngine> self, nb::object owner, std::uintptr_t address,
               std::size_t size_bytes, int peer, std::uint32_t tag, bool is_received) {
                return posted(self, lent(self).post_message_at(std::move(owner), address,
                                                               size_bytes, peer, tag, is_received));
            },
            "owner"_a, "address"_a, "size_bytes"_a, "peer"_a, "tag"_a, "is_received"_a)
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
            [](LentEngine& self, double seconds) -> std::optional<std::pair<int, std::string>> {
                auto heard = self.engine.supervisor().hear(seconds);
                if (!heard) return std::nullopt;
                return std::pair{heard->rank, std::move(heard->text)};
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

/// The culprit's rank travels as the exception's second argument.
void register_mesh_error(nb::module_& module) {
    // Never freed: the interpreter may be gone by then.
    static PyObject* type;
    type = PyErr_NewException("plink.engine._native.MeshError", PyExc_RuntimeError, nullptr);
    module.attr("MeshError") = nb::handle(type);
    nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
        try {
            std::rethrow_exception(pointer);
        } catch (const MeshError& error) {
            PyErr_SetObject(type, nb::make_tuple(error.what(), error.rank).ptr());
        }
    });
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
    plink::engine::register_mesh_error(module);
    plink::engine::register_wire(module);
    plink::engine::register_figures(module);
    plink::engine::register_worker_figures(module);
    plink::engine::register_setting_up(module);
    plink::engine::register_work(module);
    plink::engine::register_engine(module);
}
