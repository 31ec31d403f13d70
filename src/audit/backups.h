#pragma once
#include <chrono>
#include <string>
#include <vector>

// Old files of a log: how they are named, and which of them stay.
namespace cardea::audit {

// `logs/audit.log` renamed at that time: `logs/audit-2026-11-15T16-00-00.000.log`; a name that is
// not taken yet.
std::string backup_name(const std::string& path, std::chrono::system_clock::time_point at);

struct BackupRules {
  int max_backups = 0;   // 0: any number
  int max_age_days = 0;  // 0: any age
  bool compresses = false;
};

// Removes what the rules do not keep and compresses the rest. Files of other names are left alone.
// Gives what went wrong.
std::vector<std::string> keep_backups(const std::string& path, const BackupRules& rules,
                                      std::chrono::system_clock::time_point now);

}  // namespace cardea::audit
