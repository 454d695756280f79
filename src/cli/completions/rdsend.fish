# Completion of rdsend's options, their values, hosts and files in fish.

complete -c rdsend -n 'test (count (commandline -opc)) -eq 1' -a '(__fish_print_hostnames)' -d Host

complete -c rdsend -s v -l verbose -d 'a summary at the end, with the bandwidth'
complete -c rdsend -s q -l quiet -d 'nothing unless something fails'
complete -c rdsend -l progress -d 'a progress line even if stderr is not a terminal'
complete -c rdsend -s h -l help -d 'print a short help'
complete -c rdsend -l version -d 'print the version'

complete -c rdsend -l key-file -r -F -d 'file whose first line is the key'
complete -c rdsend -l key-fd -x -d 'descriptor whose next line is the key'
complete -c rdsend -l wait -x -a '0 10 60' -d 'seconds to try while rdrecv is not there'
complete -c rdsend -l streams -x -a '1 2 4 8 16 32 64' -d 'parallel connections'
complete -c rdsend -l chunk-size -x -a '64K 256K 512K 1M 2M 4M 8M 16M' -d 'size of a chunk'
complete -c rdsend -l bwlimit -x -a '100MB 500MB 1GB' -d 'most bytes per second'

complete -c rdsend -l encrypt -d 'encrypt what goes over the network'
complete -c rdsend -l no-encrypt -d 'encrypt nothing'
complete -c rdsend -l compress -x -a 'auto off 1 3 9 19' -d 'compress with zstd'
complete -c rdsend -l transport -x -a 'auto tcp rdma' -d 'how the data travels'
complete -c rdsend -l via -x -a '(command ls /sys/class/net 2>/dev/null)' -d 'address, interface or RDMA device'
complete -c rdsend -l cache -x -a 'auto keep bypass' -d 'use of the page cache'
complete -c rdsend -l congestion -x -d 'TCP congestion control for the data'
complete -c rdsend -l tos -x -a 'none cs0 cs1 cs2 cs3 cs4 cs5 cs6 cs7 af11 af12 af13 af21 af22 af23 af31 af32 af33 af41 af42 af43 ef le va lowdelay throughput reliability' -d 'traffic class of the packets'
complete -c rdsend -l ring -x -a 'auto io_uring threads' -d 'file I/O, to find faults'
complete -c rdsend -l no-landlock -d 'let agents do what their user may'
complete -c rdsend -l no-numa -d 'leave threads and memory where they are'
complete -c rdsend -l numa -d 'undo --no-numa'
