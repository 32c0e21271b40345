#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plink::transport {

/// What goes wrong with a peer, most telling first: of several reports the first kind wins.
enum class Cause : std::uint8_t {
    kLost,      ///< its process ended, or the connection broke
    kProtocol,  ///< it sent what no rank sends
    kMismatch,  ///< it called another collective
    kSilent,    ///< nothing was heard of it for too long
    kLeft,      ///< it closed its connections before this collective
    kStalled,   ///< it has not joined this collective for too long
};

/// One rank's word on what went wrong.
struct Report {
    Cause cause;
    int culprit;   ///< a rank
    int reporter;  ///< a rank
    std::string text;
};

/// The one of several reports that every rank goes by, in whatever order it heard them.
const Report& decisive(const std::vector<Report>& reports);

/// What a rank says of a peer whose call differs from its own.
std::string mismatch_text(std::uint64_t collective);

/// Who is told of it.
class Complaints {
  public:
    virtual void complain(Cause cause, int peer, const std::string& what) = 0;

  protected:
    ~Complaints() = default;
};

/// What ranks tell each other beside the data: on every control connection, 12 bytes (kind, cause,
/// length of the text, value) and the text.
struct Message {
    enum class Kind : std::uint8_t {
        kBeat = 1,    ///< value: collectives posted (48 bits), signature of the last (16)
        kLeave = 2,   ///< value: how many it has completed, before which it needs no more
        kAbort = 3,   ///< value: the culprit's rank; cause and text say what it did
        kTell = 4,    ///< text: for whoever listens there
        kLetter = 5,  ///< text: a piece of bytes for whoever reads there; value: 1 for the last
    };
    Kind kind;
    std::uint64_t value = 0;
    Cause cause = Cause::kLost;
    std::string text;
};

/// Of the text of a message; of words for whoever listens more than of a sentence for people.
std::size_t most_text_bytes(Message::Kind kind);

/// Longer texts are cut.
std::string encode(const Message& message);

/// Bytes in, messages out.
class MessageReader {
  public:
    /// Texts for people come as they can be shown. Throws std::runtime_error where these are no
    /// messages.
    std::vector<Message> feed(const char* bytes, std::size_t size);

  private:
    std::string rest_;
};

}  // namespace plink::transport
