#include "cli/pipes/key_source.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/options/known_file.h"
#include "io/write_all.h"

namespace rdcp::cli {
namespace {

using io::ErrorKind;
using io::Result;

constexpr std::size_t kKeyBytesMax = 4096;

io::Error refuse_key(std::string_view why) {
  return io::plain_error(ErrorKind::usage, "KEY", "", why);
}

// Reads byte by byte, because what follows the line belongs to others, who may read the same descriptor.
Result<io::SecretText> read_line(int fd, const std::string& name) {
  io::SecretText line;
  while (line.size() <= kKeyBytesMax) {
    char byte = 0;
    const long n = io::read_some(fd, &byte, 1);
    if (n < 0) return io::errno_error("read KEY from", name);
    if (n == 0 || byte == '\n') return line;
    line.append({&byte, 1});
  }
  return refuse_key("is longer than 4096 bytes");
}

// Refuses a file that others may read or write, as ssh(1) does with private keys.
Result<io::SecretText> read_file(const std::string& path) {
  const auto file = open_known_file(path, "--key-fd reads a pipe");
  if (!file) return file.error();
  struct stat status {};
  if (::fstat(file->get(), &status) != 0) return io::errno_error("open key file", path);
  if ((status.st_mode & 077) != 0) {
    return io::plain_error(ErrorKind::usage, "key file", path,
                           "others may read or write it: chmod 600 makes it a secret");
  }
  return read_line(file->get(), path);
}

}  // namespace

Result<io::SecretText> read_key(KeySource source) {
  auto key = !source.file.empty() ? read_file(source.file)
             : source.fd >= 0     ? read_line(source.fd, "descriptor " + std::to_string(source.fd))
                                  : Result<io::SecretText>(std::move(source.word));
  if (key && key->empty()) return refuse_key("is empty");
  return key;
}

void wipe_key(int argc, char** argv, std::string_view key) {
  for (int i = 1; i < argc && !key.empty(); ++i) {
    if (argv[i] == key) ::explicit_bzero(argv[i], key.size());
  }
}

}  // namespace rdcp::cli
