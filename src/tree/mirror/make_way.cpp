#include "tree/mirror/make_way.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "tree/fs/beneath.h"
#include "tree/fs/own_names.h"
#include "tree/fs/remove.h"
#include "tree/messages/changes.h"
#include "tree/meta/entry.h"
#include "tree/mirror/backups.h"

namespace rdcp::tree {

using io::Result;

namespace {

io::Error refuse(const DirectoryInTheWay& place, std::string_view why) {
  return io::plain_error(io::ErrorKind::file, "replace", place.subject, why);
}

// Why something stays, if it does; for one directory that is to go, whatever name it has by then.
class Guard {
 public:
  Guard(const RemovalGate& gate, const DirectoryInTheWay& place, const std::string& name)
      : gate_(gate), place_(place), name_(name) {}

  std::string entry_path(const std::string& below) const {
    return std::string(place_.path.text()) + below.substr(name_.size());
  }
  bool lets_go(const std::string& below, const struct stat& status) {
    if (gate_.is_source(status)) return keep(below, "it is being copied, so it was left");
    const bool is_top = below.size() == name_.size();
    if (!is_top && !gate_.sync().replaces_directories()) {
      why_ = "is a directory that is not empty (--delete or --force removes it)";
      return false;
    }
    if (!is_top && gate_.keeps_beside()) {
      why_ = "is a directory that is not empty, and its backups would stay in it (--backup-dir takes them)";
      return false;
    }
    if (!gate_.protects(entry_path(below), S_ISDIR(status.st_mode))) return true;
    return keep(below, "a rule protects it");
  }
  const std::string& why() const { return why_; }

 private:
  bool keep(const std::string& below, std::string_view why) {
    why_ = "cannot remove the directory for it: " + gate_.below_destination(entry_path(below)) + ": ";
    why_ += why;
    return false;
  }

