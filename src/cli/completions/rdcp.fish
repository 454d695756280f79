# Completion of rdcp's options, their values, files and hosts in fish.

function __rdcp_interfaces
    command ls /sys/class/net 2>/dev/null
end

function __rdcp_congestion
    string split -n ' ' </proc/sys/net/ipv4/tcp_available_congestion_control 2>/dev/null
end

# Paths on the host that stands before the colon, which rdcp asks for with the options for ssh on the line.
function __rdcp_remote_paths
    set -l word (commandline -ct)
    string match -qr '^[^/]+:' -- $word; or return
    set -l host (string replace -r ':.*' '' -- $word)
    set -l options
    set -l words (commandline -opc)
    for i in (seq 2 (math (count $words) - 1))
        contains -- $words[$i] -P -i -F -o -e --port --identity --ssh-config --ssh-option --rsh --rdcp-path --launcher
        and set -a options $words[$i] $words[(math $i + 1)]
    end
    for path in (command $words[1] $options --complete $word 2>/dev/null)
        echo $host:$path
    end
end

complete -c rdcp -d 'Path there' -a '(__rdcp_remote_paths)'
complete -c rdcp -d Host -a '(__fish_complete_user_at_hosts):'

complete -c rdcp -s r -l recursive -d 'copy directories with all that is in them'
complete -c rdcp -s p -l preserve -d 'accepted for scp\'s sake; metadata is always kept'
complete -c rdcp -l chmod -x -a 'D755,F644 u+rwX,go-w' -d 'change modes on the way'
complete -c rdcp -l chown -x -d 'give everything to this user and group'
complete -c rdcp -l no-owner -d 'do not keep owner and group'
complete -c rdcp -s L -l copy-links -d 'copy what symbolic links lead to'
complete -c rdcp -l remove-source-files -d 'remove from SRC what was copied'
complete -c rdcp -l copy-devices -d 'read a device that is SRC'
complete -c rdcp -l no-xattrs -d 'do not keep extended attributes and ACLs'
complete -c rdcp -l numeric-ids -d 'keep owner and group by number, not by name'
complete -c rdcp -l inplace -d 'write large files into the old ones, only what differs'
complete -c rdcp -s W -l whole-file -d 'send all of a file, whatever DST has of it'
complete -c rdcp -l no-resume -d 'start large files over that a run has left in part'
complete -c rdcp -l fsync -d 'all is on the disk before it has its name'
complete -c rdcp -l mkpath -d 'make the directories that DST lies in'
complete -c rdcp -s b -l backup -d 'keep what is replaced or removed'
complete -c rdcp -l backup-dir -x -d 'where in DST it is kept'
complete -c rdcp -l link-dest -x -d 'link what is the same in an earlier copy'
complete -c rdcp -l suffix -x -a '.old .bak' -d 'what the names of backups end with'
complete -c rdcp -l clean -d 'remove what runs have left beneath a directory'

complete -c rdcp -l sync -d 'make the target what the source is'
complete -c rdcp -s n -l dry-run -d 'only say what --sync or --clean would do'
complete -c rdcp -l itemize-changes -d 'a line for each change'
complete -c rdcp -s c -l checksum -d 'compare contents, not times'
complete -c rdcp -l size-only -d 'files of one size are equal'
complete -c rdcp -s I -l ignore-times -d 'send files even if size and time are equal'
complete -c rdcp -s u -l update -d 'leave newer files alone'
complete -c rdcp -l existing -d 'make nothing that is not there'
complete -c rdcp -l ignore-existing -d 'change nothing that is there'
complete -c rdcp -l modify-window -x -a '1 2 3600' -d 'seconds by which equal times may differ'
complete -c rdcp -l delete -d 'remove what the source lacks'
complete -c rdcp -l delete-excluded -d 'remove what is excluded, too'
complete -c rdcp -l max-delete -x -a '100 1000' -d 'remove no more than so many'
complete -c rdcp -l force -d 'replace directories by files'

complete -c rdcp -l verify -d 'read back from the disk what was written'
complete -c rdcp -l manifest -r -F -d 'list of what was copied, with digests'
complete -c rdcp -l sums -r -F -d 'the same as xxh128sum writes it'
complete -c rdcp -l check -d 'compare, copy nothing'
complete -c rdcp -l quick -d 'check without reading files'
complete -c rdcp -l metadata -d 'check times, modes, owners and attributes, too'

