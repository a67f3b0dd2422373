package status

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// A cache keeps decoded files of clusters, so that only changed files are read again.
type cache struct {
	files map[string]*cached    // by path
	hosts map[string]cachedHost // by path
}

type cached struct {
	digest  string   // of the tree
	sum     checksum // of the file
	cluster Cluster
	line    []byte // in fleet.yaml; nil: see lineOf
	err     error
}

// lineOf returns the line of the cluster in fleet.yaml, which lists few clusters of a large fleet, or none.
func (c *cached) lineOf() ([]byte, error) {
	if c.line == nil {
		var err error
		if c.line, err = encodeLine(c.cluster.Report); err != nil {
			return nil, err
		}
	}
	return c.line, nil
}

type checksum = [sha256.Size]byte

// read returns the status without the owner, with the clusters that are asked for; of nil is all.
func (c *cache) read(t sources.Tree, of func(fleet.Key) bool) (Status, error) {
	s, errFleet := readFleet(t)
	files, err := objectFiles(t, clustersDir)
	errs := []error{err}
	if of != nil {
		files = slices.DeleteFunc(files, func(p string) bool {
			k := keyOf(p)
			if of(k) {
				return false
			}
			s.Unread = append(s.Unread, k)
			return true
		})
	}
	seen := make(map[string]*cached, len(files))
	var changed []string
	for _, p := range files {
		digest, err := t.Digest(p)
		if err != nil {
			errs = append(errs, unreadable(p, err))
			continue
		}
		f, ok := c.files[p]
		if !ok || f.digest != digest {
			changed, f = append(changed, p), &cached{digest: digest}
		}
		seen[p] = f
	}
	for i, f := range readClusters(t, changed) {
		f.digest = seen[changed[i]].digest
		seen[changed[i]] = f
	}
	for _, p := range files {
		f, ok := seen[p]
		if !ok {
			continue
		}
		if f.err != nil {
			s.Damaged = append(s.Damaged, Damage{keyOf(p), f.err})
			continue
		}
		s.Clusters = append(s.Clusters, f.cluster)
	}
	c.files = seen
	slices.SortFunc(s.Unread, fleet.Key.Compare)
	s.Hosts, s.DamagedHosts = c.readHosts(t)
	sortClusters(s.Clusters)
	slices.SortFunc(s.Damaged, func(a, b Damage) int { return a.Cluster.Compare(b.Cluster) })
	if err := errors.Join(errs...); err != nil || errFleet == nil || fleet.KindOf(errFleet) != fleet.Invalid {
		return s, errors.Join(errFleet, err)
	}
	return s, &FleetDamage{errFleet}
}

// sumOf returns the checksum of a file, or zero where there is none.
func sumOf(t fs.FS, p string) checksum {
	b, err := fs.ReadFile(t, p)
	if err != nil {
		return checksum{}
	}
	return sha256.Sum256(b)
}
