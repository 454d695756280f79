// A value or an Error. Operating errors are values everywhere in rdcp; no exception crosses our functions.
#pragma once

#include <cassert>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace rdcp::io {

// The meaning of an error to the run; the coordinator turns it into an exit status.
enum class ErrorKind : unsigned char {
  file,         // one file or directory could not be read or written (exit 1)
  usage,        // what was asked for makes no sense (exit 2)
  unreachable,  // a host could not be reached, or rdcp is not there or too old (exit 3)
  connection,   // the data connection failed (exit 4)
  protocol,     // the peer sent what it must not send (exit 4)
  digest,       // a digest did not match after retries (exit 5)
  interrupted,  // a signal or the other side ended the run
  reader_gone,  // the reader of a pipe that we write to is gone (exit 1)
};
constexpr ErrorKind last_of(ErrorKind) {
  return ErrorKind::reader_gone;
}

// "operation subject: cause", e.g. "open /a/b: Permission denied".
struct Error {
  ErrorKind kind = ErrorKind::file;
  int code = 0;           // errno value, 0 where there is none
  std::string operation;  // "open", "connect to", ...
  std::string subject;    // the path or host; raw bytes, escaped only when printed
  std::string detail;     // the cause in words, when code does not say it

  // One line; control characters are escaped (see printable()).
  std::string message() const;
};

// Makes an error from an errno value. `subject` is the path or host.
Error errno_error(std::string_view operation, std::string_view subject, int code = errno,
                  ErrorKind kind = ErrorKind::file);

// Makes an error that has no errno value.
Error plain_error(ErrorKind kind, std::string_view operation, std::string_view subject,
                  std::string_view detail);

// Returns the same error about another subject: who called knows the path as the user knows it.
inline Error about(std::string subject, Error error) {
  error.subject = std::move(subject);
  return error;
}

// True for characters that a terminal obeys instead of showing, and for those that make text look different
// from what it is: C0, C1 and DEL, line and paragraph separators, and marks, overrides and isolates of
// bidirectional text (U+061C, U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069). `character` must be one
// code point in well-formed UTF-8.
bool is_unsafe(std::string_view character);

// Returns the length in bytes of the well-formed UTF-8 sequence that `text` starts with (RFC 3629: no
// overlong forms, no surrogates, nothing above U+10FFFF), or 0 if there is none.
std::size_t utf8_length(std::string_view text);

// Turns a name into text that is safe on a terminal and in a one-line log, and from which the name can be
// recovered: unsafe characters and invalid UTF-8 become \n, \t or \xNN, a backslash becomes \\, the rest
// stays.
std::string printable(std::string_view bytes);

// Does the same for words, which may have been escaped before, so a backslash stays as it is.
std::string visible(std::string_view bytes);

// Does the same as visible() for whole lines: line ends and tabs stay, too.
std::string visible_lines(std::string_view bytes);

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return (assert(ok()), *std::get_if<0>(&state_)); }
  const T& value() const& { return (assert(ok()), *std::get_if<0>(&state_)); }
  T&& value() && { return (assert(ok()), std::move(*std::get_if<0>(&state_))); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const& { return (assert(!ok()), *std::get_if<1>(&state_)); }
  Error&& error() && { return (assert(!ok()), std::move(*std::get_if<1>(&state_))); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  const Error& error() const& { return (assert(error_), *error_); }
  Error&& error() && { return (assert(error_), std::move(*error_)); }

 private:
  std::optional<Error> error_;
};

}  // namespace rdcp::io
