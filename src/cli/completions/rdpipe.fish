# Completion of rdpipe's options, their values and hosts in fish.

complete -c rdpipe -f -a '(__fish_print_hostnames):' -d Host

complete -c rdpipe -s n -l dryrun -d 'say what would run where'
complete -c rdpipe -s p -l port -x -a 7691 -d 'first port to listen on'
complete -c rdpipe -s H -l hostname -x -a '(__fish_print_hostnames)' -d 'name by which hosts reach this one'
complete -c rdpipe -s v -l verbose -d 'hosts before stderr, a summary, the bandwidth'
complete -c rdpipe -s q -l quiet -d 'nothing unless something fails'
complete -c rdpipe -s h -l help -d 'print a short help'
complete -c rdpipe -s V -l version -d 'print the version'

complete -c rdpipe -s e -l rsh -x -a '(__fish_complete_command)' -d 'remote shell to use instead of ssh'
complete -c rdpipe -s i -l identity -r -F -d 'private key for ssh'
complete -c rdpipe -s F -l ssh-config -r -F -d 'configuration file for ssh'
complete -c rdpipe -s o -l ssh-option -x -d 'option for ssh, as in ssh_config'
complete -c rdpipe -l rdcp-path -x -d 'name or path of rdcp on the other hosts'
complete -c rdpipe -l no-deploy -d 'put no rdcp on a host that has none'

complete -c rdpipe -l streams -x -a '1 2 4 8 16 32 64' -d 'parallel connections'
complete -c rdpipe -l chunk-size -x -a '64K 256K 512K 1M 2M 4M 8M 16M' -d 'size of a chunk'
complete -c rdpipe -l bwlimit -x -a '100MB 500MB 1GB' -d 'most bytes per second'

complete -c rdpipe -l encrypt -d 'encrypt what goes over the network'
complete -c rdpipe -l no-encrypt -d 'encrypt nothing'
complete -c rdpipe -l data-port -x -d 'listen for data on this port, or the first free one of a range'
complete -c rdpipe -l no-ssh-data -d 'fail rather than send data through ssh'
complete -c rdpipe -l compress -x -a 'auto off 1 3 9 19' -d 'compress with zstd'
complete -c rdpipe -l transport -x -a 'auto tcp rdma' -d 'how the data travels'
complete -c rdpipe -l via -x -a '(command ls /sys/class/net 2>/dev/null)' -d 'address, interface or RDMA device'
complete -c rdpipe -l cache -x -a 'auto keep bypass' -d 'use of the page cache'
complete -c rdpipe -l congestion -x -d 'TCP congestion control for the data'
complete -c rdpipe -l tos -x -a 'none cs0 cs1 cs2 cs3 cs4 cs5 cs6 cs7 af11 af12 af13 af21 af22 af23 af31 af32 af33 af41 af42 af43 ef le va lowdelay throughput reliability' -d 'traffic class of the packets'
complete -c rdpipe -l ring -x -a 'auto io_uring threads' -d 'file I/O, to find faults'
complete -c rdpipe -l no-landlock -d 'let agents do what their user may'
complete -c rdpipe -l no-numa -d 'leave threads and memory where they are'
complete -c rdpipe -l numa -d 'undo --no-numa'
