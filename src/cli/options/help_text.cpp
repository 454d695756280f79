#include "cli/options/help_text.h"

namespace rdcp::cli {

const char* const kHelpText =
    R"(Usage: rdcp [options] SRC... DST
       rdcp --check [options] SRC DST
       rdcp --check --manifest FILE|--sums FILE [options] DIR
       rdcp --sync [options] SRC DST
       rdcp --doctor [options] [HOST]
       rdcp --clean [-n] [options] DIR
Copies files and trees between hosts, in parallel, every chunk checked.

SRC and DST are PATH, HOST:PATH, USER@HOST:PATH, [IPV6]:PATH, or - for stdin or
stdout. ./a:b is a local file. With -r, SRC lands in DST/SRC if DST is an
existing directory, else it becomes DST; SRC/ (with a slash) means what is in
it, and that lands in DST itself.

What to copy
  -r, --recursive        copy directories with all that is in them
      --copy-devices     read a device that is SRC; FIFOs are read without it
  -p, --preserve         accepted for scp's sake: metadata is always kept
      --no-owner         do not keep owner and group (kept when root)
      --no-xattrs        do not keep extended attributes and ACLs
      --numeric-ids      keep owner and group by number, not by name
      --inplace          write large files into the old ones, only what differs;
                         not atomic: an interrupted copy leaves a mix
  -W, --whole-file       send all of a file, whatever DST has of it
      --no-resume        start large files over that a run has left in part
      --fsync            all is on the disk before it has its name
      --clean            remove what runs have left beneath DIR (a list first)

What to verify
      --verify           read back from the target's disk what was written
      --manifest FILE    write a list of what was copied, with digests
      --sums FILE        the same as xxh128sum writes it
      --check            compare SRC with DST (contents with contents), or DIR
                         with the list that FILE is; copy nothing
      --quick            check types, sizes and times, read no file
      --metadata         check times, modes, owners and attributes, too

Which part of SRC (rules as rsync has them, the first that matches counts)
      --exclude PATTERN  leave out what matches
      --include PATTERN  take part after all: before an --exclude
  -f, --filter RULE      "- PATTERN", "+ PATTERN", "merge FILE", ...
      --exclude-from FILE  an exclude pattern on each line; - is stdin
      --include-from FILE  an include pattern on each line
      --files-from FILE  only the paths in FILE, one on each line, beneath SRC
  -0, --from0            the lines of all these files end with NUL
  -x, --one-file-system  stay on SRC's filesystem
      --max-size SIZE    no files larger than SIZE
      --min-size SIZE    no files smaller than SIZE

Mirrors
      --sync             make DST's contents SRC's: copy what is new or changed,
                         leave what is equal alone (size and time); SRC and
                         SRC/ mean the same, a mirror never nests; implies -r
  -n, --dry-run          only print what --sync (or --clean) would do
      --itemize-changes  a line for each change, as rsync has it; -i with --sync
  -c, --checksum         compare contents, not times
      --size-only        files of one size are equal
  -I, --ignore-times     send files even if size and time are equal
  -u, --update           leave files alone that are newer at DST
      --existing         make nothing that DST does not have
      --ignore-existing  change nothing that DST has
      --modify-window N  times that differ by up to N seconds are equal
      --delete           remove what SRC does not have, when all else is done
      --delete-excluded  the same, and remove what rules exclude, too
      --max-delete N     remove no more than N files and directories
      --force            replace directories by files; delete for an empty SRC

What to tell
  -v, --verbose          a summary at the end, with the bandwidth
  -q, --quiet            nothing unless something fails
      --progress         a progress line even where stderr is no terminal
      --doctor           what stands in the way of fast copies, here and on HOST
      --json             the result as JSON, on standard output
  -h, --help             this text
      --version          the version

How to reach a host
  -e, --rsh CMD          remote shell to use instead of ssh
  -P, --port PORT        ssh's port
  -i, --identity FILE    private key for ssh (may be repeated)
  -F, --ssh-config FILE  configuration file for ssh
  -o, --ssh-option OPT   option for ssh, as in ssh_config (may be repeated)
      --rdcp-path PATH   rdcp's name or path on the remote host

How to move the data
      --encrypt          encrypt and authenticate what goes over the network
      --compress[=HOW]   auto, off or a level of zstd, 1 to 19; alone: 1
      --streams N        parallel connections, 1 to 64
      --chunk-size SIZE  64K to 16M, a multiple of 4K
      --transport NAME   auto, tcp or rdma
      --retry-time SECS  try so long to get a lost connection back (60)
      --via ADDR         address, network interface or RDMA device
      --bwlimit RATE     at most RATE bytes per second
      --cache MODE       page cache: auto, keep or bypass
      --congestion NAME  TCP congestion control for the data
      --ring NAME        file I/O: auto, io_uring or threads (to find faults)

SIZE and RATE take K, M, G, T (KiB, ...: 1024; KB, ...: 1000).
Exit status: 0 all copied; 1 some files not; 2 usage; 3 host or rdcp there not
reached; 4 data connection failed; 5 digest mismatch; 130, 143 signals.
--check: 0 identical, 1 different. The doctor: 0 no problem, 1 some problem.
)";

}  // namespace rdcp::cli
