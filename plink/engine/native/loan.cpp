#include "loan.hpp"

#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>

namespace nb = nanobind;

namespace plink::engine {

namespace {

struct Loans {
    std::shared_ptr<Loan> input;
    std::shared_ptr<Loan> output;
};

/// How long a rank's buffers are.
struct Needs {
    std::size_t input_items;
    std::size_t output_items;
};

std::size_t sum(const std::vector<std::size_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

Needs needs_of(const Request& request, int rank) {
    const std::size_t all = sum(request.counts);
    if (request.kind == Kind::kReduceScatter) return {all, request.counts[rank]};
    if (request.kind == Kind::kAllGather) return {request.counts[rank], all};
    if (is_exchange(request.kind)) return {all, sum(request.receive_counts)};
    return {all, all};
}

void check_counts(const Request& request, int ranks) {
    const bool is_whole = !has_segments(request.kind) && !is_exchange(request.kind);
    const std::size_t wanted = is_whole ? 1 : static_cast<std::size_t>(ranks);
    if (request.counts.size() != wanted ||
        (is_exchange(request.kind) && request.receive_counts.size() != wanted)) {
        throw std::invalid_argument("there are not as many counts as ranks");
    }
    if (has_root(request.kind) && (request.root < 0 || request.root >= ranks)) {
        throw std::invalid_argument("there is no rank " + std::to_string(request.root) +
                                    " to be the root");
    }
}

void check_length(const char* name, const Loan& loan, std::size_t items, DType dtype) {
    if (loan.bytes() == items * item_bytes(dtype)) return;
    throw std::invalid_argument(
        "the " + std::string(name) + " has " + std::to_string(loan.bytes()) + " bytes, not the " +
        std::to_string(items * item_bytes(dtype)) + " of " + std::to_string(items) + " items");
}

}  // namespace

std::shared_ptr<Loan> Loan::of(nb::handle object, bool is_writable) {
    auto loan = std::make_shared<Loan>();
    const int wanted = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (is_writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object.ptr(), &loan->view_, wanted) == 0) return loan;
    PyErr_Clear();
    return nullptr;
}

std::optional<DType> Loan::dtype() const {
    const std::string_view format = view_.format == nullptr ? "B" : view_.format;
    if (format == "f") return DType::kFloat32;
    if (format == "d") return DType::kFloat64;
    if (format == "e") return DType::kFloat16;
    if (format == "i" || format == "l" || format == "q") {
        return view_.itemsize == 4 ? DType::kInt32 : DType::kInt64;
    }
    return std::nullopt;
}

Work LentEngine::post(std::shared_ptr<void> memory, const Request& request) {
    Work work{nullptr, std::make_shared<std::shared_ptr<void>>(std::move(memory))};
    {
        const nb::gil_scoped_release release;
        work.collective = engine.post(request);
    }
    return kept(std::move(work));
}

Work LentEngine::kept(Work work) {
    while (!pending_.empty() && pending_.front().is_over()) {
        // Out of the queue first: what ends with it may run Python, and so come here again.
        const Work over = std::move(pending_.front());
        pending_.pop_front();
    }
    if (!work.is_over()) pending_.push_back(work);
    return work;
}

std::optional<Work> LentEngine::post_lent(nb::handle array, std::optional<DType> dtype, Op op,
                                          int priority, std::uint64_t layout) {
    std::shared_ptr<Loan> loan = Loan::of(array, true);
    if (!loan) return std::nullopt;
    if (!dtype) dtype = loan->dtype();
    if (!dtype || loan->bytes() % item_bytes(*dtype) != 0) return std::nullopt;
    if (!can_reduce(*dtype, op)) return std::nullopt;
    void* const data = loan->data();
    const std::size_t items = loan->bytes() / item_bytes(*dtype);
    return post(std::move(loan),
                {Kind::kAllReduce, *dtype, op, -1, {items}, {}, priority, data, data, layout});
}

Work LentEngine::post_call(nb::handle input, nb::handle output, Request request) {
    const auto loans = std::make_shared<Loans>();
    loans->output = Loan::of(output, true);
    loans->input = input.is(output) ? loans->output : Loan::of(input, false);
    if (!loans->output) {
        throw std::invalid_argument("the result is not a writable, contiguous buffer of the CPU");
    }
    if (!loans->input) {
        throw std::invalid_argument("an array is not a contiguous buffer of the CPU");
    }
    if (reduces(request.kind) && !can_reduce(request.dtype, request.op)) {
        throw std::invalid_argument("this operation is not for numbers of this type");
    }
    check_counts(request, engine.ranks());
    const Needs needs = needs_of(request, engine.rank());
    check_length("input", *loans->input, needs.input_items, request.dtype);
    check_length("output", *loans->output, needs.output_items, request.dtype);
    request.input = loans->input->data();
    request.output = loans->output->data();
    return post(loans, request);
}

Work LentEngine::post_message(nb::handle array, int peer, std::uint32_t tag, std::uint16_t type,
                              bool is_received) {
    std::shared_ptr<Loan> loan = Loan::of(array, is_received);
    if (!loan) throw std::invalid_argument("an array is not a contiguous buffer of the CPU");
    void* const data = loan->data();
    const Content content{loan->bytes(), type};
    return post_message_of(std::move(loan), data, content, peer, tag, is_received);
}

Work LentEngine::post_message_at(nb::object owner, std::uintptr_t address, Content content,
                                 int peer, std::uint32_t tag, bool is_received) {
    return post_message_of(std::make_shared<nb::object>(std::move(owner)),
                           reinterpret_cast<void*>(address), content, peer, tag, is_received);
}

Work LentEngine::post_message_of(std::shared_ptr<void> memory, void* data, Content content,
                                 int peer, std::uint32_t tag, bool is_received) {
    Work work{nullptr, std::make_shared<std::shared_ptr<void>>(std::move(memory))};
    {
        const nb::gil_scoped_release release;
        work.collective = is_received ? engine.receive(data, content, peer, tag)
                                      : engine.send(data, content, peer, tag);
    }
    return kept(std::move(work));
}

void LentEngine::drain(double grace_s) {
    const nb::gil_scoped_release release;
    engine.drain(grace_s);
}

void LentEngine::close() {
    {
        const nb::gil_scoped_release release;
        engine.close();
    }
    std::deque<Work> over;
    over.swap(pending_);
}

}  // namespace plink::engine
