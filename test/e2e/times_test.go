package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/test/lab/kubernetes/lab"
)

// Where a machine's first minutes go, told by the times of files on it.
type birth struct {
	claimed, started, configured, bootstrapped, ready time.Time
}

// births prints where the time went of the machines of a report that came to be
// after the last push, in the order in which they did.
func (w *world) births(config string, r fleet.Report) {
	w.t.Helper()
	for _, m := range r.Machines {
		b, err := w.birth(config, m.Machine)
		if err != nil {
			w.t.Error(err)
			continue
		}
		if b.claimed.Before(w.pushed.Truncate(time.Second)) {
			continue
		}
		w.measure("%s: push to claim %s, to user data %s, cloud-init %s, kubeadm %s, node ready %s, altogether %s", m.Machine.Name,
			between(w.pushed, b.claimed), between(b.claimed, b.started), between(b.started, b.configured), between(b.configured, b.bootstrapped),
			between(b.bootstrapped, b.ready), between(w.pushed, b.ready))
	}
}

func between(a, b time.Time) string { return b.Sub(a).Round(100 * time.Millisecond).String() }

func (w *world) birth(config string, m fleet.Machine) (birth, error) {
	var b birth
	name := string(m.Name)
	on, err := w.hostOf(m)
	if err != nil {
		return b, err
	}
	for _, f := range []struct {
		to   *time.Time
		file string
	}{
		{&b.claimed, "/var/lib/fairlead/host/machines/*/claim"},
		{&b.started, "/var/lib/fairlead/host/machines/*/started"},
		{&b.configured, "/run/kubeadm/kubeadm*.yaml"},
		{&b.bootstrapped, "/run/cluster-api/bootstrap-success.complete"},
	} {
		out, err := on.Exec(w.ctx, "sh", "-c", "stat -c %.3Y "+f.file)
		if err != nil {
			return b, err
		}
		seconds, err := strconv.ParseFloat(strings.Fields(out)[0], 64)
		if err != nil {
			return b, err
		}
		*f.to = time.UnixMilli(int64(seconds * 1000))
	}
	out, err := w.kubectl(config, "", "get", "node", name, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].lastTransitionTime}`)
	if err != nil {
		return b, err
	}
	b.ready, err = time.Parse(time.RFC3339, out)
	return b, err
}

// hostOf finds the machine of the lab that a machine of a cluster is, by its address.
func (w *world) hostOf(m fleet.Machine) (*lab.Machine, error) {
	for _, on := range w.lab.Machines() {
		if slices.Contains(m.Addresses, on.Address) {
			return on, nil
		}
	}
	return nil, fmt.Errorf("no machine of the lab has an address of %s, which are %v", m.Name, m.Addresses)
}
