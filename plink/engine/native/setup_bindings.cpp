#include "setup_bindings.hpp"

#include <fcntl.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <numeric>

#include "governor.hpp"
#include "loan.hpp"
#include "mesh.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace plink::engine {

namespace {

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

}  // namespace

void register_setting_up(nb::module_& module) {
    register_mesh_error(module);
    nb::class_<Forest>(module, "Forest")
        .def(nb::new_(&forest_of), "ranks"_a, "weights"_a, "reduce_parents"_a,
             "broadcast_parents"_a)
        .def(
            "hops",
            [](const Forest& forest, int route, int rank) {
                const Places places(forest, rank);
                const Places::Place& place = places.in(route);
                nb::dict by_child;
                for (const int child : place.broadcast_children) {
                    by_child[nb::int_(child)] = place.hops_by(child);
                }
                return nb::make_tuple(place.hops_to_root, place.hops_from_root, by_child);
            },
            "route"_a, "rank"_a);
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
    nb::class_<Governor>(module, "Governor")
        .def(nb::init<>())
        .def(
            "follow",
            [](Governor& governor, std::uint64_t busy_us, std::uint32_t segments,
               std::uint32_t again, std::uint32_t trip_us, std::uint32_t least_trip_us,
               std::uint64_t rate) {
                return governor.follow({busy_us, segments, again, trip_us, least_trip_us, rate});
            },
            nb::kw_only(), "busy_us"_a, "segments"_a, "again"_a, "trip_us"_a, "least_trip_us"_a,
            "rate"_a);
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

}  // namespace plink::engine
