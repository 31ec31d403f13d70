#include "store/testing/faulty_disk.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <limits>

namespace cardea::store {

// SQLite allocates this struct and knows only its first member.
struct FaultyFile {
  sqlite3_file base;
  FaultyDisk* disk;
  std::shared_ptr<FaultyDisk::File>* file;

  static FaultyFile& of(sqlite3_file* raw) { return *reinterpret_cast<FaultyFile*>(raw); }
  static FaultyDisk& of(sqlite3_vfs* vfs) { return *static_cast<FaultyDisk*>(vfs->pAppData); }

  static int close(sqlite3_file* raw) {
    delete of(raw).file;
    return SQLITE_OK;
  }

  static int read(sqlite3_file* raw, void* out, int size, sqlite3_int64 offset) {
    FaultyFile& self = of(raw);
    std::lock_guard guard(self.disk->lock_);
    if (!self.disk->powered_) return SQLITE_IOERR_READ;
    const std::string& bytes = (*self.file)->now;
    std::size_t at = std::min(static_cast<std::size_t>(offset), bytes.size());
    std::size_t have = std::min(static_cast<std::size_t>(size), bytes.size() - at);
    std::memcpy(out, bytes.data() + at, have);
    if (have == static_cast<std::size_t>(size)) return SQLITE_OK;
    std::memset(static_cast<char*>(out) + have, 0, static_cast<std::size_t>(size) - have);
    return SQLITE_IOERR_SHORT_READ;
  }

  static int write(sqlite3_file* raw, const void* data, int size, sqlite3_int64 offset) {
    FaultyFile& self = of(raw);
    std::lock_guard guard(self.disk->lock_);
    std::string_view bytes(static_cast<const char*>(data), static_cast<std::size_t>(size));
    int error = self.disk->next_call();
    if (error != 0) bytes = bytes.substr(0, self.disk->random_() % bytes.size());
    if (self.disk->powered_) self.disk->write(**self.file, static_cast<std::size_t>(offset), bytes);
    return error == 0 ? SQLITE_OK : error == ENOSPC ? SQLITE_FULL : SQLITE_IOERR_WRITE;
  }

  static int truncate(sqlite3_file* raw, sqlite3_int64 size) {
    FaultyFile& self = of(raw);
    std::lock_guard guard(self.disk->lock_);
    if (self.disk->next_call() != 0) return SQLITE_IOERR_TRUNCATE;
    self.disk->truncate(**self.file, static_cast<std::size_t>(size));
    return SQLITE_OK;
  }

  static int sync(sqlite3_file* raw, int) {
    FaultyFile& self = of(raw);
    std::lock_guard guard(self.disk->lock_);
    int error = self.disk->next_call();
    if (self.disk->powered_ && (error == 0 || self.disk->random_() % 2 == 0))
      self.disk->sync(**self.file);
    return error == 0 ? SQLITE_OK : SQLITE_IOERR_FSYNC;
  }

  static int file_size(sqlite3_file* raw, sqlite3_int64* out) {
    FaultyFile& self = of(raw);
    std::lock_guard guard(self.disk->lock_);
    if (!self.disk->powered_) return SQLITE_IOERR_FSTAT;
    *out = static_cast<sqlite3_int64>((*self.file)->now.size());
    return SQLITE_OK;
  }

  static int lock(sqlite3_file*, int) { return SQLITE_OK; }
  static int check_reserved(sqlite3_file*, int* out) {
    *out = 0;
    return SQLITE_OK;
  }
  static int control(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
  static int sector_size(sqlite3_file*) { return 4096; }
  static int characteristics(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

  static int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* raw, int flags,
                  int* out_flags) {
    static const sqlite3_io_methods methods = {
        1,       close,          read,    write,       truncate,        sync,    file_size, lock,
        lock,    check_reserved, control, sector_size, characteristics, nullptr, nullptr,   nullptr,
        nullptr, nullptr,        nullptr};
    FaultyDisk& disk = of(vfs);
    FaultyFile& self = of(raw);
    self.base.pMethods = nullptr;
    std::lock_guard guard(disk.lock_);
    if (!disk.powered_) return SQLITE_CANTOPEN;
    auto file = disk.open(path, (flags & SQLITE_OPEN_CREATE) != 0);
    if (!file) return SQLITE_CANTOPEN;
    file->syncs_directory = (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)) != 0;
    self.base.pMethods = &methods;
    self.disk = &disk;
    self.file = new std::shared_ptr<FaultyDisk::File>(std::move(file));
    if (out_flags) *out_flags = flags;
    return SQLITE_OK;
  }

