#include "cli/options/help_text.h"

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
      --encrypt          encrypt and authenticate all; both ends must be told
      --compress[=HOW]   auto, off or a level of zstd, 1 to 19; alone: 1
      --streams N        parallel connections, 1 to 64; 1 for pipes, unless
                         --encrypt or --compress gives them work
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
      --encrypt          encrypt and authenticate all; both ends must be told
      --transport NAME   auto, tcp or rdma
      --via ADDR         address, interface or RDMA device to listen on
      --cache MODE       page cache: auto, keep or bypass
      --congestion NAME  TCP congestion control for the data
      --ring NAME        file I/O: auto, io_uring or threads (to find faults)

Exit status: 0 all was received; 1 reading or writing failed; 2 usage; 3 PORT
cannot be listened on; 4 the stream was cut short; 5 digest mismatch; 130, 143
signals.
)";

const char* const kPipelineHelpText =
    R"(Usage: rdpipe [options] HOST:CMD [HOST:CMD ...]
Sends standard input, unless it is a terminal, through commands on other hosts
and writes what the last one says to standard output. Data goes from host to
host; :CMD runs on this one, as does a CMD before which no host stands.

CMD is for the login shell there. Instead of a command it may be a file:
  '< FILE'               what follows reads FILE; what comes before ends first
  '> FILE', '>> FILE'    writes FILE, or appends to it; what follows begins then

What to do
  -n, --dryrun           say what would run where, and run nothing
  -p, --port PORT        listen on PORT and the ports after it; else free ones
  -H, --hostname NAME    hosts reach this one by NAME; else they are reached
  -v, --verbose          stderr with its host here, too; the bandwidth
  -q, --quiet            nothing unless something fails
  -h, --help             this text
  -V, --version          the version

How to reach the hosts
  -e, --rsh CMD          use CMD instead of ssh
  -i, --identity FILE    ssh identity file; may be repeated
  -F, --ssh-config FILE  ssh configuration file
  -o, --ssh-option OPT   ssh option; may be repeated
      --rdcp-path PATH   rdcp on the hosts; else "rdcp" in their PATH

How to move the data
      --encrypt          encrypt and authenticate what goes over the network
      --compress[=HOW]   auto, off or a level of zstd, 1 to 19; alone: 1
      --streams N        parallel connections, 1 to 64; 1 for pipes, unless
                         --encrypt or --compress gives them work
      --chunk-size SIZE  64K to 16M, a multiple of 4K
      --bwlimit RATE     at most RATE bytes per second and stream
      --transport NAME   auto, tcp or rdma
      --via ADDR         address, network interface or RDMA device, for RDMA
      --cache MODE       page cache: auto, keep or bypass
      --congestion NAME  TCP congestion control for the data
      --ring NAME        file I/O: auto, io_uring or threads (to find faults)

Exit status: that of the first command that failed, 127 if it was not found; 3 a
host was not reached; 4 a data connection failed; 130, 143 signals.
)";

}  // namespace rdcp::cli
