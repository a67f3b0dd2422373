seed=/var/lib/cloud/seed/nocloud
for f in "$seed/user-data" "$seed/meta-data" "$seed/vendor-data" "$seed/network-config" /etc/cloud/cloud.cfg.d/99-zz-fairlead.cfg /etc/sudoers.d/90-cloud-init-users; do
	keep "$f"
	case $f in */90-cloud-init-users) ;; *) rm -f "$f" ;; esac
done
mkdir -p "$seed" /etc/cloud/cloud.cfg.d
cp "$M/user-data" "$M/meta-data" "$seed/" && config >/etc/cloud/cloud.cfg.d/99-zz-fairlead.cfg || fail "the seed of cloud-init cannot be written"
[ -z "$failed" ] || exit 1

# What cloud-init remembers of the instance that the host was before is put aside,
# else it would take itself for that one; and a machine of the same name would not
# get it a second time.
readlink /var/lib/cloud/instance >"$M/instance" 2>/dev/null
rm -f /var/lib/cloud/instance /run/cloud-init/.instance-id /var/lib/cloud/data/set-hostname

# So does what it tells of that one, which is there again after the release.
if [ -d /run/cloud-init ]; then
	mkdir -p "$M/before" && cp -a /run/cloud-init "$M/before/run-cloud-init" || { echo "/run/cloud-init cannot be kept" >&2; exit 1; }
fi
umask 022
for stage in "init --local" "init" "modules --mode=config" "modules --mode=final"; do
	echo "cloud-init $stage"
	cloud-init $stage 9>&- || { echo "cloud-init $stage ended with status $?"; exit 1; }
done
