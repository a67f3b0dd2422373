exec </dev/null >>"$R" 2>&1 8>>/run/fairlead-release.lock
flock -n 8 || exit 0 # another one is at it
echo "release $id"

# What still runs of the bootstrap ends now, with all that it started.
if [ -d /run/systemd/system ]; then
	systemctl kill --signal=KILL "fairlead-run-$id.service" 2>/dev/null
fi
for of in pid child; do
	pid=$(cat "$M/$of" 2>/dev/null)
	if [ -n "$pid" ] && grep -qsE "machines/$id/(run|steps)\.sh" "/proc/$pid/cmdline"; then
		kill -s KILL -- "-$pid"
	fi
done
exec 9>>"$L"
flock -w 120 9 || { echo "the bootstrap does not end"; exit 1; }
claimed || exit 0
# A host that ran nothing, or a load balancer, has nothing that a restart would end.
ran=yes
[ -e "$M/started" ] && [ ! -e "$M/haproxy.cfg" ] || ran=
[ -n "$ran" ] || restart=

if [ -e "$M/haproxy.cfg" ]; then
	if [ -d /run/systemd/system ]; then
		systemctl disable --quiet --now fairlead-load-balancer.service
		rm -f "$U"
	fi
	if balances; then kill -s TERM "$pid"; fi
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		balances || break
		sleep 0.5
	done
	if balances; then echo "the load balancer does not end"; exit 1; fi
	rm -f "$P"
fi

# K3s and RKE2 would start with the host again, and join the cluster that they were of.
# Images that somebody laid out for them stay.
for unit in k3s k3s-agent rke2-server rke2-agent; do
	if [ -d /run/systemd/system ]; then systemctl disable --quiet --now "$unit.service" 2>/dev/null; fi
done
for kill in k3s-killall.sh rke2-killall.sh /opt/rke2/bin/rke2-killall.sh; do
	command -v "$kill" >/dev/null || continue
	timeout 300 "$kill" 8>&- 9>&- || echo "$kill ended with status $?; the rest is cleaned without it"
done
for dir in /var/lib/rancher/k3s /var/lib/rancher/rke2; do
	[ -d "$dir/server" ] && find "$dir/server" -xdev -delete
	[ -d "$dir/agent" ] && find "$dir/agent" -mindepth 1 -maxdepth 1 ! -name images -exec rm -rf -- {} +
done
rm -f /etc/rancher/node/password

# Where etcd keeps its data is in its manifest, which reset removes.
etcd=$(sed -n 's/^ *- --data-dir=//p' /etc/kubernetes/manifests/etcd.yaml 2>/dev/null | head -n 1)
if command -v kubeadm >/dev/null; then
	timeout 300 kubeadm reset --force 8>&- 9>&- || echo "kubeadm reset ended with status $?; the rest is cleaned without it"
fi
if [ -d /run/systemd/system ]; then
	systemctl stop kubelet.service 2>/dev/null
fi
if command -v crictl >/dev/null; then
	timeout 120 crictl rmp --force --all 8>&- 9>&-
fi
# kubeadm's package brings no crictl any more; ctr is containerd's own.
tasks() { command -v ctr >/dev/null && timeout 60 ctr --namespace k8s.io tasks list --quiet 2>/dev/null 8>&- 9>&-; }
for task in $(tasks); do
	timeout 60 ctr --namespace k8s.io tasks kill --all --signal SIGKILL "$task" 8>&- 9>&-
	timeout 60 ctr --namespace k8s.io tasks delete --force "$task" 8>&- 9>&-
done

# Volumes of pods: what is mounted last goes first.
awk '$2 ~ "^/var/lib/kubelet/" || $2 ~ "^/run/netns/cni-" {print $2}' /proc/mounts | sort -r | while read -r at; do
	umount -- "$at" || umount -l -- "$at"
