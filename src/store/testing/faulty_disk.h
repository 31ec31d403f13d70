#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

struct sqlite3_vfs;

namespace cardea::store {

// A disk for tests, as an SQLite VFS in memory. Data that was not synced is volatile: at a power
// failure each sector keeps any of the versions written to it since the last sync, independently of
// the other sectors. A test can also make calls fail that change the disk. One connection at a
// time, from any thread.
class FaultyDisk {
 public:
  FaultyDisk();
  ~FaultyDisk();  // after every connection is closed
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;

  const std::string& vfs() const { return name_; }

  // The n-th write, truncation or sync from now fails with `system_error` (ENOSPC or EIO), and so
  // do the next `times - 1`. A failed write leaves some of its bytes on the disk; a failed sync may
  // have reached the disk or not.
  void fail(std::int64_t n, int system_error, std::int64_t times, std::uint64_t seed);
  void heal();

  void cut_power(std::int64_t n);  // at the n-th such call from now
  void restore_power(std::uint64_t seed);
  bool powered() const;

  std::int64_t calls() const;  // writes, truncations and syncs so far

 private:
  friend struct FaultyFile;
  static constexpr std::size_t kSector = 512;
  struct File {
    std::string now;
    std::string durable;
    std::map<std::size_t, std::vector<std::string>> versions;  // of each sector since the last sync
    bool name_is_durable = false;
    bool syncs_directory = false;  // at its first sync, as SQLite does for journals
    bool deleted = false;          // and the deletion is not durable
  };

  std::shared_ptr<File> open(const std::string& path, bool create);
  void remove(const std::string& path, bool durably);
  void write(File& file, std::size_t offset, std::string_view bytes);
  void truncate(File& file, std::size_t size);
  void sync(File& file);
  int next_call();  // 0, or the error with which it fails

  mutable std::mutex lock_;
  std::string name_;
  std::unique_ptr<sqlite3_vfs> vfs_;
  std::map<std::string, std::shared_ptr<File>> files_;
  std::int64_t calls_ = 0;
  std::int64_t fail_from_ = 0;
  std::int64_t fail_until_ = 0;
  int fail_with_ = 0;
  int last_error_ = 0;
  std::int64_t power_until_ = 0;
  bool powered_ = true;
  std::mt19937_64 random_;
};

}  // namespace cardea::store
