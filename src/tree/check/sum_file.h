// Reads and writes a list of digests in a file that the user named.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "io/fd.h"
#include "io/named_place.h"
#include "io/result.h"
#include "tree/check/sums.h"

namespace rdcp::tree {

// Reads such a file line by line. Errors name the file and the line, but never quote it.
class SumReader {
 public:
  // Opens a file, which must be a regular file.
  static io::Result<SumReader> open(const std::string& path, SumForm form);
  // Takes text that has come from elsewhere. path: its name, for messages.
  static io::Result<SumReader> of_text(std::string text, const std::string& path, SumForm form);
  // Returns false at the end.
  io::Result<bool> next(SumLine& line);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  SumReader() = default;
  io::Result<void> begin();
  io::Result<bool> read_text(std::string& text);

  std::string path_;
  SumForm form_ = SumForm::manifest;
  std::unique_ptr<const std::string> text_;  // what file_ reads, if it is no file
  std::unique_ptr<std::FILE, Close> file_;
  std::uint64_t line_ = 0;
};

// Writes such a file under a temporary name, next to the file that it finally replaces.
class SumWriter {
 public:
  // mode is the mode of the new file.
  static io::Result<SumWriter> open(const std::string& path, SumForm form, mode_t mode);
  SumWriter(SumWriter&& other) noexcept = default;
  ~SumWriter();  // removes the file unless it was published

  io::Result<void> add(const SumLine& line);
  io::Result<void> publish();

 private:
  SumWriter() = default;
  io::Result<void> flush();

  std::string path_;
  SumForm form_ = SumForm::manifest;
  io::NamedPlace place_;
  std::string temporary_name_;
  io::Fd fd_;
  std::string text_;
};

}  // namespace rdcp::tree
