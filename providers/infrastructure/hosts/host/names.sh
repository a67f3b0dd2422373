# The places on a host.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/bin
HOME=/root
LC_ALL=C.UTF-8
export PATH HOME LC_ALL
umask 077
D=/var/lib/fairlead/host      # all that Fairlead keeps
M=$D/machines/${id:-none}     # what belongs to one claim
L=/run/fairlead-host.lock     # held by what runs for a claim
R=/run/fairlead-release.log   # in memory: a full disk does not hold up a release
S=/run/fairlead-release.sh
P=/run/fairlead-load-balancer.pid
B=/run/fairlead-restarting    # the host is clean, and about to restart
U=/etc/systemd/system/fairlead-load-balancer.service

# closed PORT tells whether firewalld runs and lets nobody reach the port.
closed() {
	command -v firewall-cmd >/dev/null && firewall-cmd --quiet --state 2>/dev/null || return 1
	for zone in $(firewall-cmd --get-default-zone) $(firewall-cmd --get-active-zones | grep -v '^[[:space:]]' | cut -d' ' -f1); do
		firewall-cmd --quiet --zone="$zone" --query-port="$1/tcp" && return 1
		firewall-cmd --info-zone="$zone" | grep -q 'target: ACCEPT' && return 1
	done
	return 0
}

# start NAME FILE runs a script that outlives this connection. What the script starts
# outlives the script.
start() {
	if [ -d /run/systemd/system ] && command -v systemd-run >/dev/null; then
		systemctl reset-failed "fairlead-$1.service" 2>/dev/null
		systemctl is-active --quiet "fairlead-$1.service" ||
			systemd-run --quiet --no-block --collect --property=KillMode=process --unit="fairlead-$1" /bin/sh "$2"
	else
		setsid sh "$2" </dev/null >/dev/null 2>&1 &
	fi
}

# balances tells whether the load balancer of $M runs.
balances() {
	pid=$(cat "$P" 2>/dev/null) && kill -0 "$pid" 2>/dev/null && grep -qs "$M/haproxy.cfg" "/proc/$pid/cmdline"
}

# claimed tells whether the host is claimed with $id.
claimed() { [ -e "$M/claim" ] && [ "$M/claim" -ef "$D/claim" ]; }
