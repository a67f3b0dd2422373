package status

import (
	"errors"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// A Reading reads one status branch repeatedly. Of clusters whose file did not change it
// returns what it returned before, so that only changed files are decoded. It is not safe
// for concurrent use.
type Reading struct {
	Verify Verify               // as for Trusted; nil: signatures are not verified
	Of     func(fleet.Key) bool // whether a cluster is asked for; nil: all are
	cache  cache
}

// Read is Trusted. The error is a *FleetDamage if fleet.yaml alone cannot be read.
func (r *Reading) Read(t sources.Tree) (Status, error) {
	s, err := r.plain(t)
	if r.Verify == nil {
		return s, err
	}
	return trusted(t, r.Verify, s, err)
}

func (r *Reading) plain(t sources.Tree) (Status, error) {
	o, errOwner := readOwnership(t, nil)
	s, errRest := r.cache.read(t, r.Of)
	s.Owner, s.Next, s.Signed = o.owner, o.next, o.signature != ""
	s.Requests, _ = readRequests(t, asWritten) // Requests.List reports what cannot be read
	s.Scales, _ = readScales(t)
	if errOwner == nil {
		return s, errRest // may be a *FleetDamage
	}
	return s, errors.Join(errOwner, errRest)
}

// ClusterOf returns r as the status branch will say it, after old, which it says now.
func ClusterOf(r fleet.Report, old Cluster, now time.Time) (Cluster, error) {
	b, err := encodeCluster(newCluster(r, old, now))
	if err != nil {
		return Cluster{}, err
	}
	return decodeCluster(b)
}
