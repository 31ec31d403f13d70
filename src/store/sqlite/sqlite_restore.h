#pragma once
#include <functional>
#include <string>

#include "store/backup.h"

namespace cardea::store {

// How far revisions jump at a restore. Clients may remember revisions that were made after the
// backup. All of them are then in the past and compacted: a watch from there is told so (410), and
// does not silently go on in another history.
inline constexpr Revision kRestoreJump = 1'000'000'000;

struct Restored {
  BackupFacts backup;
  Revision revision = 0;  // of the store now: no client has ever seen it
};

// Makes the store of a folder from the backup that `read` brings part by part, an empty part at its
// end. Everything is written to a file of its own and checked first; only then that file takes the
// place of the database, in one step. A database that is there is an error unless `replace`. So is
// a server that runs in the folder.
Result<Restored> restore_sqlite_store(const std::string& directory, bool replace,
                                      const std::function<Result<std::string>()>& read);

}  // namespace cardea::store