  static int remove(sqlite3_vfs* vfs, const char* path, int sync_directory) {
    FaultyDisk& disk = of(vfs);
    std::lock_guard guard(disk.lock_);
    if (disk.next_call() != 0) return SQLITE_IOERR_DELETE;
    disk.remove(path, sync_directory != 0);
    return SQLITE_OK;
  }

  static int access(sqlite3_vfs* vfs, const char* path, int, int* out) {
    FaultyDisk& disk = of(vfs);
    std::lock_guard guard(disk.lock_);
    auto file = disk.files_.find(path);
    *out = file != disk.files_.end() && !file->second->deleted;
    return SQLITE_OK;
  }

  static int full_path(sqlite3_vfs*, const char* path, int size, char* out) {
    sqlite3_snprintf(size, out, "%s", path);
    return SQLITE_OK;
  }

  static int last_error(sqlite3_vfs* vfs, int, char*) {
    std::lock_guard guard(of(vfs).lock_);
    return of(vfs).last_error_;
  }
};

FaultyDisk::FaultyDisk() : vfs_(std::make_unique<sqlite3_vfs>()) {
  static std::atomic<int> next{0};
  name_ = "faulty-" + std::to_string(next++);
  const sqlite3_vfs* usual = sqlite3_vfs_find(nullptr);
  *vfs_ = *usual;  // randomness, sleeping and time as usual
  vfs_->iVersion = 1;
  vfs_->szOsFile = sizeof(FaultyFile);
  vfs_->pNext = nullptr;
  vfs_->zName = name_.c_str();
  vfs_->pAppData = this;
  vfs_->xOpen = FaultyFile::open;
  vfs_->xDelete = FaultyFile::remove;
  vfs_->xAccess = FaultyFile::access;
  vfs_->xFullPathname = FaultyFile::full_path;
  vfs_->xGetLastError = FaultyFile::last_error;
  sqlite3_vfs_register(vfs_.get(), 0);
}

FaultyDisk::~FaultyDisk() {
  sqlite3_vfs_unregister(vfs_.get());
}

void FaultyDisk::fail(std::int64_t n, int system_error, std::int64_t times, std::uint64_t seed) {
  std::lock_guard guard(lock_);
  fail_from_ = calls_ + n;
  fail_until_ = times == std::numeric_limits<std::int64_t>::max() ? times : fail_from_ + times;
  fail_with_ = system_error;
  random_.seed(seed);
}

void FaultyDisk::heal() {
  std::lock_guard guard(lock_);
  fail_with_ = 0;
}

void FaultyDisk::cut_power(std::int64_t n) {
  std::lock_guard guard(lock_);
  power_until_ = calls_ + n;
}

bool FaultyDisk::powered() const {
  std::lock_guard guard(lock_);
  return powered_;
}

std::int64_t FaultyDisk::calls() const {
  std::lock_guard guard(lock_);
  return calls_;
}

int FaultyDisk::next_call() {
  ++calls_;
  if (power_until_ != 0 && calls_ >= power_until_) powered_ = false;
  last_error_ = !powered_                                                         ? EIO
                : fail_with_ != 0 && calls_ >= fail_from_ && calls_ < fail_until_ ? fail_with_
                                                                                  : 0;
  return last_error_;
}

std::shared_ptr<FaultyDisk::File> FaultyDisk::open(const std::string& path, bool create) {
  auto& file = files_[path];
  if (file && !file->deleted) return file;
  if (!create) {
    if (!file) files_.erase(path);
    return nullptr;
  }
  bool durable_name = file && file->name_is_durable;
  std::string durable = file ? file->durable : "";
  file = std::make_shared<File>();
  // Until the new file is synced, the old file may come back in its place.
  file->durable = durable;
  file->name_is_durable = durable_name;
  return file;
}

void FaultyDisk::remove(const std::string& path, bool durably) {
  auto file = files_.find(path);
  if (file == files_.end()) return;
  if (durably || !file->second->name_is_durable) {
    files_.erase(file);
  } else {
    file->second->deleted = true;
  }
}

void FaultyDisk::write(File& file, std::size_t offset, std::string_view bytes) {
  if (bytes.empty()) return;
  if (file.now.size() < offset + bytes.size()) file.now.resize(offset + bytes.size());
  std::memcpy(file.now.data() + offset, bytes.data(), bytes.size());
  for (std::size_t sector = offset / kSector; sector <= (offset + bytes.size() - 1) / kSector;
       ++sector) {
    file.versions[sector].push_back(file.now.substr(sector * kSector, kSector));
  }
}

void FaultyDisk::truncate(File& file, std::size_t size) {
  file.now.resize(size);
  file.versions.erase(file.versions.upper_bound(size / kSector), file.versions.end());
}

void FaultyDisk::sync(File& file) {
  if (file.syncs_directory && !file.name_is_durable) {
    std::erase_if(files_, [](const auto& entry) { return entry.second->deleted; });
    for (auto& [path, other] : files_) other->name_is_durable = true;
  }
  file.durable = file.now;
  file.versions.clear();
  file.name_is_durable = true;
}

void FaultyDisk::restore_power(std::uint64_t seed) {
  std::lock_guard guard(lock_);
  random_.seed(seed);
  for (auto at = files_.begin(); at != files_.end();) {
    File& file = *at->second;
    bool lost = file.deleted || !file.name_is_durable ? random_() % 2 == 0 : false;
    if (lost) {
      at = files_.erase(at);
      continue;
    }
    std::string after = file.durable;
    if (random_() % 2 == 0) after.resize(file.now.size());
    for (const auto& [sector, versions] : file.versions) {
      std::size_t chosen = random_() % (versions.size() + 1);
      if (chosen == 0 || file.deleted) continue;
      const std::string& bytes = versions[chosen - 1];
      if (after.size() < sector * kSector + bytes.size())
        after.resize(sector * kSector + bytes.size());
      std::memcpy(after.data() + sector * kSector, bytes.data(), bytes.size());
    }
    auto fresh = std::make_shared<File>();
    fresh->now = fresh->durable = after;
    fresh->name_is_durable = true;
    at->second = fresh;
    ++at;
  }
  powered_ = true;
  power_until_ = 0;
  fail_with_ = 0;
}

namespace {

int run(sqlite3* db, const char* sql) {
  return sqlite3_exec(db, sql, nullptr, nullptr, nullptr);
}

int count_rows(const FaultyDisk& disk) {
  sqlite3* db = nullptr;
  sqlite3_open_v2("/db", &db, SQLITE_OPEN_READWRITE, disk.vfs().c_str());
  run(db, "PRAGMA locking_mode=EXCLUSIVE");
  int rows = -1;
  sqlite3_exec(
      db, "SELECT count(*) FROM t",
      [](void* out, int, char** values, char**) {
        *static_cast<int*>(out) = std::atoi(values[0]);
        return 0;
      },
      &rows, nullptr);
  sqlite3_close(db);
  return rows;
}

sqlite3* make_table(const FaultyDisk& disk, const char* pragmas) {
  sqlite3* db = nullptr;
  EXPECT_EQ(
      sqlite3_open_v2("/db", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, disk.vfs().c_str()),
      SQLITE_OK);
  EXPECT_EQ(run(db, pragmas), SQLITE_OK);
  EXPECT_EQ(run(db, "CREATE TABLE t(x)"), SQLITE_OK);
  return db;
}

TEST(FaultyDisk, KeepsWhatWasSynced) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    FaultyDisk disk;
    sqlite3* db = make_table(
        disk, "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL");
    for (int i = 0; i < 10; ++i)
      ASSERT_EQ(run(db, "INSERT INTO t VALUES(randomblob(3000))"), SQLITE_OK);
    disk.cut_power(1);
    EXPECT_NE(run(db, "INSERT INTO t VALUES(randomblob(3000))"), SQLITE_OK);
    sqlite3_close(db);
    disk.restore_power(seed);
    EXPECT_EQ(count_rows(disk), 10);
  }
}

// Checks that the disk loses data: without syncs it must.
TEST(FaultyDisk, LosesWhatWasNotSynced) {
  int lossy = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    FaultyDisk disk;
    sqlite3* db = make_table(
        disk, "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF");
    for (int i = 0; i < 10; ++i)
      ASSERT_EQ(run(db, "INSERT INTO t VALUES(randomblob(3000))"), SQLITE_OK);
    disk.cut_power(1);
    run(db, "INSERT INTO t VALUES(1)");
    sqlite3_close(db);
    disk.restore_power(seed);
    if (count_rows(disk) != 10) ++lossy;
  }
  EXPECT_GT(lossy, 10);
}

TEST(FaultyDisk, FailsTheCallItWasToldTo) {
  FaultyDisk disk;
  sqlite3* db = make_table(disk, "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL");
  disk.fail(1, ENOSPC, 1, 7);
  EXPECT_EQ(run(db, "INSERT INTO t VALUES(1)"), SQLITE_FULL);
  EXPECT_EQ(run(db, "INSERT INTO t VALUES(1)"), SQLITE_OK);
  sqlite3_close(db);
}

}  // namespace
}  // namespace cardea::store
