#include "tree/walk/find_paths.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <climits>
#include <string>
#include <string_view>
#include <utility>

#include "tree/fs/directory_reader.h"
#include "tree/select/path_pattern.h"

namespace rdcp::tree {

namespace {

// Returns the names in a directory that a pattern without slashes stands for, in order; none if it cannot be
// listed, as glob(3) does. directory: "" is the one that the agent is in.
std::vector<std::string> names_for(const std::string& pattern, const std::string& directory) {
  const char* path = directory.empty() ? "." : directory.c_str();
  DirectoryReader listing(io::Fd(::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  std::vector<std::string> names;
  const auto take = [&](const dirent& entry) {
    if (stands_for(pattern, entry.d_name)) names.emplace_back(entry.d_name);
    return true;
  };
  if (listing) (void)listing.for_each(take);
  std::ranges::sort(names);
  return names;
}

// Finds the paths of one word after another. (glob(3) in a static program brings the name services with it.)
class Finder {
 public:
  explicit Finder(Reporter& reporter) : reporter_(reporter) {}

  // Returns false if there are too many.
  bool find(std::uint32_t number, const std::string& word) {
    struct stat status {};
    number_ = number;
    if (!is_pattern(word) || ::lstat(word.c_str(), &status) == 0) return add(word);
    const std::size_t before = found_.found.size();
    if (!expand({}, word)) return false;
    if (found_.found.size() == before) {
      reporter_.problem(io::plain_error(io::ErrorKind::file, "find", word, "no file matches this pattern"));
    }
    return true;
  }

  PathsFound take() { return std::move(found_); }

 private:
  // Adds what the rest of a pattern stands for behind `path`, which ends with a slash or is empty.
  bool expand(const std::string& path, std::string_view rest) {
    const std::size_t slashes = std::min(rest.find_first_not_of('/'), rest.size());
    const std::string here = path + std::string(rest.substr(0, slashes));
    rest.remove_prefix(slashes);
    if (here.size() >= PATH_MAX) return true;
    struct stat status {};
    if (rest.empty()) return ::stat(here.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || add(here);
    const std::string name(rest.substr(0, rest.find('/')));
    rest.remove_prefix(name.size());
    const bool is_plain = !is_pattern(name) && name.find('\\') == name.npos;
    for (const std::string& next : is_plain ? std::vector{name} : names_for(name, here)) {
      const std::string found = here + next;
      const bool is_last = rest.empty();
      if (!is_last && !expand(found, rest)) return false;
      if (is_last && ::lstat(found.c_str(), &status) == 0 && !add(found)) return false;
    }
    return true;
  }

  bool add(std::string path) {
    bytes_ += path.size();
    if (found_.found.size() == kPathsFoundMax || bytes_ > kPathsFoundBytesMax) return false;
    found_.found.push_back({number_, std::move(path)});
    return true;
  }

  Reporter& reporter_;
  std::uint32_t number_ = 0;
  PathsFound found_;
  std::size_t bytes_ = 0;
};

}  // namespace

io::Result<PathsFound> find_paths(const FindPaths& asked, Reporter& reporter) {
  Finder finder(reporter);
  for (std::uint32_t i = 0; i < asked.words.size(); ++i) {
    if (finder.find(i, asked.words[i])) continue;
    return io::plain_error(io::ErrorKind::usage, "find", asked.words[i],
                           "it stands for too many files; copy their directory with -r, and choose by "
                           "--include and --exclude");
  }
  return finder.take();
}

}  // namespace rdcp::tree
