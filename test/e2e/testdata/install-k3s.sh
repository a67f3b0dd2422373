#!/bin/sh
# Installs the service of a K3s that is on the machine: INSTALL_K3S_EXEC says of which role.
set -eu
role=$INSTALL_K3S_EXEC
unit=k3s
kind=notify
if [ "$role" = agent ]; then
	unit=k3s-agent
	kind=exec
fi
cat >"/etc/systemd/system/$unit.service" <<END
[Unit]
Description=K3s $role
Wants=network-online.target
After=network-online.target

[Service]
Type=$kind
ExecStart=/usr/local/bin/k3s $role
KillMode=process
Delegate=yes
LimitNOFILE=1048576
LimitNPROC=infinity
LimitCORE=infinity
TasksMax=infinity
TimeoutStartSec=0
Restart=always
RestartSec=5s

[Install]
WantedBy=multi-user.target
END
cat >/usr/local/bin/k3s-killall.sh <<'END'
#!/bin/sh
# Ends what K3s started: its service alone is ended by systemd.
systemctl stop k3s.service k3s-agent.service 2>/dev/null
pkill -KILL -f /var/lib/rancher/k3s/data/.*/bin/containerd-shim
awk '$2 ~ "^/run/k3s/" {print $2}' /proc/mounts | sort -r | while read -r at; do umount -- "$at"; done
exit 0
END
chmod 0755 /usr/local/bin/k3s-killall.sh
systemctl daemon-reload
systemctl enable --now "$unit.service"
