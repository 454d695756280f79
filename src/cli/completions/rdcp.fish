# Completion of rdcp's options, their values, files and hosts in fish.

function __rdcp_interfaces
    command ls /sys/class/net 2>/dev/null
end

function __rdcp_congestion
    string split -n ' ' </proc/sys/net/ipv4/tcp_available_congestion_control 2>/dev/null
end

complete -c rdcp -d Host -a '(__fish_complete_user_at_hosts):'

complete -c rdcp -s r -l recursive -d 'copy directories with all that is in them'
complete -c rdcp -s p -l preserve -d 'accepted for scp\'s sake; metadata is always kept'
complete -c rdcp -l no-owner -d 'do not keep owner and group'
complete -c rdcp -l no-xattrs -d 'do not keep extended attributes and ACLs'
complete -c rdcp -l numeric-ids -d 'keep owner and group by number, not by name'

complete -c rdcp -s v -l verbose -d 'a summary at the end, with the bandwidth'
complete -c rdcp -s q -l quiet -d 'nothing unless something fails'
complete -c rdcp -l progress -d 'a progress line even where stderr is no terminal'
complete -c rdcp -l doctor -d 'what stands in the way of fast copies'
complete -c rdcp -l json -d 'the report of --doctor as JSON'
complete -c rdcp -s h -l help -d 'print a short help'
complete -c rdcp -l version -d 'print the version'

complete -c rdcp -s e -l rsh -x -a '(__fish_complete_command)' -d 'remote shell to use instead of ssh'
complete -c rdcp -s P -l port -x -d 'port of ssh'
complete -c rdcp -s i -l identity -r -F -d 'private key for ssh'
complete -c rdcp -s F -l ssh-config -r -F -d 'configuration file for ssh'
complete -c rdcp -s o -l ssh-option -x -d 'option for ssh, as in ssh_config'
complete -c rdcp -l rdcp-path -x -d 'name or path of rdcp on the remote host'

complete -c rdcp -l streams -x -a '1 2 4 8 16 32 64' -d 'parallel connections'
complete -c rdcp -l chunk-size -x -a '64K 256K 512K 1M 2M 4M 8M 16M' -d 'size of a chunk'
complete -c rdcp -l encrypt -d 'encrypt what goes over the network'
complete -c rdcp -l compress -x -a 'auto off 1 3 9 19' -d 'compress with zstd'
complete -c rdcp -l transport -x -a 'auto tcp rdma' -d 'how the data travels'
complete -c rdcp -l via -x -a '(__rdcp_interfaces)' -d 'address or network interface for the data'
complete -c rdcp -l bwlimit -x -a '100MB 500MB 1GB' -d 'most bytes per second'
complete -c rdcp -l cache -x -a 'auto keep bypass' -d 'use of the page cache'
complete -c rdcp -l congestion -x -a '(__rdcp_congestion)' -d 'TCP congestion control for the data'
complete -c rdcp -l ring -x -a 'auto io_uring threads' -d 'file I/O, to find faults'
