# Everything is laid out beside first; the link is what claims the host, and there
# is one such file, whoever tries.
# A script whose connection broke goes on. After a settle window nobody expects it any
# more, so one that is slower than that must not claim the host.
began=$(date +%s)
refuse() { rm -rf "$M"; printf '%s\n' "$1"; exit 0; }
if [ -e "$D/claim" ]; then echo taken; exit 0; fi
if [ -n "$(find "$B" -mmin -5 2>/dev/null)" ]; then echo restarting; exit 0; fi
# What was laid out for a claim that was never made goes: there are keys in it.
for left in "$D"/machines/*; do
	[ -d "$left" ] && [ -n "$(find "$left" -maxdepth 0 -mmin +10)" ] && rm -rf -- "$left"
done
for port in $ports; do
	if closed "$port"; then echo "closed $port"; exit 0; fi
done
mkdir -p "$D/notes" "$M" || refuse "full"
put() { base64 -d >"$1" || refuse "full"; }
files
[ -d /etc/cni/net.d ] && ls -A /etc/cni/net.d >"$M/cni"
uname -n >"$M/hostname" || refuse "full"
sync -f "$M" 2>/dev/null || sync
[ $(($(date +%s) - began)) -le 15 ] || refuse "slow"
if ! ln "$M/claim" "$D/claim" 2>/dev/null; then
	[ -e "$D/claim" ] && refuse "taken"
	refuse "full"
fi
sync -f "$D" 2>/dev/null || sync
start "run-$id" "$M/run.sh"
echo claimed
