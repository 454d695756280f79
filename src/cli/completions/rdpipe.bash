# Completion of rdpipe's options, their values and hosts in bash.

# Names that ssh knows: Host lines without patterns, and hosts of /etc/hosts or $HOSTFILE.
_rdpipe_hosts() {
    compgen -A hostname
    [[ -r ~/.ssh/config ]] || return 0
    local keyword names
    while read -r keyword names; do
        [[ ${keyword,,} == host && $names != *[*?!]* ]] && printf '%s\n' $names
    done <~/.ssh/config
}

_rdpipe() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    # bash splits "--cache=keep" at the sign.
    if [[ $cur == "=" ]]; then
        cur=""
    elif [[ $prev == "=" ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi

    local words=""
    case $prev in
        -i | --identity | -F | --ssh-config)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            return
            ;;
        -e | --rsh) words=$(compgen -c -- "$cur") ;;
        -o | --ssh-option) words="Compression=no IdentitiesOnly=yes Port=22" ;;
        -p | --port) words="7691" ;;
        -H | --hostname) words=$(hostname 2>/dev/null) ;;
        --rdcp-path | --data-port) return ;;
        --transport) words="auto tcp rdma" ;;
        --cache) words="auto keep bypass" ;;
        --encrypt) [[ ${COMP_WORDS[COMP_CWORD - 1]}${COMP_WORDS[COMP_CWORD]} == *=* ]] && words="auto always" ;;
        --compress) [[ ${COMP_WORDS[COMP_CWORD - 1]}${COMP_WORDS[COMP_CWORD]} == *=* ]] && words="auto off 1 3 9 19" ;;
        --ring) words="auto io_uring threads" ;;
        --via) words=$(cd /sys/class/net 2>/dev/null && printf '%s\n' *) ;;
        --congestion) words=$(cat /proc/sys/net/ipv4/tcp_available_congestion_control 2>/dev/null) ;;
        --tos) words="none cs0 cs1 cs2 cs3 cs4 cs5 cs6 cs7 af11 af12 af13 af21 af22 af23 af31 af32 af33 af41 af42 af43 ef le va lowdelay throughput reliability" ;;
        --streams) words="1 2 4 8 16 32 64" ;;
        --chunk-size) words="64K 256K 512K 1M 2M 4M 8M 16M" ;;
        --bwlimit) words="100MB 500MB 1GB" ;;
    esac
    if [[ -z $words && $cur == -* ]]; then
        words="-n --dryrun -p --port -H --hostname -v --verbose -q --quiet -h --help -V --version
            -e --rsh -i --identity -F --ssh-config -o --ssh-option --rdcp-path --no-deploy
            --encrypt --no-encrypt --data-port --no-ssh-data --compress --streams --chunk-size --transport --via --bwlimit --cache --congestion --tos --ring --no-landlock --no-numa --numa"
    fi
    if [[ -n $words ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
        return
    fi
    [[ $cur == : || $prev == : ]] && return
    mapfile -t COMPREPLY < <(compgen -S : -W "$(_rdpipe_hosts)" -- "$cur" | sort -u)
    ((${#COMPREPLY[@]} > 0)) && compopt -o nospace 2>/dev/null
    return 0
}

complete -F _rdpipe rdpipe
