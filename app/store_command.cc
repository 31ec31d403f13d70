#include "app/store_command.h"

#include <cstdio>
#include <filesystem>

#include "app/command_line.h"
#include "base/strings.h"
#include "rest/unreadable_records.h"
#include "store/sqlite/sqlite_store.h"

namespace cardea::app {

int store_verify_command(int argc, char** argv) {
  CommandLine line({"store verify",
                    "Reads the database of a server that is stopped, all of it, and prints what is "
                    "damaged: one line for each record that cannot be read. The exit status is 1 "
                    "then.",
                    {}});
  std::string data_dir = "data";
  line.value("--data-dir", data_dir, "DIR", "the server's folder (default: data)");
  if (auto status = line.read(argc, argv)) return *status;
  const std::string folder = (std::filesystem::path(data_dir) / "store").string();
  auto checked = store::verify_sqlite_store(
      folder, [](std::string_view value) { return rest::flaw_of_stored(value); });
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
