// Prints how two trees differ, one line for each difference, on standard output.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "io/result.h"
#include "tree/meta/entry.h"

namespace rdcp::cli {

// A line is "KIND  PATH" and, where there is more to say, ": what SRC has, what DST has"; with json it is an
// object. Paths are escaped (io::printable()); that of a missing or extra directory ends with a slash; the
// top is ".".
class Differences {
 public:
  // print writes whole lines to standard output.
  using Print = std::function<io::Result<void>(std::string_view lines)>;
  // host: the one that DST is on, if several are compared; its name comes first in each line.
  Differences(bool json, std::string host, Print print)
      : json_(json), host_(std::move(host)), print_(std::move(print)) {}

  void missing(const std::string& path, tree::EntryType type);
  void extra(const std::string& path, tree::EntryType type);
  void type(const std::string& path, tree::EntryType wanted, tree::EntryType found);
  void size(const std::string& path, std::uint64_t wanted, std::uint64_t found);
  // offset: where the first byte that differs is, if known.
  void content(const std::string& path, std::optional<std::uint64_t> offset);
  // what: "mode", "owner", ...
  void metadata(const std::string& path, std::string_view what, const std::string& wanted,
                const std::string& found);

  std::uint64_t count() const { return count_; }
  // To be called after the last difference. Error: standard output could not be written.
  io::Result<void> finish();

 private:
  struct Detail {
    std::string what = {};  // in words
    std::string wanted = {};
    std::string found = {};
    std::optional<std::uint64_t> offset = {};
  };
  void add(std::string_view kind, const std::string& path, const Detail& detail);

  const bool json_;
  const std::string host_;
  const Print print_;
  std::uint64_t count_ = 0;
  io::Result<void> printed_;
};

std::string_view name_of(tree::EntryType type);

}  // namespace rdcp::cli
