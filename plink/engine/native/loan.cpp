#include "loan.hpp"

#include <string_view>

namespace nb = nanobind;

namespace plink::engine {

std::shared_ptr<Loan> Loan::of(nb::handle object) {
    auto loan = std::make_shared<Loan>();
    const int wanted = PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS | PyBUF_FORMAT;
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

Work LentEngine::post(std::shared_ptr<void> memory, void* data, std::size_t items, DType dtype,
                      Op op) {
    Work work{nullptr, std::make_shared<std::shared_ptr<void>>(std::move(memory))};
    {
        const nb::gil_scoped_release release;
        work.collective = engine.post(data, items, dtype, op);
    }
    while (!pending_.empty() && pending_.front().is_over()) {
        // Out of the queue first: what ends with it may run Python, and so come here again.
        const Work over = std::move(pending_.front());
        pending_.pop_front();
    }
    if (!work.is_over()) pending_.push_back(work);
    return work;
}

std::optional<Work> LentEngine::post_lent(nb::handle array, std::optional<DType> dtype, Op op) {
    std::shared_ptr<Loan> loan = Loan::of(array);
    if (!loan) return std::nullopt;
    if (!dtype) dtype = loan->dtype();
    if (!dtype || loan->bytes() % item_bytes(*dtype) != 0) return std::nullopt;
    if (op == Op::kAnd && !is_whole(*dtype)) return std::nullopt;
    void* const data = loan->data();
    const std::size_t items = loan->bytes() / item_bytes(*dtype);
    return post(std::move(loan), data, items, *dtype, op);
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
