#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "connection.hpp"
#include "control.hpp"
#include "message.hpp"
#include "meter.hpp"
#include "vigil.hpp"
#include "wake_up.hpp"

namespace plink::engine {

/// Who knows what messages there are.
class Mailbox {
  public:
    /// A peer says something about messages; called by the driver of worker 0. Throws
    /// std::runtime_error where it must not.
    virtual void hear(int peer, std::uint16_t id, Note note, const Wish& wish) = 0;
    /// As `Inbox`; called by the same.
    virtual std::shared_ptr<Eager> arrive(int peer, std::uint16_t heard, const Wish& wish) = 0;
    virtual void finish(const std::shared_ptr<Eager>& eager) = 0;
    /// Worker 0 has ended.
    virtual void end_arrivals() = 0;

  protected:
    ~Mailbox() = default;
};

struct WorkerOptions {
    bool in_order;       ///< add contributions in a fixed order
    int most_in_flight;  ///< collectives at once
    int core;            ///< to run on, or -1 for any
    Spin spin;           ///< of a caller that carries a collective
    Pace pace;           ///< what is known of it
};

/// One connection to every peer, and a thread. It carries its chunks of every collective.
///
/// At any time at most one thread *drives* the worker, which means that all it has but what
/// `mutex_` guards is that thread's: its own thread while collectives are under way, or the thread
/// that waits for a small one, which saves the ways to another thread and back. While nothing is
/// under way nobody does.
class Worker final : public Carrier, private Flight {
  public:
    /// `lines`: by rank, connected and non-blocking; none for this rank.
    Worker(int index, int rank, std::vector<Line> lines, WorkerOptions options,
           Complaints& complaints, Mailbox& mailbox);
    ~Worker();

    /// False where the worker has stopped. Collectives are posted in ascending order.
    bool post(std::shared_ptr<Collective> collective);
    void carry(Collective& collective, Collective::Clock::time_point until) noexcept override;
    /// False where the worker has stopped. It is sent to a peer that wants it, or is received.
    bool post_message(std::shared_ptr<Message> message);
    /// When the thread looks at what was posted while nobody drives.
    enum class Wake {
        kAtOnce,
        kSoon,  ///< unless a caller, who may be about to wait for it, has by then
        kLater  ///< once something else wakes it
    };
    /// Tells a peer something about messages.
    void tell(int peer, std::uint16_t id, Note note, const Wish& wish, Wake wake = Wake::kAtOnce);
    /// So many more messages wait for what a peer says: somebody must read.
    void expect(int more, Wake wake = Wake::kAtOnce);
    /// This worker has no part in that collective.
    void skip(std::uint64_t collective);
    /// Makes the thread end, and its parts in collectives without a result.
    void halt();
    /// Waits until it has.
    void stop();

    const std::vector<std::unique_ptr<Connection>>& connections() const { return connections_; }
    const Meter& meter() const { return meter_; }

  private:
    static constexpr auto kUntilWaitedFor = std::chrono::microseconds(100);

    /// Puts frames of one collective on this worker's connections.
    class SlotOutbox final : public Outbox {
      public:
        SlotOutbox(Worker& worker, int slot) : worker_(worker), slot_(slot) {}
        void send(int peer, std::uint32_t chunk, Phase phase) override;
        void widen() override;

      private:
        Worker& worker_;
        const int slot_;
    };
    /// Room for one collective in flight.
    struct Slot {
        Slot(Worker& worker, int index) : outbox(worker, index) {}
        SlotOutbox outbox;
        std::unique_ptr<Part> part;  ///< null where there is none now
    };

    const InFlight* find(std::uint16_t collective) const override;
    const InFlight* find_message(int peer, std::uint16_t id) const override;
    void hear(int peer, std::uint16_t id, Note note, const Wish& wish) const override;
    std::shared_ptr<Eager> arrive(int peer, std::uint16_t heard, const Wish& wish) const override;
    void finish(const std::shared_ptr<Eager>& eager) const override;
    const InFlight* begin() const override { return in_flight_.data(); }
    const InFlight* end() const override { return in_flight_.data() + in_flight_.size(); }

    enum class Driver { kNobody, kThread, kCaller };

    void run();
    bool take_up();
    void hand_back();
    int watch(int milliseconds);
    void attend_some();
    void begin_posted();
    void begin(std::shared_ptr<Collective> collective);
    void begin(std::shared_ptr<Message> message);
    void tell_posted();
    bool has_work() const { return !in_flight_.empty() || expected_ > 0; }
    void wake_locked(Wake wake);
    void drive_locked(Driver driver);
    void check_for_messages() const;
    int free_slot();
    void attend(Connection& connection);
    void attend_later(Connection& connection);
    void drop(Connection& connection, Cause cause, const char* what);
    void retire();
    void give_up();

    int index_;
    int rank_;
    const WorkerOptions options_;
    Complaints& complaints_;
    Mailbox& mailbox_;
    Descriptor epoll_;
    Alarm alarm_;                                           ///< for whoever drives
    std::vector<std::unique_ptr<Connection>> connections_;  ///< by rank, null for this one
    std::deque<Connection*> waiting_;                       ///< for attention
    Staging staging_;
    Meter meter_;

    std::size_t collectives_in_flight_ = 0;
    std::vector<InFlight> in_flight_;
    std::deque<Slot> slots_;
    bool is_posted_by_driver_ = false;  ///< while it attended to what came
    bool has_attended_all_ = false;
    Vigil vigil_;  ///< of a caller that drives
    Pace pace_;

    mutable std::mutex mutex_;
    std::deque<std::shared_ptr<Collective>> posted_;
    std::deque<std::shared_ptr<Message>> posted_messages_;
    struct Word {
        int peer;
        std::uint16_t id;
        Note note;
        Wish wish;
    };
    std::deque<Word> words_;  ///< that peers are to be told
    std::atomic<int> expected_{0};
    std::uint64_t announced_ = 0;  ///< collectives below this number were posted or skipped
    bool is_stopped_ = false;
    Driver driver_ = Driver::kNobody;
    std::thread::id driving_thread_;
    bool is_called_soon_ = false;  ///< the thread, unless somebody drives before
    WakeUp wake_up_;               ///< of the thread, while it does not drive
    std::atomic<bool> must_stop_{false};
    std::thread thread_;
};

}  // namespace plink::engine
