#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace cardea::app {

// A file that is there when it is whole, and not before. Until then its bytes are in NAME.partial,
// which is removed if it does not get so far. Only its owner can read it. It never replaces a file.
class NewFile {
 public:
  static Result<NewFile> make(const std::string& path);
  ~NewFile();
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;

  Result<void> write(std::string_view bytes);
  Result<void> finish();  // it is durable under its name

 private:
  NewFile(std::string path, int file) : path_(std::move(path)), file_(file) {}
  std::string partial() const { return path_ + ".partial"; }
  Error trouble(std::string_view what) const;

  std::string path_;
  int file_;
};

// Reads a file part by part.
class FileParts {
 public:
  static Result<FileParts> open(const std::string& path);
  ~FileParts();
  FileParts(FileParts&& other) noexcept;
  FileParts& operator=(FileParts&&) = delete;

  Result<std::string> next();  // empty: that was all

 private:
  FileParts(std::string path, int file) : path_(std::move(path)), file_(file) {}

  std::string path_;
  int file_;
};

}  // namespace cardea::app
