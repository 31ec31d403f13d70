#include "app/backup_command.h"

#include <cstdio>
#include <filesystem>

#include "app/backup_file.h"
#include "app/command_line.h"
#include "app/kube_client.h"
#include "app/storage.h"
#include "base/clock.h"
#include "base/strings.h"
#include "rest/backups.h"
#include "store/history.h"
#include "store/sqlite/sqlite_restore.h"
#include "store/sqlite/sqlite_store.h"

namespace cardea::app {
namespace {

using Take = KubeClient::Take;

Result<void> backup_of_server(const ServerChoice& choice, const Take& take) {
  auto server = KubeClient::make(choice);
  if (!server) return fail(server.error());
  return (*server)->download("POST", std::string(rest::Backups::kPath), take);
}

Result<void> backup_of_folder(const std::string& data_dir, const Take& take) {
  const std::string folder = store_folder(data_dir);
  std::error_code error;
  if (!std::filesystem::exists(folder + "/cardea.db", error))
    return fail(bad_request(cat("there is no database in `", folder, "`")));
  auto store = store::open_sqlite_store({.directory = folder, .history = {}, .vfs = {}});
  if (!store) return fail(store.error());
  auto snapshot = store::take_snapshot(**store);
  if (!snapshot) return fail(snapshot.error());
  const SystemClock clock;
  store::BackupEncoder encoder(std::move(*snapshot), store::unix_seconds(clock));
  constexpr std::size_t kPart = 1u << 20;
  for (;;) {
    const std::string part = encoder.next(kPart);
    if (part.empty()) return {};
    if (auto ok = take(part); !ok) return ok;
  }
}

std::string as_text(const store::BackupFacts& facts) {
  return cat(facts.records, " records of revision ", facts.revision, ", sha256 ", facts.sha256);
}

}  // namespace

int store_backup_command(int argc, char** argv) {
  std::string path, data_dir;
  ServerChoice choice;
  CommandLine line(
      {"store backup",
       "Writes all objects of a running server to a file, as they were at one moment; the server "
       "serves on. The caller needs the verb `post` on the path /store/backup and `list` on every "
       "kind. With --data-dir the server must be stopped, and none is asked. The file is there "
       "only when it is whole and checked. It has Secrets in clear text, so only its owner can "
       "read it. Keys and certificates of the data folder are not in it. Exits with 2 when there "
       "is no backup.",
       {"store backup FILE [flags]"},
       {"cardea store backup monday.backup", "cardea store backup monday.backup --data-dir data"}});
  line.word("FILE", path, "the backup; it must not exist yet");
  line.value("--data-dir", data_dir, "DIR", "the folder of a server that is stopped");
  declare_server(line, choice);
  if (auto status = line.read(argc, argv)) return *status;
  if (path.empty()) return line.misuse("which FILE?");
  auto file = NewFile::make(path);
  if (!file) return line.failed(file.error().message);
  store::BackupDecoder check([](const store::BackupRecord&) { return Result<void>(); });
  const Take take = [&](std::string_view bytes) -> Result<void> {
    if (auto ok = check.add(bytes); !ok) return ok;
    return file->write(bytes);
  };
  auto made = data_dir.empty() ? backup_of_server(choice, take) : backup_of_folder(data_dir, take);
  if (!made) return line.failed(made.error().message);
  auto facts = check.finish();
  if (!facts) return line.failed(facts.error().message);
  if (auto ok = file->finish(); !ok) return line.failed(ok.error().message);
  std::puts(as_text(*facts).c_str());
  return 0;
}

int store_restore_command(int argc, char** argv) {
  std::string path, data_dir;
  bool replace = false;
  CommandLine line(
      {"store restore",
       "Makes the store of a server that is stopped from a backup. The whole backup is checked "
       "before anything is replaced. Afterwards revisions are higher than any that clients may "
       "remember, so that they list again instead of going on where they were. Exits with 2 when "
       "nothing was restored.",
       {"store restore FILE --data-dir DIR [--replace]"},
       {"cardea store restore monday.backup --data-dir data"}});
  line.word("FILE", path, "the backup");
  line.value("--data-dir", data_dir, "DIR", "the server's folder; it is made when missing");
  line.flag("--replace", replace, "replaces the store that is in the folder; it is lost");
  if (auto status = line.read(argc, argv)) return *status;
  if (path.empty() || data_dir.empty()) return line.misuse("FILE and `--data-dir` are required");
  auto file = FileParts::open(path);
  if (!file) return line.failed(file.error().message);
  const std::string folder = store_folder(data_dir);
  std::error_code error;
  std::filesystem::create_directories(data_dir, error);
  if (error) return line.failed(cat("cannot make `", data_dir, "`: ", error.message()));
  auto restored = store::restore_sqlite_store(folder, replace, [&] { return file->next(); });
  if (!restored && restored.error().reason == Reason::kConflict && !replace)
    return line.failed(cat(restored.error().message, "; `--replace` replaces it"));
  if (!restored) return line.failed(restored.error().message);
  std::puts(cat(as_text(restored->backup), "; restored as revision ", restored->revision).c_str());
  return 0;
}

}  // namespace cardea::app
