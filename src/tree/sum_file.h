// A list of digests as a file that the user named.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "io/fd.h"
#include "io/result.h"
#include "tree/sums.h"

namespace rdcp::tree {

// What a path names, to be opened by its last component alone.
struct NamedPlace {
  io::Fd directory;
  std::string name;
};

// Resolves a path that the user gave, symlinks too, but as root none that belongs to anyone else: whoever may
// swap one would choose what we read or write. With follow_last the place is the one where a last component
// that is a symlink leads to.
io::Result<NamedPlace> find_named(const std::string& path, bool follow_last);

// Reads such a file line by line; it must be a regular one. Errors name it and the line, never what the line
// says.
class SumReader {
 public:
  static io::Result<SumReader> open(const std::string& path, SumForm form);
  // False at the end.
  io::Result<bool> next(SumLine& line);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  SumReader() = default;
  io::Result<bool> read_text(std::string& text);

  std::string path_;
  SumForm form_ = SumForm::manifest;
  std::unique_ptr<std::FILE, Close> file_;
  std::uint64_t line_ = 0;
};

// Writes such a file under a temporary name, beside what it takes the place of at last.
class SumWriter {
 public:
  // mode: of the file.
  static io::Result<SumWriter> open(const std::string& path, SumForm form, mode_t mode);
  SumWriter(SumWriter&& other) noexcept = default;
  ~SumWriter();  // removes it, if it was not published

  io::Result<void> add(const SumLine& line);
  io::Result<void> publish();

 private:
  SumWriter() = default;
  io::Result<void> flush();

  std::string path_;
  SumForm form_ = SumForm::manifest;
  NamedPlace place_;
  std::string temporary_name_;
  io::Fd fd_;
  std::string text_;
};

}  // namespace rdcp::tree
