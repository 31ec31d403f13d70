#include "audit/backups.h"

#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/strings.h"
#include "base/time_parse.h"

namespace cardea::audit {
namespace {

namespace fs = std::filesystem;
using Time = std::chrono::system_clock::time_point;

constexpr std::size_t kStampSize = 23;  // 2026-11-15T16-00-00.000
constexpr std::string_view kCompressed = ".gz";

std::string stamp(Time at) {
  std::string text = rfc3339_micro(at).substr(0, kStampSize);
  text[13] = text[16] = '-';
  return text;
}

std::optional<Time> time_in(std::string text) {
  if (text.size() != kStampSize || text[13] != '-' || text[16] != '-') return std::nullopt;
  text[13] = text[16] = ':';
  auto parsed = parse_rfc3339(text + "Z");
  if (!parsed) return std::nullopt;
  return to_time_point(*parsed);
}

struct Backup {
  fs::path path;
  Time at;
  bool is_compressed;
};

std::vector<Backup> backups_of(const fs::path& log) {
  std::vector<Backup> out;
  std::string before = log.stem().string() + "-", after = log.extension().string();
  std::error_code error;
  fs::path folder = log.has_parent_path() ? log.parent_path() : fs::path(".");
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::string name = at->path().filename().string();
    std::string_view rest = name;
    bool is_compressed = rest.ends_with(kCompressed);
    if (is_compressed) rest.remove_suffix(kCompressed.size());
    if (!rest.starts_with(before) || !rest.ends_with(after) ||
        rest.size() != before.size() + kStampSize + after.size())
      continue;
    if (auto time = time_in(std::string(rest.substr(before.size(), kStampSize))))
      out.push_back({at->path(), *time, is_compressed});
  }
  std::ranges::sort(out, [](const Backup& a, const Backup& b) { return a.at > b.at; });
  return out;
}

// The original goes when its copy is whole.
bool compress(const fs::path& path) {
  fs::path part = path.string() + std::string(kCompressed) + ".part";
  std::ifstream in(path, std::ios::binary);
  std::unique_ptr<gzFile_s, int (*)(gzFile)> out(::gzopen(part.c_str(), "wb"), ::gzclose);
  std::error_code error;
  bool good = in.is_open() && out;
  if (good) fs::permissions(part, fs::perms::owner_read | fs::perms::owner_write, error);
  std::string block(1u << 16, '\0');
  while (good && in) {
    in.read(block.data(), static_cast<std::streamsize>(block.size()));
    if (in.bad()) good = false;
    if (auto n = static_cast<unsigned>(in.gcount()); good && n > 0)
      good = ::gzwrite(out.get(), block.data(), n) == static_cast<int>(n);
  }
  if (gzFile_s* file = out.release()) good &= ::gzclose(file) == Z_OK;
  if (good) fs::rename(part, path.string() + std::string(kCompressed), error);
  if (good && !error)
    fs::remove(path, error);
  else
    fs::remove(part, error);
  return good && !error;
}

}  // namespace

std::string backup_name(const std::string& path, Time at) {
  fs::path log(path);
  for (;; at += std::chrono::milliseconds(1)) {
    fs::path name = log.parent_path() /
                    cat(log.stem().string(), "-", stamp(at), log.extension().string());
    std::error_code error;
    if (!fs::exists(name, error) && !fs::exists(name.string() + std::string(kCompressed), error))
      return name.string();
  }
}

std::vector<std::string> keep_backups(const std::string& path, const BackupRules& rules, Time now) {
  std::vector<std::string> problems;
  std::vector<Backup> all = backups_of(path);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Backup& b = all[i];
    bool is_too_many = rules.max_backups > 0 && i >= static_cast<std::size_t>(rules.max_backups);
    bool is_too_old = rules.max_age_days > 0 &&
                      now - b.at > std::chrono::hours(24) * rules.max_age_days;
    std::error_code error;
    if (is_too_many || is_too_old) {
      fs::remove(b.path, error);
      if (error)
        problems.push_back(cat("cannot remove `", b.path.string(), "`: ", error.message()));
    } else if (rules.compresses && !b.is_compressed && !compress(b.path)) {
      problems.push_back(cat("cannot compress `", b.path.string(), "`"));
    }
  }
  return problems;
}

}  // namespace cardea::audit