  const RemovalGate& gate_;
  const DirectoryInTheWay& place_;
  const std::string& name_;
  std::string why_;
};

bool is_inode(int directory, const std::string& name, const struct stat& wanted) {
  struct stat status {};
  return ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         status.st_dev == wanted.st_dev && status.st_ino == wanted.st_ino;
}

int rename_within(int directory, const std::string& from, const std::string& to, unsigned flags = 0) {
  return ::renameat2(directory, from.c_str(), directory, to.c_str(), flags);
}

bool is_unknown_here(int code) {
  return code == EINVAL || code == ENOSYS || code == EOPNOTSUPP;
}

// Where names cannot be exchanged. A directory may be renamed over an empty one on any filesystem, so nothing
// is overwritten.
Result<std::string> move_aside(const DirectoryInTheWay& place, const std::string& fresh) {
  const std::string aside = take_temporary_name(
      place.name, [&](const char* free) { return ::mkdirat(place.directory, free, 0700); });
  if (aside.empty()) return io::errno_error("replace", place.subject);
  if (rename_within(place.directory, place.name, aside) != 0) {
    auto error = io::errno_error("replace", place.subject);
    (void)remove_own(place.directory, aside, AT_REMOVEDIR);  // if this fails, --clean finds it
    return error;
  }
  if (rename_within(place.directory, fresh, place.name) == 0) return aside;
  auto error = io::errno_error("replace", place.subject);
  if (rename_within(place.directory, aside, place.name) == 0) return error;
  return refuse(place, "the old file is now " + aside);
}

// Gives the name to what is called `fresh`; returns what the directory is called then.
Result<std::string> exchange_names(const DirectoryInTheWay& place, const std::string& fresh,
                                   const struct stat& wanted, Exchange exchange) {
  if (exchange == Exchange::never) return move_aside(place, fresh);
  if (rename_within(place.directory, fresh, place.name, RENAME_EXCHANGE) != 0) {
    if (is_unknown_here(errno)) return move_aside(place, fresh);
    return io::errno_error("replace", place.subject);
  }
  if (is_inode(place.directory, fresh, wanted)) return fresh;
  if (rename_within(place.directory, fresh, place.name, RENAME_EXCHANGE) == 0) {
    return refuse(place, "another program has just replaced it");
  }
  return refuse(place, "another program has just replaced it; the file of that program is now " + fresh);
}

std::string free_temporary_name(const DirectoryInTheWay& place) {
  struct stat status {};
  for (;;) {
    std::string name = temporary_name(place.name);
    if (::fstatat(place.directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return name;
  }
}

Result<void> remove_replaced(const RemovalGate& gate, const DirectoryInTheWay& place, const std::string& name,
                             const Backups* backups) {
  Guard guard(gate, place, name);
  MayRemove may_remove;
  may_remove.look = [&](const std::string& below, const struct stat& status) {
    return guard.lets_go(below, status);
  };
  may_remove.remove = [&](const std::string& below, const struct stat& status) {
    return gate.permit(guard.entry_path(below), status);
  };
  if (backups != nullptr) {
    may_remove.back_up = [&](int parent, const std::string& last, const std::string& below) {
      const std::string path = guard.entry_path(below);
      return backups->keep(parent, last, path, place.subject + below.substr(name.size()));
    };
  }
  const std::string subject = join_path(split_path(place.subject).parent, name);
  const auto removed = remove_tree(place.directory, name, subject, may_remove);
  if (!removed) return removed.error();
  if (*removed) return {};
  return refuse(place,
                "it is replaced, but entries that another program added to the directory meanwhile stay in " +
                    name + ": " + guard.why());
}

// How many names are in it, all of which may go; told in changes, unless null.
Result<std::uint64_t> may_make_way(const RemovalGate& gate, const DirectoryInTheWay& place,
                                   std::vector<Change>* changes) {
  if (!gate.sync().mirror) return refuse(place, "is a directory");
  if (gate.sync().ignore_existing)
    return refuse(place, "is a directory, and was left because of --ignore-existing");
  if (gate.is_closed(place.path.parent().text())) {
    return refuse(place, "is in a directory that a rule protects, and was left");
  }
  if (gate.is_in_source(place.directory)) {
    return refuse(place, "is a directory in SRC, and was left");
  }
  Guard guard(gate, place, place.name);
  std::uint64_t names = 0;
  MayRemove look;
  look.look = [&](const std::string& below, const struct stat& status) {
    return guard.why().empty() && guard.lets_go(below, status);
  };
  look.remove = [&](const std::string& below, const struct stat& status) {
    const std::string path = guard.entry_path(below);
    const auto permit = gate.permit(path, status);
    if (below == place.name) return permit;  // its name does not go
    ++names;
    if (changes != nullptr) {
      const std::string told = gate.below_destination(path);
      changes->push_back({"*deleting  ", told + (S_ISDIR(status.st_mode) ? "/" : ""), ""});
    }
    return permit;
  };
  const auto all = remove_tree(place.directory, place.name, place.subject, look, true);
  if (!all) return all.error();
  if (!*all) return refuse(place, guard.why());
  return names;
}

io::Error too_many(const DirectoryInTheWay& place) {
  return refuse(place, "is a directory, and replacing it would remove more than --max-delete allows");
}

}  // namespace

Result<void> reserve_way(RemovalGate& gate, const DirectoryInTheWay& place, std::vector<Change>* changes) {
  std::vector<Change> told;
  const auto names = may_make_way(gate, place, changes == nullptr ? nullptr : &told);
  if (!names) return names.error();
  if (!gate.reserve(*names)) return too_many(place);
  if (changes != nullptr) changes->insert(changes->end(), told.begin(), told.end());
  return {};
}

Result<void> replace_directory(RemovalGate& gate, const DirectoryInTheWay& place,
                               const std::function<Result<void>(const std::string& name)>& publish,
                               Exchange exchange, const Backups* backups) {
  const io::Fd held = open_beneath(place.directory, place.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  struct stat status {};
  if (!held || ::fstat(held.get(), &status) != 0) return io::errno_error("replace", place.subject);
  const auto names = may_make_way(gate, place, nullptr);
  if (!names) return names.error();
  if (!gate.take_reserved(*names)) return too_many(place);

  // A sign for `rdcp --clean` that it is in use.
  (void)::flock(held.get(), LOCK_EX | LOCK_NB);
  const std::string fresh = free_temporary_name(place);
  if (auto published = publish(fresh); !published) return published;
  struct stat made {};
  if (::fstatat(place.directory, fresh.c_str(), &made, AT_SYMLINK_NOFOLLOW) != 0) {
    return io::errno_error("replace", place.subject);
  }
  const auto old = exchange_names(place, fresh, status, exchange);
  if (!old) {
    if (is_inode(place.directory, fresh, made)) (void)remove_own(place.directory, fresh);
    return old.error();
  }
  return remove_replaced(gate, place, *old, backups);
}

}  // namespace rdcp::tree