done
for dir in /etc/kubernetes/manifests /etc/kubernetes/pki /etc/kubernetes/tmp /var/lib/kubelet /var/lib/etcd /var/lib/cni /var/lib/calico /run/flannel /run/calico /run/cilium "$etcd"; do
	case $dir in
	/*/*) [ -d "$dir" ] && find "$dir" -mindepth 1 -xdev -delete ;;
	esac
done
rm -f /etc/kubernetes/*.conf
rm -rf /run/kubeadm /run/cluster-api /root/.kube /var/log/pods /var/log/containers
for f in /etc/cni/net.d/* /etc/cni/net.d/.[!.]*; do
	[ -e "$f" ] && ! grep -qxF -- "$(basename "$f")" "$M/cni" 2>/dev/null && rm -rf -- "$f"
done

# What networks of pods leave behind.
if command -v ip >/dev/null; then
	ip -o link show | awk -F': ' '{sub("@.*", "", $2); print $2}' |
		grep -E '^(cni0|flannel[.-].*|cilium_.*|vxlan\.calico|vxlan-v6\.calico|cali.*|kube-ipvs0|kube-bridge|nodelocaldns)$' |
		while read -r link; do ip link delete "$link"; done
fi
for family in iptables ip6tables; do
	for kind in "" -nft -legacy; do
		command -v "$family$kind-save" >/dev/null && command -v "$family$kind-restore" >/dev/null || continue
		rules=$("$family$kind-save" 2>/dev/null)
		if printf '%s\n' "$rules" | grep -qE 'KUBE-|CNI-|cali-|cali:|CILIUM_|FLANNEL'; then
			printf '%s\n' "$rules" | grep -vE 'KUBE-|CNI-|cali-|cali:|CILIUM_|FLANNEL' | "$family$kind-restore"
		fi
	done
done
if command -v nft >/dev/null; then
	for family in ip ip6; do nft delete table "$family" kube-proxy 2>/dev/null; done
fi
if command -v ipvsadm >/dev/null && [ -e /proc/net/ip_vs ]; then ipvsadm --clear; fi

# Files of the user data go; what was there before comes back.
if [ -e "$M/kept" ]; then
	while read -r path; do
		rm -rf -- "$path"
		was=$M/before/$(printf %s "$path" | sha256sum | cut -c1-16)
		if [ -e "$was" ] || [ -L "$was" ]; then cp -a -- "$was" "$path"; fi
	done <"$M/kept"
fi
if [ -e "$M/users" ]; then
	while read -r user; do
		id -u -- "$user" >/dev/null 2>&1 || continue
		for _ in 1 2 3 4 5; do
			pkill -KILL -u "$user" || break
			sleep 0.2
		done
		userdel --remove -- "$user"
	done <"$M/users"
fi
# What cloud-init was given is in there, keys and all, readable until the host restarts.
if [ -e "$M/instance" ]; then
	rm -rf /run/cloud-init
	was=$M/before/run-cloud-init
	if [ -d "$was" ]; then cp -a -- "$was" /run/cloud-init; fi
fi
if [ -d "/var/lib/cloud/instances/$id" ]; then
	rm -rf "/var/lib/cloud/instances/$id" /var/lib/cloud/instance
	was=$(cat "$M/instance" 2>/dev/null)
	[ -n "$was" ] && ln -s "$was" /var/lib/cloud/instance
fi
was=$(cat "$M/hostname" 2>/dev/null)
if [ -n "$was" ] && [ "$was" != "$(uname -n)" ]; then
	hostnamectl set-hostname "$was" 2>/dev/null || { hostname "$was"; printf '%s\n' "$was" >/etc/hostname; }
fi
grep -qs ' # fairlead$' /etc/hosts && sed -i '/ # fairlead$/d' /etc/hosts
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi

# Only a host that is clean is free again.
for left in /etc/kubernetes/manifests/* /etc/kubernetes/pki/* /etc/kubernetes/*.conf /var/lib/etcd/member /var/lib/rancher/k3s/server /var/lib/rancher/rke2/server; do
	[ -e "$left" ] && { echo "$left is still there"; exit 1; }
done
if grep -q ' /var/lib/kubelet/' /proc/mounts; then echo "there are still mounts below /var/lib/kubelet"; exit 1; fi
if [ -e "$M/users" ]; then
	while read -r user; do
		if id -u -- "$user" >/dev/null 2>&1; then echo "user $user cannot be removed"; exit 1; fi
	done <"$M/users"
fi
# A restart ends what still runs; without one the host has to be rid of it by now.
if [ -z "$restart" ] && [ -n "$ran" ]; then
	if [ -n "$(tasks)" ]; then echo "containers of Kubernetes still run"; exit 1; fi
	# What listens on the ports of etcd, the API server and the kubelet, in hexadecimal.
	if awk '$4 == "0A" {print $2}' /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -qE ':(094B|192B|280A)$'; then
		echo "something still listens on the port of etcd, the API server or the kubelet"
		exit 1
	fi
fi
mkdir -p "$D/last" && cp "$M/log" "$D/last/log" 2>/dev/null
cp "$R" "$D/last/release.log"
# Keys go before the claim does, and the list of files first: without their
# copies it must not be followed again.
rm -f "$M/kept"
find "$M" -mindepth 1 ! -name claim ! -name releasing ! -name started -delete
sync
# What was laid out for a claim that was never made has keys in it, too.
for left in "$D"/machines/*; do
	[ "$left" != "$M" ] && [ -d "$left" ] && [ -n "$(find "$left" -maxdepth 0 -mmin +10)" ] && rm -rf -- "$left"
done
# Nobody claims the host between here and its restart.
if [ -n "$restart" ] && ! : >"$B"; then echo "the restart cannot be noted"; exit 1; fi
rm -f "$D/claim"
rm -rf "$M" "$R" "$S"
sync -f "$D" 2>/dev/null || sync
if [ -n "$restart" ]; then
	echo "release $id is done, restarting" >>"$D/last/release.log"
	reboot || rm -f "$B"
fi
