package status

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/sources"
)

// Read returns the status in the tree of a status branch. Clusters whose file cannot be
// read are in Damaged. For other files the error names those that cannot be read, and the
// status has all others. Signatures are not verified: see Trusted.
func Read(t sources.Tree) (Status, error) { return (&Reading{}).plain(t) }

// ReadCluster returns what a status branch says of cluster k, and whether it says anything.
// It reads no other cluster.
func ReadCluster(t fs.FS, k fleet.Key) (Cluster, bool, error) {
	if !knownPath(k) {
		return Cluster{}, false, nil
	}
	p := ClusterPath(k)
	if _, err := fs.Stat(t, p); errors.Is(err, fs.ErrNotExist) {
		return Cluster{}, false, nil
	}
	f := readCluster(t, p)
	return f.cluster, f.err == nil, f.err
}

// knownPath reports whether a cluster with the name of k can have a file.
func knownPath(k fleet.Key) bool {
	for _, part := range []string{k.Namespace, k.Name} {
		if !fs.ValidPath(part) || strings.Contains(part, "/") || part == "." {
			return false
		}
	}
	return true
}

// maxCount bounds the counters in owner.yaml.
const maxCount = 1 << 53

func unreadable(path string, err error) error {
	return fleet.Errorf(fleet.Invalid, "read "+path+" of the status branch", "%w", err)
}

// keyOf returns the cluster that the file at p belongs to.
func keyOf(p string) fleet.Key {
	return fleet.Key{Namespace: path.Base(path.Dir(p)), Name: strings.TrimSuffix(path.Base(p), ".yaml")}
}

// objectFiles returns the paths of all files dir/<namespace>/<name>.yaml.
func objectFiles(t fs.FS, dir string) ([]string, error) {
	namespaces, err := fs.ReadDir(t, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(dir, err)
	}
	var files []string
	var errs []error
	for _, ns := range namespaces {
		if !ns.IsDir() {
			continue
		}
		list, err := fs.ReadDir(t, path.Join(dir, ns.Name()))
		if err != nil {
			errs = append(errs, unreadable(path.Join(dir, ns.Name()), err))
		}
		for _, f := range list {
			if !f.IsDir() && strings.HasSuffix(f.Name(), ".yaml") {
				files = append(files, path.Join(dir, ns.Name(), f.Name()))
			}
		}
	}
	return files, errors.Join(errs...)
}

func readFleet(t fs.FS) (Status, error) {
	b, err := fs.ReadFile(t, fleetPath)
	if errors.Is(err, fs.ErrNotExist) {
		return Status{}, nil
	}
	if err != nil {
		return Status{}, unreadable(fleetPath, err)
	}
	var f fleetFile
	if err := fleetKind.decode(withoutLines(b), &f); err != nil {
		return Status{}, unreadable(fleetPath, err)
	}
	s := Status{Fleet: sources.FleetStatus{
		Fleet: fleet.ID(f.Fleet), Revision: f.Revision.fleet(), Problems: fleetProblems(f.Problems),
		Applied: f.Applied.fleet(), Broken: f.Broken, Behind: keysOf(f.Behind), Orphans: keysOf(f.Orphans),
		Rollout: f.Rollout.fleet(),
	}}
	if at, err := time.Parse(time.RFC3339, f.AppliedMade); err == nil {
		s.Fleet.AppliedMade = at.UTC()
	}
	for _, p := range f.Sources {
		s.Fleet.Sources = append(s.Fleet.Sources, fleet.PinnedSource{Name: p.Name, URL: p.URL, Commit: p.Commit, Digest: p.Digest, Tag: p.Tag, Path: p.Path})
	}
	if h := f.Home; h != nil {
		s.Fleet.Home = sources.HomeStatus{Step: h.Step, Message: h.Message, Left: h.Left, Undo: strings.Join(h.Undo, " ")}
		if k, err := fleet.ParseKey(h.Cluster); err == nil {
			s.Fleet.Home.Cluster = k
		}
	}
	return s, nil
}

// namedIn returns which fleet a damaged fleet.yaml in t is of, by its only line that says so. Empty: it is not known.
func namedIn(t fs.FS) fleet.ID {
	b, _ := fs.ReadFile(t, fleetPath)
	found := fleetLine.FindAllSubmatch(b, 2)
	if len(found) != 1 {
		return ""
	}
	return fleet.ID(found[0][1])
}

// fleetLine is the whole line of fleet.yaml that has the name of the fleet. A line that was cut off is none.
var fleetLine = regexp.MustCompile(`(?m)^fleet: "?([a-z0-9](?:[-a-z0-9.]*[a-z0-9])?)"?\r?\n`)

// withoutLines returns fleet.yaml without the lines of its clusters, which are for people:
// clusters are read from their own files. encodeFleet writes these lines last; in any other
// form they are kept.
func withoutLines(b []byte) []byte {
	const begin = "\nclusters:\n"
	i := bytes.Index(b, []byte(begin))
	if i < 0 {
		return b
	}
	for line := range bytes.Lines(b[i+len(begin):]) {
		if line[0] != '-' && line[0] != ' ' || bytes.HasPrefix(line, []byte("---")) {
			return b
		}
	}
	return b[:i+1]
}

// keysOf returns the keys with these names. Invalid names are skipped.
func keysOf(names []string) []fleet.Key {
	var out []fleet.Key
	for _, name := range names {
		if k, err := fleet.ParseKey(name); err == nil {
			out = append(out, k)
		}
	}
	return out
}

