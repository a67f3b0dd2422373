package status

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// A cachedHost is the content of one host's file.
type cachedHost struct {
	digest string   // of the tree
	sum    checksum // of the file
	host   fleet.Host
	by     []fleet.Key // clusters whose newest report tells of it, sorted
	err    error
}

// hostPath returns the file of a host.
func hostPath(k fleet.Key) string { return hostsDir + "/" + k.Namespace + "/" + k.Name + ".yaml" }

// A hostChange is what is new of one host.
type hostChange struct {
	old, new    fleet.Host
	fresh, gone bool
}

// String is c in a line.
func (c hostChange) String() string {
	head := "host " + c.new.Key().String() + ": "
	switch {
	case c.gone:
		return head + "gone"
	case c.fresh:
		return head + string(c.new.State)
	case c.new.State != c.old.State:
		return head + string(c.old.State) + " → " + string(c.new.State)
	case c.new.Trouble != "" && c.old.Trouble == "":
		return head + string(c.new.TroubleIn) + ": " + c.new.Trouble
	case c.new.Held != "" && c.old.Held == "":
		return head + "held: " + c.new.Held
	}
	return head + string(c.new.State)
}

// draftHosts makes the files of hosts. What is known of a host is what the newest report
// says that tells of it; but while the cluster that has the host tells of it, others that
// say the same cluster has it do not count. Where no cluster's newest report tells of a
// host, its file goes.
func (n *known) draftHosts(d *draft, b *batch) error {
	d.hosts = maps.Clone(n.hosts)
	for _, k := range b.inOrder() {
		if list := b.reports[k].Hosts; list != nil {
			tell(d.hosts, k, list)
		}
		for _, h := range b.reports[k].Hosts {
			delete(d.oversized, hostPath(h.Key()))
		}
	}
	for k := range b.forgets {
		tell(d.hosts, k, nil)
	}
	all := maps.Clone(n.hosts)
	maps.Copy(all, d.hosts)
	for _, k := range slices.SortedFunc(maps.Keys(all), fleet.Key.Compare) {
		old, had := n.hosts[k]
		now, has := d.hosts[k]
		switch {
		case !has:
			delete(d.oversized, hostPath(k))
			d.edits[hostPath(k)] = nil
			d.moved = append(d.moved, hostChange{old: old.host, new: old.host, gone: true})
			continue
		case had && reflect.DeepEqual(old, now):
			continue
		}
		content, err := encodeHost(now.host, now.by)
		if d.oversized.left(hostPath(k), now.host.Consumer.Cluster, err) {
			d.hosts[k] = old
			if !had {
				delete(d.hosts, k)
			}
			continue
		}
		if err != nil {
			return err
		}
		now.sum, now.digest = sha256.Sum256(content), ""
		d.hosts[k] = now
		if had && now.sum == old.sum {
			continue
		}
		d.edits[hostPath(k)] = content
		d.moved = append(d.moved, hostChange{old: old.host, new: now.host, fresh: !had})
	}
	return nil
}

// tell takes in what the newest report of cluster k says of hosts: all that it tells of.
func tell(hosts map[fleet.Key]cachedHost, k fleet.Key, list []fleet.Host) {
	seen := make(map[fleet.Key]bool, len(list))
	for _, h := range list {
		if !knownPath(h.Key()) || h.Namespace == "" || h.Name == "" {
			continue // it is no object of Kubernetes
		}
		seen[h.Key()] = true
		f := hosts[h.Key()]
		holder := f.host.Consumer.Cluster
		if holder == k || h.Consumer != f.host.Consumer || !slices.Contains(f.by, holder) {
			f.host = h
		}
		if i, has := slices.BinarySearchFunc(f.by, k, fleet.Key.Compare); !has {
			f.by = slices.Insert(slices.Clone(f.by), i, k)
		}
		hosts[h.Key()] = f
	}
	for key, f := range hosts {
		i, has := slices.BinarySearchFunc(f.by, k, fleet.Key.Compare)
		if !has || seen[key] {
			continue
		}
		if f.by = slices.Delete(slices.Clone(f.by), i, i+1); len(f.by) == 0 {
			delete(hosts, key)
			continue
		}
		hosts[key] = f
	}
}

// readHosts reads the files of hosts, those that changed since the last time.
func (c *cache) readHosts(t sources.Tree) (list []fleet.Host, damaged []error) {
	files, err := objectFiles(t, hostsDir)
	if err != nil {
		damaged = append(damaged, err)
	}
	seen := make(map[string]cachedHost, len(files))
	for _, p := range files {
		digest, err := t.Digest(p)
		f, ok := c.hosts[p]
		switch {
		case err != nil:
			f = cachedHost{err: unreadable(p, err)}
		case !ok || f.digest != digest:
			f = readHost(t, p)
			f.digest = digest
		}
		seen[p] = f
		if f.err != nil {
			damaged = append(damaged, f.err)
			continue
		}
		list = append(list, f.host)
	}
	c.hosts = seen
	fleet.SortHosts(list)
	slices.SortFunc(damaged, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return list, damaged
}

// checkHost refuses what no file of a host says.
func checkHost(p string, h fleet.Host) error {
	if hostPath(h.Key()) != p {
		return fmt.Errorf("it is about %s", h.Key())
	}
	return nil
}
