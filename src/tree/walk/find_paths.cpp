#include "tree/walk/find_paths.h"

#include <glob.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <utility>

#include "tree/select/path_pattern.h"

namespace rdcp::tree {

namespace {

// Holds what glob(3) has allocated.
class Globbed {
 public:
  explicit Globbed(const std::string& pattern) : status_(::glob(pattern.c_str(), 0, nullptr, &found_)) {}
  ~Globbed() { ::globfree(&found_); }
  Globbed(const Globbed&) = delete;
  Globbed& operator=(const Globbed&) = delete;

  bool out_of_memory() const { return status_ == GLOB_NOSPACE; }
  std::size_t size() const { return status_ == 0 ? found_.gl_pathc : 0; }
  const char* operator[](std::size_t i) const { return found_.gl_pathv[i]; }

 private:
  glob_t found_{};
  const int status_;
};

class Finder {
 public:
  explicit Finder(Reporter& reporter) : reporter_(reporter) {}

  io::Result<void> find(std::uint32_t number, const std::string& word) {
    struct stat status {};
    if (!is_pattern(word) || ::lstat(word.c_str(), &status) == 0) return add(number, word, word);
    const Globbed globbed(word);
    if (globbed.out_of_memory()) return io::errno_error("find", word, ENOMEM);
    bool any = false;
    for (std::size_t i = 0; i < globbed.size(); ++i) {
      if (!stands_for(word, globbed[i])) continue;  // "." and ".."
      if (auto added = add(number, globbed[i], word); !added) return added;
      any = true;
    }
    if (!any) {
      reporter_.problem(io::plain_error(io::ErrorKind::file, "find", word, "no file matches this pattern"));
    }
    return {};
  }

  PathsFound take() { return std::move(found_); }

 private:
  io::Result<void> add(std::uint32_t number, std::string path, const std::string& word) {
    bytes_ += path.size();
    if (found_.found.size() == kPathsFoundMax || bytes_ > kPathsFoundBytesMax) {
      return io::plain_error(io::ErrorKind::usage, "find", word,
                             "it stands for too many files; copy their directory with -r, and choose by "
                             "--include and --exclude");
    }
    found_.found.push_back({number, std::move(path)});
    return {};
  }

  Reporter& reporter_;
  PathsFound found_;
  std::size_t bytes_ = 0;
};

}  // namespace

io::Result<PathsFound> find_paths(const FindPaths& asked, Reporter& reporter) {
  Finder finder(reporter);
  for (std::uint32_t i = 0; i < asked.words.size(); ++i) {
    if (auto found = finder.find(i, asked.words[i]); !found) return found.error();
  }
  return finder.take();
}

}  // namespace rdcp::tree
