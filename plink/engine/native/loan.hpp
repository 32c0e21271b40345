#pragma once

#include <nanobind/nanobind.h>

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "engine.hpp"

namespace plink::engine {

/// The memory of a Python object, which it can neither move nor free meanwhile. Ends with Python's
/// global lock held.
class Loan {
  public:
    /// Writable and contiguous memory; null where the object has no such.
    static std::shared_ptr<Loan> of(nanobind::handle object);
    Loan() = default;
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    ~Loan() { PyBuffer_Release(&view_); }

    void* data() const { return view_.buf; }
    std::size_t bytes() const { return static_cast<std::size_t>(view_.len); }
    /// Of its items; none where the engine has no such type.
    std::optional<DType> dtype() const;

  private:
    Py_buffer view_{};
};

/// An all-reduce and what it writes to.
struct Work {
    std::shared_ptr<Collective> collective;
    std::shared_ptr<std::shared_ptr<void>> memory;  ///< empty once it has been waited for
    bool is_over() const { return collective->status() != Collective::Status::kPending; }
};

/// An engine, and what it may still write to even where Python has dropped it.
class LentEngine {
  public:
    LentEngine(int rank, int ranks, EngineOptions options, const Forest& forest,
               std::vector<std::vector<Line>> lines, std::vector<std::string> names)
        : engine(rank, ranks, std::move(options), forest, std::move(lines), std::move(names)) {}

    /// Begins an all-reduce of what `memory` keeps. Throws EngineFailed.
    Work post(std::shared_ptr<void> memory, void* data, std::size_t items, DType dtype, Op op);
    /// The same where `array` lends its memory and type and operation are the engine's; no work
    /// where that is not so.
    std::optional<Work> post_lent(nanobind::handle array, std::optional<DType> dtype, Op op);
    void close();

  private:
    std::deque<Work> pending_;

  public:
    Engine engine;  ///< Ends before what it writes to.
};

}  // namespace plink::engine