complete -c rdcp -l exclude -x -d 'leave out what matches'
complete -c rdcp -l include -x -d 'copy what matches'
complete -c rdcp -s f -l filter -x -d 'a rule in full'
complete -c rdcp -l exclude-from -r -F -d 'an exclude pattern on each line'
complete -c rdcp -l include-from -r -F -d 'an include pattern on each line'
complete -c rdcp -l files-from -r -F -d 'only the paths in a file'
complete -c rdcp -s R -l relative -d 'keep the directories that the path of SRC names'
complete -c rdcp -s 0 -l from0 -d 'lines of these files end with NUL'
complete -c rdcp -s x -l one-file-system -d 'stay on the filesystem of the source'
complete -c rdcp -l max-size -x -a '1K 1M 100M 1G' -d 'no larger files'
complete -c rdcp -l min-size -x -a '1K 1M 100M 1G' -d 'no smaller files'

complete -c rdcp -s v -l verbose -d 'a summary at the end, with the bandwidth'
complete -c rdcp -s q -l quiet -d 'nothing unless something fails'
complete -c rdcp -l progress -d 'a progress line even if stderr is not a terminal'
complete -c rdcp -l print-config -x -d 'which settings hold for a host'
complete -c rdcp -l doctor -d 'what stands in the way of fast copies'
complete -c rdcp -l json -a 'events' -d 'the result, or all that happens, as JSON'
complete -c rdcp -s h -l help -d 'print a short help'
complete -c rdcp -l version -d 'print the version'

complete -c rdcp -s e -l rsh -x -a '(__fish_complete_command)' -d 'remote shell to use instead of ssh'
complete -c rdcp -s P -l port -x -d 'port of ssh'
complete -c rdcp -s i -l identity -r -F -d 'private key for ssh'
complete -c rdcp -s F -l ssh-config -r -F -d 'configuration file for ssh'
complete -c rdcp -s o -l ssh-option -x -d 'option for ssh, as in ssh_config'
complete -c rdcp -l rdcp-path -x -d 'name or path of rdcp on the remote host'
complete -c rdcp -l no-deploy -d 'put no rdcp on a host that has none'

complete -c rdcp -l streams -x -a '1 2 4 8 16 32 64' -d 'parallel connections'
complete -c rdcp -l chunk-size -x -a '64K 256K 512K 1M 2M 4M 8M 16M' -d 'size of a chunk'
complete -c rdcp -l encrypt -d 'encrypt what goes over the network'
complete -c rdcp -l launcher -x -a 'ssh srun kubectl' -d 'what starts rdcp on a host'
complete -c rdcp -l hosts -r -d 'copy to the hosts that a file lists, or slurm'
complete -c rdcp -l fanout -x -d 'each of several hosts passes on to so many others'
complete -c rdcp -l keep-slow-hosts -d 'let no host leave the chain because it is slow'
complete -c rdcp -l failed-hosts -r -d 'write the hosts that do not have all into a file'
complete -c rdcp -l no-encrypt -d 'encrypt nothing'
complete -c rdcp -l data-port -x -d 'listen for data on this port, or the first free one of a range'
complete -c rdcp -l no-ssh-data -d 'fail rather than send data through ssh'
complete -c rdcp -l compress -x -a 'auto off 1 3 9 19' -d 'compress with zstd'
complete -c rdcp -l transport -x -a 'auto tcp rdma' -d 'how the data travels'
complete -c rdcp -s 3 -d 'between two hosts, send the data through this one'
complete -c rdcp -s 4 -l ipv4 -d 'use IPv4 only'
complete -c rdcp -s 6 -l ipv6 -d 'use IPv6 only'
complete -c rdcp -l max-runtime -x -a '600 3600' -d 'seconds after which it ends'
complete -c rdcp -l log-file -r -d 'append what is said to a file, with times'
complete -c rdcp -l retries -x -a '3 10 100' -d 'how often a copy that lost its host is gone on with'
complete -c rdcp -l retry-time -x -a '0 10 60 600' -d 'seconds to try to get a lost connection back'
complete -c rdcp -l via -x -a '(__rdcp_interfaces)' -d 'address or network interface for the data'
complete -c rdcp -l bwlimit -x -a '100MB 500MB 1GB' -d 'most bytes per second'
complete -c rdcp -l cache -x -a 'auto keep bypass' -d 'use of the page cache'
complete -c rdcp -l congestion -x -a '(__rdcp_congestion)' -d 'TCP congestion control for the data'
complete -c rdcp -l tos -x -a 'none cs0 cs1 cs2 cs3 cs4 cs5 cs6 cs7 af11 af12 af13 af21 af22 af23 af31 af32 af33 af41 af42 af43 ef le va lowdelay throughput reliability' -d 'traffic class of the packets'
complete -c rdcp -l ring -x -a 'auto io_uring threads' -d 'file I/O, to find faults'
complete -c rdcp -l no-landlock -d 'let agents do what their user may'
complete -c rdcp -l no-numa -d 'leave threads and memory where they are'
complete -c rdcp -l numa -d 'undo --no-numa'
