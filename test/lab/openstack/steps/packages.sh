# Debian's packages. Only the Python parts and the bare servers: no package
# that configures a daemon of the machine.

PACKAGES="python3-keystone python3-glance python3-placement python3-nova
  python3-neutron python3-cinder python3-octavia python3-openstacksdk
  python3-pymysql mariadb-server-core mariadb-client-core
  uwsgi-core uwsgi-plugin-python3 curl"

# Their WSGI pipelines are in packages whose installation would set up daemons;
# these are unpacked below the state directory instead.
PASTE_PACKAGES="nova-common neutron-common glance-common cinder-common"

installed() {
  [ "$(dpkg-query -W -f='${db:Status-Abbrev}' "$1" 2>/dev/null)" = "ii " ]
}

install_packages() {
  local p missing=() policy=/usr/sbin/policy-rc.d ours=
  for p in $PACKAGES; do installed "$p" || missing+=("$p"); done
  [ ${#missing[@]} -gt 0 ] || return 0
  [ "$(id -u)" = 0 ] || die "these packages are missing, and only root can install them: ${missing[*]}"

  say "installing ${missing[*]}"
  if [ ! -e "$policy" ]; then # what the packages depend on starts no daemon
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
    ours=1
  fi
  apt-get update -q >"$LOG/apt.log" 2>&1 || true
  DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
    -o Dpkg::Options::=--force-unsafe-io "${missing[@]}" >>"$LOG/apt.log" 2>&1 || {
    [ -z "$ours" ] || rm -f "$policy"
    tail -20 "$LOG/apt.log" >&2
    die "cannot install the packages; all of the log: $LOG/apt.log"
  }
  [ -z "$ours" ] || rm -f "$policy"
}

unpack_paste() {
  [ ! -e "$PASTE/.done" ] || return 0
  say "unpacking $PASTE_PACKAGES"
  rm -rf "$PASTE"
  mkdir -p "$PASTE/debs"
  # shellcheck disable=SC2086  # a list of words
  (cd "$PASTE/debs" && apt-get download -q -o APT::Sandbox::User=root $PASTE_PACKAGES >>"$LOG/apt.log" 2>&1) ||
    die "cannot download $PASTE_PACKAGES; log: $LOG/apt.log"
  for deb in "$PASTE"/debs/*.deb; do dpkg-deb -x "$deb" "$PASTE"; done
  rm -rf "$PASTE/debs"
  touch "$PASTE/.done"
}
