say() { printf '%s %s\n' "$1" "$(printf %s "$2" | base64 | tr -d '\n')"; }
say boot "$(cat /proc/sys/kernel/random/boot_id)"
say hostname "$(uname -n)"
say arch "$(uname -m)"
say os "$( . /etc/os-release 2>/dev/null; printf %s "${PRETTY_NAME:-$(uname -s)}" )"
say cpus "$(getconf _NPROCESSORS_ONLN 2>/dev/null || nproc)"
say memory "$(awk '/^MemTotal:/ {print $2}' /proc/meminfo)"
say addresses "$(ip -o addr show scope global up 2>/dev/null | awk '$2 !~ /^(cni|flannel|cali|cilium|lxc|veth|docker|virbr|kube|nodelocal|tunl|vxlan)/ {sub("/.*", "", $4); print $4}')"
command -v cloud-init >/dev/null && say cloudinit yes
for n in "$D"/notes/*; do
	[ -f "$n" ] && say note "$(cat "$n")"
done
if [ -e "$D/claim" ]; then
	say claim "$(cat "$D/claim")"
	for M in "$D"/machines/*; do
		[ "$M/claim" -ef "$D/claim" ] || continue
		[ -e "$M/started" ] && say started "$(cat "$M/started")"
		[ -e "$M/finished" ] && say finished "$(cat "$M/finished")"
		log=$M/log
		[ -e "$M/releasing" ] && say releasing yes && log=$R
		[ -e "$log" ] && say log "$(tail -n 12 "$log" | tail -c 1500)"
	done
	( flock -s -n 9 ) 9>>"$L" || say busy yes
fi
say end yes
