#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "control.hpp"
#include "letters.hpp"
#include "shared_stream.hpp"
#include "socket.hpp"
#include "words.hpp"

namespace plink::transport {

/// What is under way on this rank.
struct Pending {
    std::uint64_t posted = 0;             ///< collectives so far
    std::uint16_t latest_signature = 0;   ///< of the one posted last
    std::optional<std::uint64_t> oldest;  ///< that has not ended
    std::chrono::steady_clock::time_point oldest_posted_at{};
    std::vector<int> awaited{};  ///< peers of messages under way; negative for any
};

/// Whom a supervisor serves. It calls from its own thread.
class Supervised {
  public:
    virtual Pending pending() = 0;
    /// Of a collective that was posted not long ago.
    virtual std::optional<std::uint16_t> signature(std::uint64_t collective) = 0;
    /// The ranks' verdict: nothing goes on.
    virtual void fail(const Report& verdict) = 0;

  protected:
    ~Supervised() = default;
};

struct SupervisorOptions {
    double silence_s;  ///< a peer of which nothing is heard for so long is given up
    double stall_s;    ///< so is one that does not join a collective
};

/// One thread with a control connection to every peer. It says that this rank is alive, finds out
/// who is not, and comes to one verdict with the other ranks.
///
/// The verdict: whoever learns of a failure tells all others, once, and waits until each of them
/// has told its own, has gone, or five seconds have passed; of all reports the `decisive` one
/// counts. So ranks that saw different things of one failure name the same culprit.
class Supervisor final : public Complaints {
  public:
    using Clock = std::chrono::steady_clock;

    /// `sockets`: by rank, connected and non-blocking; none for this rank. `names`: by rank, for
    /// people.
    Supervisor(int rank, std::vector<Stream> sockets, std::vector<std::string> names,
               SupervisorOptions options, Supervised& supervised);
    ~Supervisor();

    void complain(Cause cause, int peer, const std::string& what) override;
    /// Somebody may have left before a collective that has now been posted.
    void look_again() { alarm_.ring(); }
    /// Tells all ranks, this one too, what `hear` hands out there. It is cut after 60,000 bytes,
    /// and comes as it can be shown.
    void tell(std::string text) {
        words_.tell(std::move(text));
        alarm_.ring();
    }
    /// What any rank told next; none where nothing comes within `seconds`, or this has ended.
    std::optional<Words::Heard> hear(double seconds) { return words_.next(seconds); }
    /// Bytes for single peers, and of them.
    const std::shared_ptr<Letters>& letters() const { return letters_; }
    /// Tells all peers that this rank takes part in collectives below `completed` only; ends the
    /// thread.
    void leave(std::uint64_t completed);

    /// The least number of collectives that a peer who has left completed.
    std::uint64_t least_left() const { return least_left_.load(); }

  private:
    struct Peer {
        SharedStream socket;
        MessageReader reader;
        Clock::time_point heard_at;
        std::uint64_t posted = 0;
        std::optional<std::uint64_t> left;
        Clock::time_point left_at{};
        std::optional<Clock::time_point> lost_at;  ///< a data connection ended
        std::string lost_how;
        bool is_open = false;
        bool has_reported = false;
    };
    struct Complaint {
        Cause cause;
        int peer;
        std::string what;
    };

    void run();
    void wait(Clock::time_point until);
    void receive(int rank);
    void read_messages(int rank, const char* bytes, std::size_t size);
    void obey(int rank, const Message& message);
    void hear_beat(int rank, std::uint64_t value);
    void say(int rank, const Message& message);
    void say_to_all(const Message& message);
    void close(int rank, const std::string& how);
    void pass_on_words();
    void carry(int rank, const std::string& letter);
    void take_complaints();
    void judge_lost(Clock::time_point now);
    void judge_leavers();
    bool has_earlier(const Pending& pending, std::uint64_t left) const;
    bool may_end_first(Clock::time_point now);
    void judge_left_in_messages(Clock::time_point now, const Pending& pending);
    void beat(Clock::time_point now);
    void judge_silence(Clock::time_point now, const Pending& pending);
    void judge_stall(Clock::time_point now, const Pending& pending);
    void report(Cause cause, int culprit, const std::string& text);
    void add(Report report);
    void settle(Clock::time_point now);
    void say_farewell();
    std::string name(int rank) const;

    int rank_;
    std::vector<Peer> peers_;
    std::vector<std::string> names_;
    SupervisorOptions options_;
    Clock::duration interval_;
    Supervised& supervised_;
    Alarm alarm_;
    Words words_;
    const std::shared_ptr<Letters> letters_ = std::make_shared<Letters>(
        [this](int rank, const std::string& letter) { carry(rank, letter); },
        [this] { alarm_.ring(); });
    std::atomic<std::uint64_t> least_left_{UINT64_MAX};
    std::vector<Report> reports_;
    Clock::time_point settled_by_{};
    bool has_settled_ = false;
    bool is_deferring_ = false;  ///< what is known of one that left, for what it took part in
    Clock::time_point next_beat_;

    std::mutex mutex_;
    std::vector<Complaint> complaints_;
    std::optional<std::uint64_t> leaves_after_;
    std::thread thread_;
};

}  // namespace plink::transport
