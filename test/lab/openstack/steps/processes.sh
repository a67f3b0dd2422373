# Processes of the lab: each has its own session, a log and a pid file that also
# names its start time, so that a pid which another process got later is never
# taken for ours.

# birth PID: when the process was started, in ticks since boot.
birth() {
  local stat
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  stat=${stat##*) } # the name in parentheses may hold spaces
  # shellcheck disable=SC2086
  set -- $stat
  echo "${20}"
}

# alive NAME: true if the process of this name runs; sets PID.
alive() {
  local born
  PID=
  [ -s "$RUN/$1.pid" ] || return 1
  read -r PID born <"$RUN/$1.pid"
  [ "$(birth "$PID")" = "$born" ]
}

# start NAME COMMAND...: start it in the background unless it runs.
start() {
  local name=$1 pid
  shift
  ! alive "$name" || return 0
  (
    cd "$LIB"
    exec setsid env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME="$LIB" no_proxy='*' \
      PYTHONPATH="$DRIVERS" PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=ignore \
      LAB_HOSTS="$LAB_HOSTS" OS_KEYSTONE_CONFIG_FILES="$ETC/keystone.conf" \
      OS_PLACEMENT_CONFIG_DIR="$ETC" LAB_OCTAVIA_CONF="$ETC/octavia.conf" \
      "$@" >>"$LOG/$name.log" 2>&1 </dev/null 9>&-
  ) &
  pid=$!
  disown "$pid"
  echo "$pid $(birth "$pid")" >"$RUN/$name.pid"
}

# stop NAME: ask it to end, then insist. What it holds is in the database, so
# three seconds are plenty; the database itself gets twenty.
stop() {
  local tenths=30
  [ "$1" = mariadb ] && tenths=200
  if alive "$1"; then
    kill -TERM "$PID" 2>/dev/null || true
    while [ $tenths -gt 0 ] && alive "$1"; do
      sleep 0.1
      tenths=$((tenths - 1))
    done
    kill -KILL -- "-$PID" 2>/dev/null || true # its workers too
  fi
  rm -f "$RUN/$1.pid"
}

# stop_services stops all but the database, side by side.
stop_services() {
  local file name pids=()
  for file in "$RUN"/*.pid; do
    [ -e "$file" ] || continue
    name=$(basename "$file" .pid)
    [ "$name" = mariadb ] && continue
    stop "$name" &
    pids+=($!)
  done
  [ ${#pids[@]} -eq 0 ] || wait "${pids[@]}"
}

# answers NAME URL: wait until the service answers.
answers() {
  local i
  for ((i = 0; i < 900; i++)); do
    case $(curl --noproxy '*' -s -o /dev/null -m 5 -w '%{http_code}' "$2" || true) in
      200 | 300 | 401)
        say "$1 answers"
        return 0
        ;;
    esac
    alive "$1" || break
    sleep 0.2
  done
  tail -30 "$LOG/$1.log" >&2
  die "$1 does not answer at $2; all of its log: $LOG/$1.log"
}
