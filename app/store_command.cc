#include "app/store_command.h"

#include <cstdio>
#include <filesystem>
#include <optional>

#include "app/backup_file.h"
#include "app/command_line.h"
#include "app/progress.h"
#include "app/storage.h"
#include "base/strings.h"
#include "rest/at_rest/kubernetes_encoding.h"
#include "rest/controllers/controllers.h"
#include "rest/unreadable_records.h"
#include "store/backup.h"
#include "store/copy.h"
#include "store/sqlite/sqlite_store.h"

namespace cardea::app {
namespace {

// Keys that an engine or a running server makes for itself.
const std::vector<std::string> kOwnKeys{"/cardea/mark",    "/cardea/compaction",
                                        "/cardea/barrier", "/cardea/quiet",
                                        "/cardea/layout",  std::string(rest::kLiveServers)};

// One side of a copy, as it is written: "sqlite:data", "etcd:https://10.0.0.1:2379,...".
Result<std::unique_ptr<store::Store>> open_side(const std::string& where, StorageFlags flags,
                                                bool must_exist) {
  constexpr std::string_view kSqlite = "sqlite:", kEtcd = "etcd:";
  if (where.starts_with(kSqlite)) {
    const std::string folder = store_folder(where.substr(kSqlite.size()));
    std::error_code error;
    if (must_exist && !std::filesystem::exists(folder + "/cardea.db", error))
      return fail(bad_request(cat("there is no database in `", folder, "`")));
    std::filesystem::create_directories(std::filesystem::path(folder).parent_path(), error);
    if (error) return fail(internal_error(cat("cannot make `", folder, "`: ", error.message())));
    Progress progress(cat("loading ", where), Progress::Unit::kBytes);
    return store::open_sqlite_store(
        {.directory = folder,
         .history = {},
         .vfs = {},
         .progress = [&](std::uint64_t done, std::uint64_t all) { progress.show(done, all); }});
  }
  if (!where.starts_with(kEtcd))
    return fail(bad_request(cat("`", where, "` is neither sqlite:DIR nor etcd:URL,...")));
  flags.servers = {where.substr(kEtcd.size())};
  auto options = read_storage(flags);
  if (!options) return fail(options.error());
  options->etcd_compaction_interval = std::chrono::milliseconds(0);
  const Notice notice = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  auto encryption = open_encryption(*options, notice, nullptr);
  if (!encryption) return fail(encryption.error());
  Progress progress(cat("loading ", where), Progress::Unit::kRecords);
  return open_etcd(*options, std::chrono::hours(1), std::move(*encryption), notice,
                   [&](std::uint64_t done, std::uint64_t all) { progress.show(done, all); });
}

// What the source cannot read would be lost in the copy, such as Secrets without their keys.
Result<void> check_readable(const store::Store& source) {
  auto all = source.range({.keys = store::keys_with_prefix("/registry/")});
  if (!all) return fail(all.error());
  for (const store::RecordPtr& record : all->records)
    if (record->value().empty()) return fail(rest::unreadable(record->key()));
  return {};
}

Result<store::Checked> verify_backup(const std::string& path) {
  auto file = FileParts::open(path);
  if (!file) return fail(file.error());
  store::Checked out;
  store::BackupDecoder decoder([&](const store::BackupRecord& record) -> Result<void> {
    ++out.records;
    if (std::string flaw = rest::flaw_of_stored(record.value); !flaw.empty())
      out.damages.push_back({std::string(record.key), std::move(flaw)});
    return {};
  });
  for (;;) {
    auto part = file->next();
    if (!part) return fail(part.error());
    if (part->empty()) break;
    if (auto ok = decoder.add(*part); !ok) return fail(ok.error());
  }
  if (auto facts = decoder.finish(); !facts) return fail(facts.error());
  return out;
}

}  // namespace

int store_copy_command(int argc, char** argv) {
  std::string from, to;
  StorageFlags flags;
  CommandLine line(
      {"store copy",
       "Copies all objects from one store to another: SQLite in a data folder, or etcd. Stop the "
       "servers of both first. The target must be empty; a copy that was interrupted goes on when "
       "the command is run again, and no server starts on it before it is whole. At the end both "
       "are read and compared. Objects keep everything but their resourceVersions. Exits with 0, "
       "and with 2 when the copy is not whole.",
       {"store copy --from sqlite:DIR|etcd:URL,... --to sqlite:DIR|etcd:URL,... [flags]"},
       {"cardea store copy --from sqlite:data --to etcd:https://10.0.0.1:2379 --etcd-cafile ca.crt",
        "cardea store copy --from etcd:http://127.0.0.1:2379 --to sqlite:data"}});
  line.value("--from", from, "STORE", "where the objects are; DIR is the server's --data-dir");
  line.value("--to", to, "STORE", "where they go");
  line.begin_group("etcd");
  line.value("--etcd-prefix", flags.prefix, "PREFIX", "as for `serve` (default: /registry)");
  line.value("--etcd-cafile", flags.ca_file, "FILE", "as for `serve`");
  line.value("--etcd-certfile", flags.certificate_file, "FILE", "as for `serve`");
  line.value("--etcd-keyfile", flags.key_file, "FILE", "as for `serve`");
  line.value("--encryption-provider-config", flags.encryption, "FILE", "as for `serve`");
  if (auto status = line.read(argc, argv)) return *status;
  if (from.empty() || to.empty()) return line.misuse("`--from` and `--to` are required");
  if (from == to) return line.misuse("`--from` and `--to` are the same");
  auto source = open_side(from, flags, true);
  if (!source) return line.failed(cat(from, ": ", source.error().message));
  if (auto ok = check_readable(**source); !ok)
    return line.failed(cat(from, ": ", ok.error().message));
  auto target = open_side(to, flags, false);
  if (!target) return line.failed(cat(to, ": ", target.error().message));
  std::vector<std::string> left_out = kOwnKeys;
  // A server that is alone knows from the services which ports are given out.
  if ((*target)->is_always_fresh()) left_out.emplace_back(rest::kNodePortsKey);
  std::optional<Progress> progress(std::in_place, "copying", Progress::Unit::kRecords);
  auto copied = store::copy_store(
      **source, **target,
      {.left_out = left_out,
       .progress = [&](std::uint64_t done, std::uint64_t all) { progress->show(done, all); }});
  progress.reset();
  if (!copied) return line.failed(copied.error().message);
  std::puts(cat(copied->records, " records, ", copied->written, " of them written now, sha256 ",
                copied->hash)
                .c_str());
  return 0;
}

int store_verify_command(int argc, char** argv) {
  CommandLine line({"store verify",
                    "Reads the database of a server that is stopped, or a backup, all of it, and "
                    "prints one line "
                    "for each record that cannot be read. The exit status is 1 then.",
                    {"store verify [--data-dir DIR | --backup FILE]"}});
  std::string data_dir = "data", backup;
  line.value("--data-dir", data_dir, "DIR", "the server's folder (default: data)");
  line.value("--backup", backup, "FILE", "a backup, instead of a folder");
  if (auto status = line.read(argc, argv)) return *status;
  auto checked = backup.empty()
                     ? store::verify_sqlite_store(store_folder(data_dir), rest::flaw_of_stored)
                     : verify_backup(backup);
  if (!checked) {
    std::fprintf(stderr, "cardea store verify: %s\n", checked.error().message.c_str());
    return 1;
  }
  for (const store::Damage& damage : checked->damages)
    std::printf("%s: %s\n", damage.key.c_str(), damage.what.c_str());
  std::printf("%s\n",
              cat(checked->records, " records, ", checked->damages.size(), " damaged").c_str());
  return checked->damages.empty() ? 0 : 1;
}

}  // namespace cardea::app
