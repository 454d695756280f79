#include "cli/options/help_text.h"

namespace rdcp::cli {

const char* const kHelpText =
    R"(Usage: rdcp [options] SRC... DST
       rdcp --sync|--check [options] SRC DST
       rdcp --check --manifest FILE|--sums FILE [options] DIR
       rdcp --doctor [options] [HOST]
       rdcp --clean [-n] [options] DIR
Copies files and trees between hosts, in parallel, and checks every chunk.
SRC and DST are PATH, [USER@]HOST:PATH, scp://[USER@]HOST[:PORT]/PATH, or - for
stdin or stdout. DST may be on several hosts: 'gpu[01-64],cpu3:PATH'. ./a:b is
local. With -r, SRC goes to DST/SRC if DST is an existing directory, else to
DST; SRC/ means what is in SRC. Words of scp, rsync and cp (-avzP) are known.

What to copy
  -r, --recursive        copy directories with everything in them
  -L, --copy-links       copy what symbolic links lead to
      --copy-devices     if SRC is a device, read it (a FIFO is always read)
      --no-owner         do not keep owner and group (only root keeps them)
      --chmod CHANGES    change modes: D755,F644 or u+rwX,go-w, as rsync does
      --chown USER:GROUP  give all to them, by name or number; or USER, :GROUP
      --no-xattrs        do not keep extended attributes and ACLs
      --numeric-ids      keep owner and group by number, not by name
      --inplace          write only changed blocks into large files; not atomic
  -W, --whole-file       send whole files, whatever DST has of them
      --no-resume        discard partial files of interrupted runs
      --fsync            flush each file to the disk before it gets its name
      --clean            list and remove what interrupted runs left beneath DIR

What to verify
      --verify           read back from the target's disk what was written
      --manifest FILE    write a list of what was copied, with digests
      --sums FILE        the same in the format of xxh128sum
      --check            compare SRC with DST, or DIR with FILE; copy nothing
      --quick            check types, sizes and times, read no file
      --metadata         check times, modes, owners and attributes, too

Which part of SRC to copy (rsync's rules; the first that matches counts)
      --exclude PATTERN  leave out what matches
      --include PATTERN  copy what matches, whatever later rules say
  -f, --filter RULE      "- PATTERN", "+ PATTERN", "merge FILE", ...
      --exclude-from FILE  read exclude patterns from FILE, one a line; -: stdin
      --include-from FILE  read include patterns from FILE, one a line
      --files-from FILE  copy only the paths beneath SRC that FILE lists
  -0, --from0            lines in all these files end with NUL
  -x, --one-file-system  stay on SRC's filesystem
      --max-size SIZE    leave out files larger than SIZE
      --min-size SIZE    leave out files smaller than SIZE

Mirrors (the first nine after --sync go with -r, too, which then compares)
      --sync             make DST equal to SRC, by size and time; implies -r
  -n, --dry-run          only print what --sync, -r or --clean would do
      --itemize-changes  print a line for each change, as rsync does (or -i)
  -c, --checksum         compare contents, not times
      --size-only        take files of equal size for equal
  -I, --ignore-times     send files even if size and time are equal
  -u, --update           leave files alone that are newer at DST
      --existing         make nothing that DST does not have
      --ignore-existing  change nothing that DST has
      --modify-window N  take times up to N seconds apart for equal
      --delete           at the end, remove from DST what SRC does not have
      --delete-excluded  the same, and remove what rules exclude, too
      --max-delete N     remove no more than N files and directories
      --force            replace directories by files; delete for an empty SRC

What to tell
  -v, --verbose          print a summary at the end, with the bandwidth
  -q, --quiet            print nothing unless something fails
      --progress         draw a progress line even if stderr is not a terminal
      --doctor           say what makes copies slow, here and on HOST
      --json[=events]    print the result, or all that happens, as JSON
  -h, --help             print this text
      --version          print the version

How to reach a host
  -e, --rsh CMD          remote shell to use instead of ssh
  -P, --port PORT        ssh's port
  -i, --identity FILE    private key for ssh (may be repeated)
  -F, --ssh-config FILE  configuration file for ssh
  -o, --ssh-option OPT   option for ssh, as in ssh_config (may be repeated)
      --rdcp-path PATH   rdcp's name or path on the remote host
      --no-deploy        put no rdcp on a host that has none

How to move the data
      --encrypt[=WHEN]   auto: TCP to other hosts (default); always (if alone)
      --no-encrypt       encrypt nothing
      --compress[=HOW]   auto, off or a level of zstd, 1 to 19; alone: 1
      --streams N        parallel connections, 1 to 64
      --chunk-size SIZE  64K to 16M, a multiple of 4K
      --transport NAME   auto, tcp or rdma
      --retry-time SECS  how long to try to replace a lost connection (60)
      --retries N        go on with a copy that lost its host, N times at most
      --via ADDR         address, interface or RDMA device; ssh: through ssh
      --data-port P[-Q]  port for data, or the first free one of a range
      --no-ssh-data      fail rather than send data through ssh
      --bwlimit RATE     at most RATE bytes per second
      --cache MODE       page cache: auto, keep or bypass
      --congestion NAME  TCP congestion control for the data
      --ring NAME        how to do file I/O: auto, io_uring or threads
      --no-landlock      let agents do what their user may
SIZE and RATE take K, M, G, T (KiB, ...: 1024; KB, ...: 1000). Exit status: 0
all copied (--check, --doctor: nothing found), 1 not all; 2 usage; 3 no rdcp
reached; 4 connection; 5 digest; 130, 143 signals. All options: man rdcp
)";

}  // namespace rdcp::cli
