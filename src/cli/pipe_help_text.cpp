#include "cli/help_text.h"

namespace rdcp::cli {

const char* const kSendHelpText =
    R"(Usage: rdsend [options] HOST PORT KEY [FILE]
Sends standard input, or FILE, to rdrecv on HOST, every chunk checked.

KEY is the same word as at rdrecv. On the command line it can be seen for a
moment by others on this host; --key-file and --key-fd take its place there.

What to send
      --key-file FILE    the first line of FILE is KEY; only you may read it
      --key-fd N         one line of descriptor N is KEY (or KEY is -)
      --wait SECONDS     try for so long while rdrecv is not there; else 10

What to tell
  -v, --verbose          a summary at the end, with the bandwidth
  -q, --quiet            nothing unless something fails
      --progress         a progress line even where stderr is no terminal
  -h, --help             this text
      --version          the version

How to move the data
      --streams N        parallel connections from FILE to FILE, 1 to 64
      --chunk-size SIZE  64K to 16M, a multiple of 4K
      --transport NAME   auto, tcp or rdma
      --via ADDR         address, network interface or RDMA device, for RDMA
      --bwlimit RATE     at most RATE bytes per second
      --cache MODE       page cache: auto, keep or bypass
      --congestion NAME  TCP congestion control for the data
      --ring NAME        file I/O: auto, io_uring or threads (to find faults)

SIZE and RATE take K, M, G, T (KiB, ...: 1024; KB, ...: 1000).
Exit status: 0 all was received; 1 reading or writing failed; 2 usage; 3 rdrecv
not reached; 4 data connection failed; 5 digest mismatch; 130, 143 signals.
)";

const char* const kReceiveHelpText =
    R"(Usage: rdrecv [options] PORT KEY [FILE]
Receives what rdsend sends and writes it to standard output, or to FILE.

PORT 0 is a free port, which is printed as "port N" on standard error. KEY is
the same word as at rdsend. On the command line it can be seen for a moment by
others on this host; --key-file and --key-fd take its place there.
FILE is seen under its name when all of it is there and was checked.

What to receive
      --key-file FILE    the first line of FILE is KEY; only you may read it
      --key-fd N         one line of descriptor N is KEY (or KEY is -)

What to tell
  -v, --verbose          a summary at the end, with the bandwidth
  -q, --quiet            nothing unless something fails
  -h, --help             this text
      --version          the version

How to move the data
      --transport NAME   auto, tcp or rdma
      --via ADDR         address, interface or RDMA device to listen on
      --cache MODE       page cache: auto, keep or bypass
      --congestion NAME  TCP congestion control for the data
      --ring NAME        file I/O: auto, io_uring or threads (to find faults)

Exit status: 0 all was received; 1 reading or writing failed; 2 usage; 3 PORT
cannot be listened on; 4 the stream was cut short; 5 digest mismatch; 130, 143
signals.
)";

}  // namespace rdcp::cli
