#include "tests/lying/lies.h"

#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <utility>

namespace rdcp::lying {
namespace {

constexpr std::array<std::pair<std::string_view, int>, 8> kErrors{{{"EIO", EIO},
                                                                   {"ENOSPC", ENOSPC},
                                                                   {"EDQUOT", EDQUOT},
                                                                   {"ENOLCK", ENOLCK},
                                                                   {"ENOSYS", ENOSYS},
                                                                   {"ENOTSUP", ENOTSUP},
                                                                   {"EWOULDBLOCK", EWOULDBLOCK},
                                                                   {"none", 0}}};

bool take_error(std::string_view text, int& error) {
  for (const auto& [name, code] : kErrors) {
    if (text != name) continue;
    error = code;
    return true;
  }
  return false;
}

bool take_number(std::string_view text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

}  // namespace

bool Lies::take(std::string_view word) {
  const std::size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  if (equals == std::string_view::npos) {
    if (name == "honest") *this = {};
    folds_case = folds_case || name == "fold";
    two_seconds = two_seconds || name == "two-seconds";
    return name == "honest" || name == "fold" || name == "two-seconds";
  }
  const std::string_view value = word.substr(equals + 1);
  const std::size_t colon = value.find(':');
  const std::string_view first = value.substr(0, colon);
  const std::string_view second = colon == std::string_view::npos ? "" : value.substr(colon + 1);
  if (name == "flock") return take_error(value, flock);
  if (name == "xattrs") return take_error(value, xattrs);
  if (name == "tmpfile") return take_error(value, tmpfile);
  if (name == "close") return take_error(first, close_error) && take_number(second, close_bytes);
  if (name == "stale") return take_number(first, stale_every) && take_number(second, stale_after);
  return false;
}

timespec rounded(const Lies& lies, timespec time) {
  if (!lies.two_seconds) return time;
  const std::time_t odd = ((time.tv_sec % 2) + 2) % 2;
  return {time.tv_sec - odd, 0};
}

std::string folded(const Lies& lies, std::string_view name) {
  std::string result(name);
  if (!lies.folds_case) return result;
  for (char& letter : result) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return result;
}

}  // namespace rdcp::lying
