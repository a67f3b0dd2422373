# Every value is one line; processes are few, since this runs often.
say() { printf '%s %s\n' "$1" "$2"; }
first() { IFS= read -r line 2>/dev/null <"$1" || line=; }
busy() { [ ! -e "$L" ] || ( flock -s -n 9 ) 9<"$L" || say busy yes; }
# unsecret takes the secrets of the user data out of what it reads.
unsecret() {
	if [ ! -s "$M/secrets" ]; then cat; return; fi
	awk 'NR == FNR { if ($0 != "") secrets[++n] = $0; next }
	{
		for (i = 1; i <= n; i++) {
			while ((at = index($0, secrets[i])) > 0)
				$0 = substr($0, 1, at - 1) "REDACTED" substr($0, at + length(secrets[i]))
		}
		print
	}' "$M/secrets" -
}
echo begin
first /proc/sys/kernel/random/boot_id
say boot "$line"
say hostname "$(uname -n)"
say arch "$(uname -m)"
say os "$( . /etc/os-release 2>/dev/null; printf %s "${PRETTY_NAME:-unknown}" )"
say cpus "$(getconf _NPROCESSORS_ONLN 2>/dev/null || nproc)"
while read -r key value _; do
	[ "$key" = MemTotal: ] && say memory "$value" && break
done </proc/meminfo
# Interfaces of pods and their networks are not the host's.
ip -o addr show scope global up 2>/dev/null | while read -r _ interface _ address _; do
	case $interface in
	cni* | flannel* | cali* | cilium* | lxc* | veth* | docker* | virbr* | kube* | nodelocal* | tunl* | vxlan*) ;;
	*) say address "${address%/*}" ;;
	esac
done
command -v cloud-init >/dev/null && say cloudinit yes
command -v haproxy >/dev/null && say haproxy yes
for n in "$D"/notes/*; do
	case $n in *.new | */\*) continue ;; esac
	first "$n"
	say note "$line"
done
if [ -e "$D/claim" ]; then
	first "$D/claim"
	say claim "$line"
	for M in "$D"/machines/*; do
		[ "$M/claim" -ef "$D/claim" ] || continue
		log=$M/log
		if [ -e "$M/started" ]; then first "$M/started"; say started "$line"; fi
		# Between these two: what has started and is not busy any more has finished.
		busy
		if [ -e "$M/finished" ]; then first "$M/finished"; say finished "$line"; fi
		if [ -e "$M/releasing" ]; then say releasing yes; log=$R; fi
		if [ -e "$M/balanced" ] && balances; then first "$M/balanced"; say balanced "$line"; fi
		[ -e "$log" ] && tail -n 12 "$log" | tail -c 1500 | unsecret | while IFS= read -r line; do say log "$line"; done
	done
	busy
fi
echo end
