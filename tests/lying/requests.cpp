#include "tests/lying/requests.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/lying/lying_disk.h"

namespace rdcp::lying {
namespace {

LyingDisk& disk_of(fuse_req_t request) {
  return *static_cast<LyingDisk*>(fuse_req_userdata(request));
}

// The kernel asks again each time where one file has many spellings.
double timeout_of(const LyingDisk& disk) {
  return disk.lies().folds_case ? 0 : 1;
}

int describe(LyingDisk& disk, Inumber number, fuse_entry_param& entry) {
  entry = {};
  entry.ino = number;
  entry.attr_timeout = entry.entry_timeout = timeout_of(disk);
  return disk.status(number, entry.attr);
}

void reply_entry(fuse_req_t request, int code, Inumber number) {
  fuse_entry_param entry{};
  if (code == 0) code = describe(disk_of(request), number, entry);
  if (code != 0) {
    fuse_reply_err(request, code);
  } else {
    fuse_reply_entry(request, &entry);
  }
}

void reply_status(fuse_req_t request, int code, Inumber number) {
  LyingDisk& disk = disk_of(request);
  struct stat status {};
  if (code == 0) code = disk.status(number, status);
  if (code != 0) {
    fuse_reply_err(request, code);
  } else {
    fuse_reply_attr(request, &status, timeout_of(disk));
  }
}

// What an entry has that `request`'s process makes; the kernel has taken the umask away.
Attributes attributes_for(fuse_req_t request, mode_t mode, dev_t device = 0) {
  const fuse_ctx* context = fuse_req_ctx(request);
  Attributes attributes;
  attributes.mode = mode;
  attributes.uid = context->uid;
  attributes.gid = context->gid;
  attributes.device = device;
  return attributes;
}

timespec now() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return time;
}

void init(void*, fuse_conn_info* connection) {
  connection->max_write = 1 << 20;
  connection->want &= ~static_cast<unsigned>(FUSE_CAP_WRITEBACK_CACHE);
}

void look_up(fuse_req_t request, fuse_ino_t parent, const char* name) {
  Inumber found = 0;
  const int code = disk_of(request).look_up({parent, name}, found);
  reply_entry(request, code, found);
}

void get_attributes(fuse_req_t request, fuse_ino_t number, fuse_file_info* file) {
  const int code = file != nullptr ? disk_of(request).use(file->fh) : 0;
  reply_status(request, code, number);
}

void set_attributes(fuse_req_t request, fuse_ino_t number, struct stat* wanted, int which,
                    fuse_file_info* file) {
  LyingDisk& disk = disk_of(request);
  Changes changes;
  if ((which & FUSE_SET_ATTR_MODE) != 0) changes.mode = wanted->st_mode;
  if ((which & FUSE_SET_ATTR_UID) != 0) changes.uid = wanted->st_uid;
  if ((which & FUSE_SET_ATTR_GID) != 0) changes.gid = wanted->st_gid;
  if ((which & FUSE_SET_ATTR_SIZE) != 0) changes.size = wanted->st_size;
  if ((which & FUSE_SET_ATTR_ATIME) != 0) changes.atime = wanted->st_atim;
  if ((which & FUSE_SET_ATTR_MTIME) != 0) changes.mtime = wanted->st_mtim;
  if ((which & FUSE_SET_ATTR_ATIME_NOW) != 0) changes.atime = now();
  if ((which & FUSE_SET_ATTR_MTIME_NOW) != 0) changes.mtime = now();
  int code = file != nullptr ? disk.use(file->fh) : 0;
  if (code == 0) code = disk.change(number, changes);
  reply_status(request, code, number);
}

void read_link(fuse_req_t request, fuse_ino_t number) {
  const Inode* inode = disk_of(request).disk().find(number);
  if (inode == nullptr) {
    fuse_reply_err(request, ESTALE);
  } else {
    fuse_reply_readlink(request, inode->link_target.c_str());
  }
}

void make(fuse_req_t request, const Place& place, const Attributes& attributes, const char* target = "") {
  Inumber made = 0;
  const int code = disk_of(request).make(place, attributes, target, made);
  reply_entry(request, code, made);
}

void make_node(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, dev_t device) {
  make(request, {parent, name}, attributes_for(request, mode, device));
}

void make_directory(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode) {
  make(request, {parent, name}, attributes_for(request, S_IFDIR | (mode & 07777)));
}

void make_symlink(fuse_req_t request, const char* target, fuse_ino_t parent, const char* name) {
  make(request, {parent, name}, attributes_for(request, S_IFLNK | 0777), target);
}

void link(fuse_req_t request, fuse_ino_t number, fuse_ino_t parent, const char* name) {
  reply_entry(request, disk_of(request).link(number, {parent, name}), number);
}

void unlink(fuse_req_t request, fuse_ino_t parent, const char* name) {
  fuse_reply_err(request, disk_of(request).unlink({parent, name}));
}

void remove_directory(fuse_req_t request, fuse_ino_t parent, const char* name) {
  fuse_reply_err(request, disk_of(request).remove_directory({parent, name}));
}

void rename(fuse_req_t request, fuse_ino_t parent, const char* name, fuse_ino_t new_parent,
            const char* new_name, unsigned flags) {
  fuse_reply_err(request, disk_of(request).rename({parent, name}, {new_parent, new_name}, flags));
}

void open(fuse_req_t request, fuse_ino_t number, fuse_file_info* file) {
  file->fh = disk_of(request).open(number, file->flags);
  fuse_reply_open(request, file);
}

// "/": without a name (mount.cpp).
void create(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, fuse_file_info* file) {
  LyingDisk& disk = disk_of(request);
  const std::string given = std::string_view(name) == "/" ? "" : name;
  Inumber made = 0;
  fuse_entry_param entry{};
  int code = disk.make({parent, given}, attributes_for(request, S_IFREG | (mode & 07777)), "", made);
  if (code == 0) code = describe(disk, made, entry);
  if (code != 0) {
    fuse_reply_err(request, code);
    return;
  }
  file->fh = disk.open(made, 0);
  fuse_reply_create(request, &entry, file);
}

void read(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset, fuse_file_info* file) {
  LyingDisk& disk = disk_of(request);
  if (const int code = disk.use(file->fh); code != 0) {
    fuse_reply_err(request, code);
    return;
  }
  const std::string bytes =
      disk.disk().find(number)->now.content.read(static_cast<std::uint64_t>(offset), size);
  fuse_reply_buf(request, bytes.data(), bytes.size());
}

void write(fuse_req_t request, fuse_ino_t, const char* bytes, size_t size, off_t offset,
           fuse_file_info* file) {
  const int code =
      disk_of(request).write(file->fh, std::string_view(bytes, size), static_cast<std::uint64_t>(offset));
  if (code != 0) {
    fuse_reply_err(request, code);
  } else {
    fuse_reply_write(request, size);
  }
}

void flush(fuse_req_t request, fuse_ino_t, fuse_file_info* file) {
  fuse_reply_err(request, disk_of(request).flush(file->fh));
}

void release(fuse_req_t request, fuse_ino_t, fuse_file_info* file) {
  disk_of(request).release(file->fh);
  fuse_reply_err(request, 0);
}

void sync(fuse_req_t request, fuse_ino_t, int data_only, fuse_file_info* file) {
  fuse_reply_err(request, disk_of(request).sync(file->fh, data_only != 0));
}

void sync_directory(fuse_req_t request, fuse_ino_t number, int, fuse_file_info* file) {
  LyingDisk& disk = disk_of(request);
  const int code = disk.use(file->fh);
  fuse_reply_err(request, code != 0 ? code : disk.sync_directory(number));
}

// The names are as they are now; an offset is the place of a name among them, which the tests do not change
// while they list.
void list(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset, fuse_file_info* file) {
  LyingDisk& disk = disk_of(request);
  if (const int code = disk.use(file->fh); code != 0) {
    fuse_reply_err(request, code);
    return;
  }
  const Inode& directory = *disk.disk().find(number);
  std::vector<std::pair<std::string, Inumber>> names{{".", number}, {"..", directory.parent}};
  names.insert(names.end(), directory.now.names.begin(), directory.now.names.end());
  std::string page(size, '\0');
  std::size_t used = 0;
  for (auto at = static_cast<std::size_t>(offset); at < names.size(); ++at) {
    struct stat status {};
    (void)disk.status(names[at].second, status);
    const std::size_t length =
        fuse_add_direntry(request, page.data() + used, size - used, names[at].first.c_str(), &status,
                          static_cast<off_t>(at + 1));
    if (length > size - used) break;
    used += length;
  }
  fuse_reply_buf(request, page.data(), used);
}

void statistics(fuse_req_t request, fuse_ino_t) {
  struct statvfs status {};
  status.f_bsize = status.f_frsize = kBlockBytes;
  status.f_blocks = status.f_bfree = status.f_bavail = 1 << 20;
  status.f_files = status.f_ffree = status.f_favail = 1 << 20;
  status.f_namemax = 255;
  fuse_reply_statfs(request, &status);
}

void set_xattr(fuse_req_t request, fuse_ino_t number, const char* name, const char* value, size_t size,
               int flags) {
  fuse_reply_err(request, disk_of(request).set_xattr(number, name, std::string_view(value, size), flags));
}

void reply_text(fuse_req_t request, int code, const std::string& text, size_t room) {
  if (code == 0 && room > 0 && room < text.size()) code = ERANGE;
  if (code != 0) {
    fuse_reply_err(request, code);
  } else if (room == 0) {
    fuse_reply_xattr(request, text.size());
  } else {
    fuse_reply_buf(request, text.data(), text.size());
  }
}

void get_xattr(fuse_req_t request, fuse_ino_t number, const char* name, size_t size) {
  std::string value;
  const int code = disk_of(request).get_xattr(number, name, value);
  reply_text(request, code, value, size);
}

void list_xattrs(fuse_req_t request, fuse_ino_t number, size_t size) {
  std::string names;
  const int code = disk_of(request).list_xattrs(number, names);
  reply_text(request, code, names, size);
}

void remove_xattr(fuse_req_t request, fuse_ino_t number, const char* name) {
  fuse_reply_err(request, disk_of(request).remove_xattr(number, name));
}

void refuse_lock(fuse_req_t request, fuse_ino_t, fuse_file_info*, int) {
  fuse_reply_err(request, disk_of(request).lies().flock);
}

void allocate(fuse_req_t request, fuse_ino_t, int mode, off_t offset, off_t length, fuse_file_info* file) {
  fuse_reply_err(request, disk_of(request).allocate(file->fh, mode, static_cast<std::uint64_t>(offset),
                                                    static_cast<std::uint64_t>(length)));
}

void seek(fuse_req_t request, fuse_ino_t, off_t offset, int whence, fuse_file_info* file) {
  std::uint64_t found = 0;
  const int code = disk_of(request).seek(file->fh, static_cast<std::uint64_t>(offset), whence, found);
  if (code != 0) {
    fuse_reply_err(request, code);
  } else {
    fuse_reply_lseek(request, static_cast<off_t>(found));
  }
}

fuse_lowlevel_ops table(bool refuses_locks) {
  fuse_lowlevel_ops calls{};
  calls.init = init;
  calls.lookup = look_up;
  calls.getattr = get_attributes;
  calls.setattr = set_attributes;
  calls.readlink = read_link;
  calls.mknod = make_node;
  calls.mkdir = make_directory;
  calls.symlink = make_symlink;
  calls.link = link;
  calls.unlink = unlink;
  calls.rmdir = remove_directory;
  calls.rename = rename;
  calls.open = calls.opendir = open;
  calls.create = create;
  calls.read = read;
  calls.write = write;
  calls.flush = flush;
  calls.release = calls.releasedir = release;
  calls.fsync = sync;
  calls.fsyncdir = sync_directory;
  calls.readdir = list;
  calls.statfs = statistics;
  calls.setxattr = set_xattr;
  calls.getxattr = get_xattr;
  calls.listxattr = list_xattrs;
  calls.removexattr = remove_xattr;
  calls.fallocate = allocate;
  calls.lseek = seek;
  if (refuses_locks) calls.flock = refuse_lock;
  return calls;
}

}  // namespace

const fuse_lowlevel_ops& requests(bool refuses_locks) {
  static const fuse_lowlevel_ops with = table(false);
  static const fuse_lowlevel_ops without = table(true);
  return refuses_locks ? without : with;
}

}  // namespace rdcp::lying
