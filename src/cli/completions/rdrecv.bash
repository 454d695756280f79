# Completion of rdrecv's options, their values and files in bash.

_rdrecv() {
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
        --transport) words="auto tcp rdma" ;;
        --cache) words="auto keep bypass" ;;
        --ring) words="auto io_uring threads" ;;
        --via) words=$(cd /sys/class/net 2>/dev/null && printf '%s\n' *) ;;
        --congestion) words=$(cat /proc/sys/net/ipv4/tcp_available_congestion_control 2>/dev/null) ;;
        --tos) words="none cs0 cs1 cs2 cs3 cs4 cs5 cs6 cs7 af11 af12 af13 af21 af22 af23 af31 af32 af33 af41 af42 af43 ef le va lowdelay throughput reliability" ;;
        --key-fd) return ;;
    esac
    if [[ -z $words && $cur == -* ]]; then
        words="-v --verbose -q --quiet -h --help --version --key-file --key-fd
            --encrypt --no-encrypt --transport --via --cache --congestion --tos --ring --no-landlock --no-numa --numa"
    fi
    if [[ -n $words ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
        return
    fi
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}

complete -F _rdrecv rdrecv
