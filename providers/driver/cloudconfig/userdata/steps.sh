failed=
fail() { echo "$1" >&2; failed=yes; }

# keep PATH remembers what is at a path before it is written for the first time.
keep() {
	grep -qsxF -- "$1" "$M/kept" && return
	if [ -e "$1" ] || [ -L "$1" ]; then
		mkdir -p "$M/before"
		cp -a -- "$1" "$M/before/$(printf %s "$1" | sha256sum | cut -c1-16)" || fail "$1 cannot be kept"
	fi
	printf '%s\n' "$1" >>"$M/kept" || exit 1
}

# newcomer NAME remembers a user that is not there yet.
newcomer() {
	id -u -- "$1" >/dev/null 2>&1 || printf '%s\n' "$1" >>"$M/users"
}

# keep_keys NAME remembers whom a user that is there lets in.
keep_keys() {
	home=$(getent passwd -- "$1" | cut -d: -f6)
	if [ -d "$home" ]; then keep "$home/.ssh/authorized_keys"; fi
}

# file PATH write|append MODE OWNER takes the content, in base64, from its input.
file() {
	(umask 022; mkdir -p -- "$(dirname -- "$1")")
	case $2 in
	append) base64 -d >>"$1" ;;
	*) base64 -d >"$1" ;;
	esac && chown -- "$4" "$1" && chmod -- "$3" "$1" || fail "$1 cannot be written"
}

# user NAME OPTION… makes a user, or changes the one that is there.
user() {
	name=$1
	shift
	if id -u -- "$name" >/dev/null 2>&1; then
		[ $# -eq 0 ] || usermod "$@" -- "$name" || fail "user $name cannot be changed"
	else
		(umask 022; useradd --create-home "$@" -- "$name") || fail "user $name cannot be made"
	fi
}

# authorize NAME lets the keys of its input in.
authorize() {
	home=$(getent passwd -- "$1" | cut -d: -f6)
	[ -d "$home" ] || { fail "user $1 has no home"; return; }
	keep "$home/.ssh/authorized_keys"
	mkdir -p -m 0700 -- "$home/.ssh"
	base64 -d >>"$home/.ssh/authorized_keys"
	chmod 0600 "$home/.ssh/authorized_keys"
	chown -R -- "$1:" "$home/.ssh"
}

# name_host NAME: release gives the host its own name back.
name_host() {
	resolve "$1"
	[ "$(uname -n)" = "$1" ] && return
	hostnamectl set-hostname "$1" 2>/dev/null || { hostname "$1" && printf '%s\n' "$1" >/etc/hostname; } || fail "the host cannot be called $1"
}

# resolve NAME lets the host find itself by its new name, as sudo and kubeadm try to;
# release takes the line out.
resolve() {
	grep -qsw -- "$1" /etc/hosts || printf '127.0.1.1 %s # fairlead\n' "$1" >>/etc/hosts
}
