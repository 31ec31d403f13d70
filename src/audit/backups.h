#pragma once
#include <chrono>
#include <string>
#include <vector>

// Old files of a log: their names, and which of them are kept.
namespace cardea::audit {

// `logs/audit.log` renamed at that time: `logs/audit-2026-11-15T16-00-00.000.log`; a name that is
// not taken yet.
std::string backup_name(const std::string& path, std::chrono::system_clock::time_point at);

struct BackupRules {
  int max_backups = 0;   // 0: any number
  int max_age_days = 0;  // 0: any age
  bool compresses = false;
};

// Removes the files that the rules do not keep and compresses the others. Files with other
// names are not touched. Returns the errors.
std::vector<std::string> keep_backups(const std::string& path, const BackupRules& rules,
                                      std::chrono::system_clock::time_point now);

}  // namespace cardea::audit