func readCluster(t fs.FS, p string) *cached {
	b, err := fs.ReadFile(t, p)
	return clusterOf(p, b, err)
}

// readClusters returns what each of the files says. They are read one after the other, and decoded as many
// at a time as there are processors, since that takes the time.
func readClusters(t fs.FS, files []string) []*cached {
	type content struct {
		file int
		data []byte
		err  error
	}
	out := make([]*cached, len(files))
	contents := make(chan content)
	var decoding sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		decoding.Go(func() {
			for c := range contents {
				out[c.file] = clusterOf(files[c.file], c.data, c.err)
			}
		})
	}
	for i, p := range files {
		b, err := fs.ReadFile(t, p)
		contents <- content{i, b, err}
	}
	close(contents)
	decoding.Wait()
	return out
}

// clusterOf returns what b, the file at p, says. err is that of reading it.
func clusterOf(p string, b []byte, err error) *cached {
	f := &cached{sum: sha256.Sum256(b)}
	if err == nil {
		f.cluster, err = decodeCluster(b)
	}
	if err == nil && ClusterPath(f.cluster.Report.Cluster) != p {
		err = fmt.Errorf("it is about %s", f.cluster.Report.Cluster)
	}
	if err != nil {
		f.err = unreadable(p, err)
	}
	return f
}

// mostDocuments bounds the machines of one cluster.
const mostDocuments = 50_000

// decodeCluster is the inverse of encodeCluster.
func decodeCluster(b []byte) (Cluster, error) {
	var c Cluster
	if n := bytes.Count(b, []byte("\n---\n")); n > mostDocuments {
		return c, fmt.Errorf("it has more than %d documents", mostDocuments)
	}
	for doc := range bytes.SplitSeq(b, []byte("\n---\n")) {
		var err error
		switch kind := kindOf(doc); kind {
		case string(clusterKind):
			var f reportFile
			err = clusterKind.decode(doc, &f)
			c.Report, c.Upgrade, c.Addons = reportOf(f), f.Upgrade.status(), readAddons(f.Addons)
			c.Report.Addons = reportsOf(c.Addons)
		case "Cluster":
			err = documents.Unmarshal(doc, &c.Cluster, clusterKind.limits())
		case "Machine":
			var m clusterv1.Machine
			err = documents.Unmarshal(doc, &m, clusterKind.limits())
			if err == nil && m.Name == "" && m.Spec.ProviderID == "" { // a machine with damaged tags has only an id
				err = errors.New("a Machine has neither a name nor a provider id")
			}
			c.Machines = append(c.Machines, m)
		default:
			err = fmt.Errorf("kind %q is not expected", kind)
		}
		if err != nil {
			return c, err
		}
	}
	if c.Report.Cluster.Name == "" {
		return c, errors.New("it has no ClusterReport")
	}
	c.Report.Endpoint = fleet.Endpoint{Host: c.Cluster.Spec.ControlPlaneEndpoint.Host, Port: c.Cluster.Spec.ControlPlaneEndpoint.Port}
	c.Report.Labels = c.Cluster.Labels
	c.Report.Conditions = conditionsOf(c.Cluster.Status.Conditions)
	for _, m := range c.Machines {
		c.Report.Machines = append(c.Report.Machines, machineOf(m))
	}
	return c, nil
}

// kindOf returns the kind of a document of encodeDocs without parsing it: an agent reads
// thousands when it starts.
func kindOf(doc []byte) string {
	for line := range bytes.Lines(doc) {
		if kind, ok := bytes.CutPrefix(line, []byte("kind: ")); ok {
			return string(bytes.TrimSpace(kind))
		}
	}
	return ""
}

func reportOf(f reportFile) fleet.Report {
	r := fleet.Report{
		Cluster:  fleet.Key{Namespace: f.Metadata.Namespace, Name: f.Metadata.Name},
		Revision: f.Revision.fleet(),
		Overlay:  f.Overlay,
		Digest:   f.Digest,
		Phase:    fleet.Phase(f.Phase),
		Provider: f.Provider,
		Version:  f.Version,
		Waiting:  f.Waiting,
		Problems: fleetProblems(f.Problems),
		Failure:  f.Failure,

		Memory: fleet.Memory{
			Remediation: fleet.ParseRemediation(f.Remediation), Fingerprint: f.Order, ObservedConditions: decodeConditions(f.Spells),
			Reboots: decodeReboots(f.Reboots), Milestones: f.Milestones.fleet(), Residence: f.Residence.fleet(), Clock: f.Clock.fleet(),
			Removals: decodeRemovals(f.Removals), Retries: decodeRetries(f.Retries),
		},
	}
	for name, text := range f.Certificates {
		if at, err := time.Parse(time.RFC3339, text); err == nil { // one that cannot be read is not known
			if r.Certificates == nil {
				r.Certificates = make(map[string]time.Time, len(f.Certificates))
			}
			r.Certificates[name] = at.UTC()
		}
	}
	for _, p := range f.Pools {
		r.Pools = append(r.Pools, fleet.PoolReport{
			Name: fleet.PoolName(p.Name), Role: fleet.Role(p.Role), Kind: fleet.PoolKind(p.Kind), Version: p.Version,
			Desired: p.Desired, Current: p.Current, UpToDate: p.UpToDate, Ready: p.Ready, Available: p.Available,
			Phase: fleet.KeptPhase(p.Phase), Message: p.Message,
		})
	}
	return r
}
