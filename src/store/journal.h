#pragma once
#include <functional>

#include "store/revision_times.h"
#include "store/timeline.h"

namespace cardea::store {

// How an attempt to write a batch ended.
struct Written {
  enum class Outcome {
    kDurable,
    kRejected,  // nothing was written, and nothing will be
    kUnknown,   // it may be there; `resolve` must find out before anything else is written
  };
  Outcome outcome = Outcome::kUnknown;
  std::string trouble;  // what went wrong, for a person
};

// The durable storage of a LocalStore. After `load` only the writer thread of its store uses
// it.
class Journal {
 public:
  // Finds the current record of a key.
  using Find = std::function<const RecordPtr*(std::string_view)>;

  enum class Tidied { kDone, kMore, kFailed };

  virtual ~Journal() = default;

  // Loads everything, once, before any other call. May store a `place` in the records. `find` may
  // be used by the writer thread, from the first write on.
  virtual Result<Remembered> load(Find find) = 0;

  // Makes all events durable together, or none of them.
  virtual Written write(std::span<const EventPtr> events) = 0;

  // After kUnknown: was `events` written? Never returns kUnknown without having tried.
  virtual Written resolve(std::span<const EventPtr> events) = 0;

  // One small step of deleting records that were superseded up to `compacted`, and of giving
  // space back. `busy` says that writers are waiting.
  virtual Tidied tidy(Revision compacted, bool busy) = 0;

  // Remembers that `revision` was current at `seconds` (Unix time), so that history ages across
  // restarts. It is written along with the next batch.
  virtual void mark(Revision revision, std::int64_t seconds) = 0;
  using Mark = RevisionTimes::Mark;
  virtual std::vector<Mark> marks() const = 0;  // as of load(), oldest first

  virtual std::uint64_t file_bytes() const = 0;  // from any thread
  virtual std::string trouble() const = 0;  // from the writer thread; of the last failed tidy()
};

}  // namespace cardea::store
