# Completion of rdrecv's options, their values and files in fish.

complete -c rdrecv -s v -l verbose -d 'a summary at the end, with the bandwidth'
complete -c rdrecv -s q -l quiet -d 'nothing unless something fails'
complete -c rdrecv -s h -l help -d 'print a short help'
complete -c rdrecv -l version -d 'print the version'

complete -c rdrecv -l key-file -r -F -d 'file whose first line is the key'
complete -c rdrecv -l key-fd -x -d 'descriptor whose next line is the key'

complete -c rdrecv -l encrypt -d 'encrypt what goes over the network'
complete -c rdrecv -l no-encrypt -d 'encrypt nothing'
complete -c rdrecv -l transport -x -a 'auto tcp rdma' -d 'how the data travels'
complete -c rdrecv -l via -x -a '(command ls /sys/class/net 2>/dev/null)' -d 'address, interface or RDMA device'
complete -c rdrecv -l cache -x -a 'auto keep bypass' -d 'use of the page cache'
complete -c rdrecv -l congestion -x -d 'TCP congestion control for the data'
complete -c rdrecv -l tos -x -a 'none cs0 cs1 cs2 cs3 cs4 cs5 cs6 cs7 af11 af12 af13 af21 af22 af23 af31 af32 af33 af41 af42 af43 ef le va lowdelay throughput reliability' -d 'traffic class of the packets'
complete -c rdrecv -l ring -x -a 'auto io_uring threads' -d 'file I/O, to find faults'
complete -c rdrecv -l no-landlock -d 'let agents do what their user may'
complete -c rdrecv -l no-numa -d 'leave threads and memory where they are'
complete -c rdrecv -l numa -d 'undo --no-numa'
