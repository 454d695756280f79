# Completion of rdcp's options, their values, files and hosts in bash.

# Names that ssh knows: Host lines without patterns, and hosts of /etc/hosts or $HOSTFILE.
_rdcp_hosts() {
    compgen -A hostname
    [[ -r ~/.ssh/config ]] || return 0
    local keyword names
    while read -r keyword names; do
        [[ ${keyword,,} == host && $names != *[*?!]* ]] && printf '%s\n' $names
    done <~/.ssh/config
}

_rdcp_complete_words() {
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

_rdcp_complete_files() {
    compopt -o filenames 2>/dev/null
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$cur")
}

# Paths on the host that stands before the colon, which rdcp asks for with the options for ssh on the line.
_rdcp_complete_remote() {
    local begin=$cur at=$((COMP_CWORD - 2)) i host value
    local -a options=()
    [[ $cur == : ]] && begin="" at=$((COMP_CWORD - 1))
    # bash splits "user@host" and "-o Port=22", too.
    host=${COMP_WORDS[at]}
    [[ ${COMP_WORDS[at - 1]} == @ ]] && host=${COMP_WORDS[at - 2]}@$host
    for ((i = 1; i < at; ++i)); do
        case ${COMP_WORDS[i]} in
            -P | -i | -F | -o | -e | --port | --identity | --ssh-config | --ssh-option | --rsh | --rdcp-path | --launcher)
                value=${COMP_WORDS[i + 1]}
                [[ ${COMP_WORDS[i + 2]} == "=" ]] && value+="=${COMP_WORDS[i + 3]}"
                options+=("${COMP_WORDS[i]}" "$value")
                ;;
        esac
    done
    # The word is still as it was typed, with quotes and backslashes.
    begin=$(printf '%s' "$begin" | xargs printf '%s' 2>/dev/null) || return
    mapfile -t COMPREPLY < <(command "${COMP_WORDS[0]}" "${options[@]}" --complete "$host:$begin" 2>/dev/null)
    compopt -o filenames 2>/dev/null
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == */ ]] && compopt -o nospace 2>/dev/null
}

# A local path, "[USER@]HOST:", or a path on that host.
_rdcp_complete_location() {
    if [[ $cur == : || $prev == : ]]; then
        _rdcp_complete_remote
        return
    fi
    local user="" host
    [[ $cur == *@* ]] && user=${cur%@*}@
    if [[ $cur != */* ]]; then
        while read -r host; do
            COMPREPLY+=("$user$host:")
        done < <(compgen -W "$(_rdcp_hosts)" -- "${cur#"$user"}" | sort -u)
        ((${#COMPREPLY[@]} > 0)) && compopt -o nospace 2>/dev/null
    fi
    _rdcp_complete_files
}

_rdcp() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    # bash splits "--cache=keep" at the sign.
    if [[ $cur == "=" ]]; then
        cur=""
    elif [[ $prev == "=" ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi

    case $prev in
        -i | --identity | -F | --ssh-config | --manifest | --sums | --exclude-from | --include-from | --files-from)
            _rdcp_complete_files && return ;;
        --exclude | --include | -f | --filter) return ;;
        --max-size | --min-size) _rdcp_complete_words "1K 1M 100M 1G" && return ;;
        --launcher) _rdcp_complete_words "ssh srun kubectl" && return ;;
        -e | --rsh) _rdcp_complete_words "$(compgen -c -- "$cur")" && return ;;
        -P | --port) _rdcp_complete_words "22" && return ;;
        -o | --ssh-option)
            _rdcp_complete_words "Compression=no ConnectTimeout= IdentitiesOnly=yes ProxyJump= StrictHostKeyChecking="
            compopt -o nospace 2>/dev/null
            return
            ;;
        --rdcp-path) return ;;
        --modify-window) _rdcp_complete_words "1 2" && return ;;
        --max-delete) _rdcp_complete_words "100 1000" && return ;;
        --streams) _rdcp_complete_words "1 2 4 8 16 32 64" && return ;;
        --chunk-size) _rdcp_complete_words "64K 256K 512K 1M 2M 4M 8M 16M" && return ;;
        --encrypt) [[ ${COMP_WORDS[COMP_CWORD - 1]}${COMP_WORDS[COMP_CWORD]} == *=* ]] &&
            _rdcp_complete_words "auto always" && return ;;
        --data-port) return ;;
        --transport) _rdcp_complete_words "auto tcp rdma" && return ;;
        --retries) _rdcp_complete_words "3 10 100" && return ;;
        --retry-time) _rdcp_complete_words "0 10 60 600" && return ;;
        --via) _rdcp_complete_words "ssh $(cd /sys/class/net 2>/dev/null && printf '%s\n' *)" && return ;;
        --bwlimit) _rdcp_complete_words "100MB 500MB 1GB" && return ;;
        --chmod) _rdcp_complete_words "D755,F644 u+rwX,go-w" && return ;;
        --cache) _rdcp_complete_words "auto keep bypass" && return ;;
        --congestion)
            _rdcp_complete_words "$(cat /proc/sys/net/ipv4/tcp_available_congestion_control 2>/dev/null)"
            return
            ;;
        --tos)
            _rdcp_complete_words "none cs0 cs1 cs2 cs3 cs4 cs5 cs6 cs7 af11 af12 af13 af21 af22 af23 af31 af32 af33 af41 af42 af43 ef le va lowdelay throughput reliability"
            return
            ;;
        --json) [[ ${COMP_WORDS[COMP_CWORD - 1]}${COMP_WORDS[COMP_CWORD]} == *=* ]] &&
            _rdcp_complete_words "events" && return ;;
        --compress) [[ ${COMP_WORDS[COMP_CWORD - 1]}${COMP_WORDS[COMP_CWORD]} == *=* ]] &&
            _rdcp_complete_words "auto off 1 3 9 19" && return ;;
        --ring) _rdcp_complete_words "auto io_uring threads" && return ;;
    esac

    if [[ $cur == -* ]]; then
        _rdcp_complete_words "-r --recursive -L --copy-links --copy-devices --remove-source-files -p --preserve --no-owner --chmod --chown --no-xattrs --numeric-ids --inplace -W --whole-file
            --no-resume --fsync --mkpath -b --backup --backup-dir --suffix --link-dest --clean --verify --manifest --sums --check --quick --metadata
            --exclude --include -f --filter --exclude-from --include-from --files-from -R --relative -0 --from0
            -x --one-file-system --max-size --min-size
            --sync -n --dry-run --itemize-changes -c --checksum --size-only -I --ignore-times
            -u --update --existing --ignore-existing --modify-window --delete --delete-excluded --max-delete --force
            -v --verbose -q --quiet --progress --doctor --print-config --json -h --help --version
            -e --rsh --launcher -P --port -i --identity -F --ssh-config -o --ssh-option --rdcp-path --no-deploy --hosts --failed-hosts --fanout --keep-slow-hosts
            --encrypt --no-encrypt --data-port --no-ssh-data --compress --streams --chunk-size --transport --retry-time --retries --max-runtime --log-file -3 -4 --ipv4 -6 --ipv6 --via --bwlimit --cache --congestion --tos --ring --no-landlock --no-numa --numa"
    else
        _rdcp_complete_location
    fi
}

complete -F _rdcp rdcp
