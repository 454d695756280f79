#include "cli/help_text.h"

namespace rdcp::cli {

const char* const kHelpText =
    R"(Usage: rdcp [options] SRC... DST
       rdcp --doctor [options] [HOST]
Copies files and trees between hosts, in parallel, every chunk checked.

SRC and DST are PATH, HOST:PATH, USER@HOST:PATH, [IPV6]:PATH, or - for stdin or
stdout. ./a:b is a local file. With -r, SRC lands in DST/SRC if DST is an
existing directory, else it becomes DST; SRC/ (with a slash) means what is in
it, and that lands in DST itself.

What to copy
  -r, --recursive        copy directories with all that is in them
  -p, --preserve         accepted for scp's sake: metadata is always kept
      --no-owner         do not keep owner and group (kept when root)
      --no-xattrs        do not keep extended attributes and ACLs
      --numeric-ids      keep owner and group by number, not by name

What to tell
  -v, --verbose          a summary at the end, with the bandwidth
  -q, --quiet            nothing unless something fails
      --progress         a progress line even where stderr is no terminal
      --doctor           what stands in the way of fast copies, here and on HOST
      --json             the doctor's report as JSON
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
      --via ADDR         address, network interface or RDMA device
      --bwlimit RATE     at most RATE bytes per second
      --cache MODE       page cache: auto, keep or bypass
      --congestion NAME  TCP congestion control for the data
      --ring NAME        file I/O: auto, io_uring or threads (to find faults)

SIZE and RATE take K, M, G, T (KiB, ...: 1024; KB, ...: 1000).
Exit status: 0 all copied; 1 some files not; 2 usage; 3 host or rdcp there not
reached; 4 data connection failed; 5 digest mismatch; 130, 143 signals.
The doctor: 0 no problem, 1 some, 3 HOST not reached.
)";

}  // namespace rdcp::cli
