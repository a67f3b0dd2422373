set -e
mount --make-rprivate /
mount -t proc proc /proc
hostname "$NAME"
if [ ! -e "$ROOT/etc/passwd" ]; then
	for f in passwd group shadow gshadow login.defs default skel nsswitch.conf os-release debian_version ld.so.cache ld.so.conf ld.so.conf.d \
		alternatives pam.d security environment cloud sudo.conf sudoers sudoers.d profile shells; do
		[ -e "/etc/$f" ] && cp -a "/etc/$f" "$ROOT/etc/"
	done
	printf '%s\n' "$NAME" >"$ROOT/etc/hostname"
	echo "127.0.0.1 localhost" >"$ROOT/etc/hosts"
	mkdir -p "$ROOT/root/.ssh" "$ROOT/etc/kubernetes/manifests" "$ROOT/etc/ssh"
	printf '%s\n' "$KEY" >"$ROOT/root/.ssh/authorized_keys"
	cat >"$ROOT/etc/ssh/test_config" <<'END'
HostKey /etc/ssh/test_key
PermitRootLogin yes
PasswordAuthentication yes
UsePAM no
StrictModes no
PidFile none
LogLevel ERROR
PrintMotd no
MaxStartups 200
END
	# What would be there on a machine that ran Kubernetes, in the place of which
	# these tell what they were asked.
	cat >"$ROOT/sbin/kubeadm" <<'END'
#!/bin/sh
echo "kubeadm $*" >>/var/lib/kubeadm.calls
[ -e /opt/kubeadm-hang ] && sleep 1000
[ -e /opt/kubeadm-fail ] && { echo "error execution phase preflight: it does not work here" >&2; exit 1; }
case $1 in
init | join)
	mkdir -p /etc/kubernetes/manifests /etc/kubernetes/pki /var/lib/etcd/member /var/lib/kubelet/pods /etc/cni/net.d
	echo conf >/etc/kubernetes/kubelet.conf
	echo key >/etc/kubernetes/pki/ca.key
	echo "    - --data-dir=/var/lib/etcd" >/etc/kubernetes/manifests/etcd.yaml
	echo data >/var/lib/etcd/member/db
	echo conf >/etc/cni/net.d/10-flannel.conflist
	mount -t tmpfs volume /var/lib/kubelet/pods
	;;
esac
END
	cat >"$ROOT/sbin/reboot" <<'END'
#!/bin/sh
echo reboot >>/var/lib/reboots
rm -f /run/fairlead-restarting
END
	cat >"$ROOT/sbin/ctr" <<'END'
#!/bin/sh
case $* in
*"tasks list"*) cat /var/lib/tasks 2>/dev/null ;;
*"tasks delete"*) rm -f /var/lib/tasks ;;
esac
END
	cat >"$ROOT/sbin/iptables-save" <<'END'
#!/bin/sh
cat /var/lib/iptables 2>/dev/null
END
	cat >"$ROOT/sbin/iptables-restore" <<'END'
#!/bin/sh
cat >/var/lib/iptables.new && mv /var/lib/iptables.new /var/lib/iptables
END
	chmod 0755 "$ROOT"/sbin/*
fi
cat /proc/sys/kernel/random/uuid >"$ROOT/boot_id"
mount --bind "$ROOT/boot_id" /proc/sys/kernel/random/boot_id
mount -t tmpfs tmpfs /run
mkdir /run/sshd
for pair in etc:/etc var-lib:/var/lib var-log:/var/log root:/root home:/home opt:/opt sbin:/usr/local/sbin; do
	mount --bind "$ROOT/${pair%%:*}" "${pair#*:}"
done
if [ -n "$DISK" ]; then
	mkdir -p /var/lib/fairlead
	mount -t tmpfs -o "size=$DISK" tmpfs /var/lib/fairlead
fi
if [ "$CLOUDINIT" != yes ] && [ -e /usr/bin/cloud-init ]; then
	# A path of its own that leads nowhere.
	mkdir -p /run/usr-bin
	mount --bind /dev/null /usr/bin/cloud-init
fi
if [ "$HAPROXY" = no ] && [ -e /usr/sbin/haproxy ]; then
	mount --bind /dev/null /usr/sbin/haproxy
fi
mount --bind "$ROOT/tmp" /tmp
echo up
exec >/dev/null
exec sleep infinity
