// Package status keeps the status branch: the state of every cluster, in Cluster API's own
// form, and the owner of the fleet.
//
//	owner.yaml                        who may act: agent and epoch, and who is next
//	fleet.yaml                        the fleet in one file: revision, phases, problems, orphans
//	clusters/<namespace>/<name>.yaml  one cluster: a ClusterReport, the Cluster, its Machines
//	hosts/<namespace>/<name>.yaml     one host of an inventory, a BareMetalHost
//	requests/, scales/                requests of people, and numbers of machines that others decided
//
// The files are a function of facts: the same facts give the same bytes, and so no commit.
// Times in them are the times at which facts changed. A commit succeeds only on the head
// that it was made from. After a lost race the files are generated again from the new head,
// never merged.
//
// testdata/example.md has an example.
package status

import (
	"errors"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// Paths on the branch.
const (
	ownerPath   = "owner.yaml"
	fleetPath   = "fleet.yaml"
	clustersDir = "clusters"
	hostsDir    = "hosts"
)

const apiVersion = "fairlead.dev/v1alpha1"

// Status is the content of a status branch.
type Status struct {
	Owner    fleet.Owner // zero: none
	Next     fleet.Succession
	Signed   bool   // owner.yaml has a signature: the agents of the fleet have request keys
	Checked  bool   // signatures were verified
	Doubt    string // why no trusted key signed owner.yaml; empty: one did, or signatures were not verified
	Fleet    sources.FleetStatus
	Clusters []Cluster       // sorted by key
	Requests []fleet.Request // sorted
	Scales   []fleet.Scale   // sorted
	// Unread are the clusters that were not asked for, sorted.
	Unread []fleet.Key
	// Damaged are the clusters whose file cannot be read, sorted: their state is not known.
	Damaged []Damage
	Hosts   []fleet.Host // of inventories, sorted by key
	// DamagedHosts are why files of hosts cannot be read, sorted; each names its file.
	DamagedHosts []error
}

// A Damage is a file of a cluster that cannot be read.
type Damage struct {
	Cluster fleet.Key
	Err     error // names the file
}

// A FleetDamage says that fleet.yaml cannot be read. Most of it is derived, and the owner
// writes it again.
type FleetDamage struct{ Err error }

// Error implements error.
func (d *FleetDamage) Error() string { return d.Err.Error() }

// Unwrap returns the reason.
func (d *FleetDamage) Unwrap() error { return d.Err }

// DamageOf returns why the state of cluster k is not known, or nil.
func (s *Status) DamageOf(k fleet.Key) error {
	for _, d := range s.Damaged {
		if d.Cluster == k {
			return d.Err
		}
	}
	return nil
}

// Whole returns why the state of some cluster is not known, or nil.
func (s *Status) Whole() error {
	var errs []error
	for _, d := range s.Damaged {
		errs = append(errs, d.Err)
	}
	return errors.Join(errs...)
}

// A Cluster is the content of one cluster's file.
type Cluster struct {
	// Report is the last report. Its Actions are in commits only.
	Report fleet.Report
	// Cluster and Machines are the objects in the file, with the times at which conditions
	// changed.
	Cluster  clusterv1.Cluster
	Machines []clusterv1.Machine
	// Upgrade is the last change of its version.
	Upgrade Upgrade
	Addons  []Addon // sorted
}

// Cluster returns the status of k.
func (s *Status) Cluster(k fleet.Key) (Cluster, bool) {
	i, ok := slices.BinarySearchFunc(s.Clusters, k, func(c Cluster, k fleet.Key) int {
		return c.Report.Cluster.Compare(k)
	})
	if !ok {
		return Cluster{}, false
	}
	return s.Clusters[i], true
}

// ClusterPath returns the file of a cluster on a status branch.
func ClusterPath(k fleet.Key) string {
	return clustersDir + "/" + k.Namespace + "/" + k.Name + ".yaml"
}

// typeMeta begins each document of a kind of ours.
type typeMeta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// ownerFile is owner.yaml.
type ownerFile struct {
	typeMeta
	Agent     string     `json:"agent"`
	Epoch     int64      `json:"epoch"`
	Place     string     `json:"place,omitempty"`
	Successor *successor `json:"successor,omitempty"`
	Serial    int64      `json:"serial,omitempty"`    // number of the change, where it is signed
	Signature string     `json:"signature,omitempty"` // of all but itself
}

// successor is a fleet.Succession.
type successor struct {
	ID      string `json:"id"`
	Agent   string `json:"agent"`
	Step    string `json:"step"`
	Message string `json:"message,omitempty"`
	Place   string `json:"place,omitempty"`
}

// fleetFile is fleet.yaml.
type fleetFile struct {
	typeMeta
	Fleet    string    `json:"fleet,omitempty"`
	Revision *revision `json:"revision,omitempty"`
	Applied  *revision `json:"applied,omitempty"`
	// AppliedMade is when Applied was made, in RFC 3339, of artifacts of a registry.
	AppliedMade string         `json:"appliedMade,omitempty"`
	Broken      bool           `json:"broken,omitempty"`
	Behind      []string       `json:"behind,omitempty"` // namespace/name
	Phases      map[string]int `json:"phases,omitempty"` // clusters by phase
	Problems    []problem      `json:"problems,omitempty"`
	Orphans     []string       `json:"orphans,omitempty"`
	Home        *homeFile      `json:"home,omitempty"`
	Sources     []pinnedSource `json:"sources,omitempty"` // that Applied pins
	Rollout     *rolloutFile   `json:"rollout,omitempty"`
	// After these come the clusters, a list of clusterLine.
}

// pinnedSource is a fleet.PinnedSource.
type pinnedSource struct {
	Name   string `json:"name"`
	URL    string `json:"url"`
	Commit string `json:"commit,omitempty"`
	Digest string `json:"digest,omitempty"`
	Tag    string `json:"tag,omitempty"`
	Path   string `json:"path,omitempty"`
}

// homeFile is a sources.HomeStatus.
type homeFile struct {
	Cluster string `json:"cluster,omitempty"` // namespace/name
	Step    string `json:"step,omitempty"`
	Message string `json:"message,omitempty"`
	Left    string `json:"left,omitempty"`

	Undo []string `json:"undo,omitempty"`
}

// clusterLine is one cluster in fleet.yaml.
type clusterLine struct {
	Name     string `json:"name"` // namespace/name
	Phase    string `json:"phase,omitempty"`
	Version  string `json:"version,omitempty"`
	Machines string `json:"machines,omitempty"` // "3/4": ready of desired
	Revision string `json:"revision,omitempty"` // short
	Message  string `json:"message,omitempty"`  // failure, problem or what the cluster waits for
}

// reportFile is the first document of a cluster's file.
type reportFile struct {
	typeMeta
	Metadata meta      `json:"metadata"`
	Phase    string    `json:"phase,omitempty"`
	Revision *revision `json:"revision,omitempty"` // what is being applied
	Overlay  string    `json:"overlay,omitempty"`
	Digest   string    `json:"digest,omitempty"` // of the definition
	Provider string    `json:"provider,omitempty"`
	Version  string    `json:"version,omitempty"` // Kubernetes version asked for
	Pools    []pool    `json:"pools,omitempty"`
	Waiting  []string  `json:"waiting,omitempty"`  // what the next step waits for
	Problems []problem `json:"problems,omitempty"` // why the newest revision is not being applied
	// Remediation is the current attempt to replace an unhealthy control-plane machine:
	// "machine,retry,time".
	Remediation string `json:"remediation,omitempty"`
	Order       string `json:"order,omitempty"`   // fingerprint of the infrastructure that was last in line with Git
	Failure     string `json:"failure,omitempty"` // error of the last pass
	// Spells are the conditions of machines that health checks observe.
	Spells     []observedCondition `json:"spells,omitempty"`
	Reboots    []reboot            `json:"reboots,omitempty"` // of unhealthy machines, before they are replaced
	Milestones *milestones         `json:"milestones,omitempty"`
	Residence  *residence          `json:"residence,omitempty"`
	Clock      *clock              `json:"clock,omitempty"`
	Removals   []removal           `json:"removals,omitempty"` // how machines of worker pools are removed
	Retries    []retry             `json:"retries,omitempty"`  // of pools whose machines fail to start
	Upgrade    *upgrade            `json:"upgrade,omitempty"`  // the last change of the version
	// Certificates say when those of the cluster end, in RFC 3339, by what they are for.
	Certificates map[string]string `json:"certificates,omitempty"`
	Addons       []addon           `json:"addons,omitempty"` // of the cluster, sorted
}

type removal struct {
	Pool          string            `json:"pool"`
	DrainSeconds  int               `json:"nodeDrainTimeoutSeconds,omitempty"`
	DetachSeconds int               `json:"nodeVolumeDetachTimeoutSeconds,omitempty"`
	Exclude       []string          `json:"exclude,omitempty"` // annotations
	Labels        map[string]string `json:"labels,omitempty"`

	MaxUnavailable int    `json:"maxUnavailable,omitempty"`
	Order          string `json:"order,omitempty"`
}

type retry struct {
	Pool     string `json:"pool"`
	Template string `json:"template"`
	Tries    int    `json:"tries"`
	Last     string `json:"last"` // when the last one began, in RFC 3339
}

type reboot struct {
	Machine    string `json:"machine"`
	ProviderID string `json:"providerID"`
	At         string `json:"at"` // when it began, in RFC 3339
	Retry      int    `json:"retry,omitempty"`
	Off        bool   `json:"off,omitempty"`
	GivenUp    bool   `json:"givenUp,omitempty"`
}

type observedCondition struct {
	Machine    string `json:"machine"`
	ProviderID string `json:"providerID,omitempty"`
	Condition  string `json:"condition"`
	Status     string `json:"status"`
	Since      string `json:"since"` // RFC 3339
	Transition string `json:"transition,omitempty"`
}

type meta struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

type revision struct {
	Ref    string `json:"ref"`
	Digest string `json:"digest"`
}

func revisionOf(r fleet.Revision) *revision {
	if r.IsZero() {
		return nil
	}
	return &revision{Ref: r.Ref, Digest: r.Digest}
}

func (r *revision) fleet() fleet.Revision {
	if r == nil {
		return fleet.Revision{}
	}
	return fleet.Revision{Ref: r.Ref, Digest: r.Digest}
}

type pool struct {
	Name      string `json:"name"`
	Role      string `json:"role"`
	Kind      string `json:"kind,omitempty"` // of what stands alone, and of a MachinePool
	Version   string `json:"version,omitempty"`
	Desired   int    `json:"desired"`
	Current   int    `json:"current"`
	UpToDate  int    `json:"upToDate"`
	Ready     int    `json:"ready"`
	Available int    `json:"available"`
	Phase     string `json:"phase,omitempty"`   // of a pool that a cloud keeps
	Message   string `json:"message,omitempty"` // the cloud's words
}

type problem struct {
	Overlay string `json:"overlay,omitempty"`
	Cluster string `json:"cluster,omitempty"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Object  string `json:"object,omitempty"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func problemsOf(list []fleet.Problem) []problem {
	var out []problem
	for _, p := range list {
		q := problem{Overlay: p.Overlay, File: p.File, Line: p.Line, Object: p.Object, Field: p.Field, Message: p.Message, Hint: p.Hint}
		if p.Cluster != (fleet.Key{}) {
			q.Cluster = p.Cluster.String()
		}
		out = append(out, q)
	}
	return out
}

func fleetProblems(list []problem) []fleet.Problem {
	var out []fleet.Problem
	for _, p := range list {
		q := fleet.Problem{Overlay: p.Overlay, File: p.File, Line: max(p.Line, 0), Object: p.Object, Field: p.Field, Message: p.Message, Hint: p.Hint}
		if k, err := fleet.ParseKey(p.Cluster); err == nil {
			q.Cluster = k
		}
		out = append(out, q)
	}
	return out
}

func sortClusters(list []Cluster) {
	slices.SortFunc(list, func(a, b Cluster) int { return a.Report.Cluster.Compare(b.Report.Cluster) })
}

func oneLine(s string, limit int) string {
	if end := strings.IndexAny(s, "\r\n"); end >= 0 {
		s = s[:end]
	}
	s = fleet.PlainText(s)
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return s
}
