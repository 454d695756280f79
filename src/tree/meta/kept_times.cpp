#include "tree/meta/kept_times.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace rdcp::tree {
namespace {

// Returns 0, or the errno value with which the directory keeps another time.
int give_back(int directory, const struct stat& before) {
  struct stat now {};
  if (::fstat(directory, &now) != 0) return errno;
  if (now.st_mtim.tv_sec == before.st_mtim.tv_sec && now.st_mtim.tv_nsec == before.st_mtim.tv_nsec) return 0;
  const timespec times[2] = {{0, UTIME_OMIT}, before.st_mtim};
  if (::futimens(directory, times) == 0) return 0;
  const bool ours = ::geteuid() == 0 || ::geteuid() == before.st_uid;
  return errno == EPERM && !ours ? 0 : errno;
}

}  // namespace

void with_times_kept(int directory, std::string_view subject, Losses& losses,
                     const std::function<void()>& change) {
  struct stat before {};
  int lost = ::fstat(directory, &before) == 0 ? 0 : errno;
  change();
  if (lost == 0) lost = give_back(directory, before);
  if (lost != 0) (void)losses.note(LossKind::times, subject, lost);
}

}  // namespace rdcp::tree
