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
    /// Contiguous memory, writable if it is to be; null where the object has no such.
    static std::shared_ptr<Loan> of(nanobind::handle object, bool is_writable);
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

/// A collective and what it reads and writes.
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

    /// Begins a collective on what `memory` keeps. Throws EngineFailed.
    Work post(std::shared_ptr<void> memory, const Request& request);
    /// An all-reduce where `array` lends its memory and type and operation are the engine's; no
    /// work where that is not so.
    std::optional<Work> post_lent(nanobind::handle array, std::optional<DType> dtype, Op op,
                                  int priority, std::uint64_t layout);
    /// Any collective. `input` and `output` lend their memory; they are one object where it is in
    /// place.
    ///
    /// Throws EngineFailed, and std::invalid_argument that says which buffer does not fit.
    Work post_call(nanobind::handle input, nanobind::handle output, Request request);
    /// A message from or to `array`. Throws EngineFailed, and std::invalid_argument where it lends
    /// no memory.
    Work post_message(nanobind::handle array, int peer, std::uint32_t tag, std::uint16_t type,
                      bool is_received);
    /// The same where it is known what memory `owner` keeps.
    Work post_message_at(nanobind::object owner, std::uintptr_t address, Content content, int peer,
                         std::uint32_t tag, bool is_received);
    void drain(double grace_s);
    void close();

  private:
    Work post_message_of(std::shared_ptr<void> memory, void* data, Content content, int peer,
                         std::uint32_t tag, bool is_received);
    Work kept(Work work);

    std::deque<Work> pending_;

  public:
    Engine engine;  ///< Ends before what it writes to.
};

}  // namespace plink::engine
