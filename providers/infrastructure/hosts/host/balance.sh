command -v haproxy >/dev/null || { echo "HAProxy is not installed" >&2; exit 1; }
exec 7>>/run/fairlead-load-balancer.lock
flock -w 10 7 || { echo "another command is changing the load balancer" >&2; exit 1; }
claimed && [ ! -e "$M/releasing" ] || { echo "the host is not there for it any more" >&2; exit 1; }
C=$M/haproxy.cfg
full() { rm -f "$C.new"; echo "the disk is full" >&2; exit 1; }

# One that HAProxy does not take changes nothing.
config >"$C.new" || full
said=$(haproxy -c -f "$C.new" 2>&1) || { rm -f "$C.new"; printf '%s\n' "$said" >&2; exit 1; }
mv "$C.new" "$C"

unit() {
	cat <<END
[Unit]
Description=Load balancer of a cluster's API servers, kept by Fairlead
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=$(command -v haproxy) -W -f $C -p $P
ExecReload=/bin/kill -USR2 \$MAINPID
KillMode=mixed
Restart=always
RestartSec=1

[Install]
WantedBy=multi-user.target
END
}

if balances; then
	kill -s USR2 "$pid"
	printf '%s\n' "$sum" >"$M/balanced" || full
	exit 0
fi
rm -f "$P"
if [ -d /run/systemd/system ]; then
	(umask 022; unit >"$U") || full
	systemctl daemon-reload
	systemctl enable --quiet fairlead-load-balancer.service
	systemctl reset-failed fairlead-load-balancer.service 2>/dev/null
	systemctl restart fairlead-load-balancer.service 7>&-
else
	haproxy -W -D -f "$C" -p "$P" </dev/null >"$M/haproxy.log" 2>&1 7>&-
fi
# It notes its process once it listens.
for _ in 1 2 3 4 5 6 7 8 9 10; do
	if balances; then
		printf '%s\n' "$sum" >"$M/balanced" || full
		exit 0
	fi
	sleep 0.5
done
echo "HAProxy does not start" >&2
if [ "$(cat /sys/fs/selinux/enforce 2>/dev/null)" = 1 ]; then
	echo "SELinux is enforcing, which may keep HAProxy from its configuration and its port (as root of the host: semanage permissive -a haproxy_t)" >&2
fi
tail -n 3 "$M/haproxy.log" >&2 2>/dev/null || journalctl --quiet --no-pager --lines=3 --unit=fairlead-load-balancer.service >&2
exit 1
