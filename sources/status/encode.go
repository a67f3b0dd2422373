package status

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// Annotations on Machines for what Cluster API has no field for.
const (
	templateAnnotation = fleet.TagTemplate
	operationAnnot     = fleet.TagOperation
	stateAnnotation    = "fairlead.dev/state"
	messageAnnotation  = "fairlead.dev/message"
	upToDateAnnotation = "fairlead.dev/up-to-date"
	kubeletAnnotation  = "fairlead.dev/kubelet-version"
	joinedAnnotation   = "fairlead.dev/joined"           // when its Node was made, in RFC 3339
	nodeIDAnnotation   = "fairlead.dev/node-provider-id" // where it is another than the machine's
	providerAnnotation = "fairlead.dev/provider"         // of a guest
)

// newCluster returns r as the objects of a file. Conditions that old has with
// the same status keep their time, others changed now.
func newCluster(r fleet.Report, old Cluster, now time.Time) Cluster {
	r.Actions = nil
	c := Cluster{Report: r, Cluster: clusterObject(r, old.Cluster, now)}
	before := map[string]clusterv1.Machine{}
	for _, m := range old.Machines {
		before[machineID(m)] = m
	}
	for _, m := range r.Machines {
		o := machineObject(r, m)
		o.Status.Conditions = conditions(m.Conditions, before[machineID(o)].Status.Conditions, now)
		c.Machines = append(c.Machines, o)
	}
	return c
}

// machineID tells machines of one name apart.
func machineID(m clusterv1.Machine) string { return m.Name + " " + m.Spec.ProviderID }

func clusterObject(r fleet.Report, old clusterv1.Cluster, now time.Time) clusterv1.Cluster {
	c := clusterv1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster"},
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Cluster.Namespace, Name: r.Cluster.Name},
	}
	c.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: r.Endpoint.Host, Port: r.Endpoint.Port}
	c.Status.Conditions = conditions(r.Conditions, old.Status.Conditions, now)
	c.Status.Phase = string(ClusterPhase(r))
	yes := true
	for _, cond := range r.Conditions {
		if cond.Status != fleet.True {
			continue
		}
		switch cond.Type {
		case clusterv1.ClusterInfrastructureReadyCondition:
			c.Status.Initialization.InfrastructureProvisioned = &yes
		case clusterv1.ClusterControlPlaneInitializedCondition:
			c.Status.Initialization.ControlPlaneInitialized = &yes
		}
	}
	if n, ok := count(r.Pools, fleet.RoleControlPlane); ok {
		c.Status.ControlPlane = &clusterv1.ClusterControlPlaneStatus{
			DesiredReplicas: n.desired, Replicas: n.current, UpToDateReplicas: n.upToDate, ReadyReplicas: n.ready, AvailableReplicas: n.available,
		}
	}
	if n, ok := count(r.Pools, fleet.RoleWorker); ok {
		c.Status.Workers = &clusterv1.WorkersStatus{
			DesiredReplicas: n.desired, Replicas: n.current, UpToDateReplicas: n.upToDate, ReadyReplicas: n.ready, AvailableReplicas: n.available,
		}
	}
	return c
}

// ClusterPhase returns Cluster API's headline, which knows less than ours: a
// cluster is Provisioned there once its infrastructure and endpoint are.
func ClusterPhase(r fleet.Report) clusterv1.ClusterPhase {
	switch {
	case r.Phase == fleet.PhaseDeleting || r.Phase == fleet.PhaseDeleted || r.Phase == fleet.PhaseAbandoned:
		return clusterv1.ClusterPhaseDeleting
	case r.Phase == "":
		return clusterv1.ClusterPhasePending
	case r.Phase == fleet.PhaseInfrastructure || r.Endpoint.IsZero():
		return clusterv1.ClusterPhaseProvisioning
	}
	return clusterv1.ClusterPhaseProvisioned
}

type counters struct{ desired, current, upToDate, ready, available *int32 }

// count adds up the pools of a role.
func count(pools []fleet.PoolReport, role fleet.Role) (counters, bool) {
	var n [5]int32
	found := false
	for _, p := range pools {
		if p.Role != role {
			continue
		}
		found = true
		for i, v := range []int{p.Desired, p.Current, p.UpToDate, p.Ready, p.Available} {
			n[i] += int32(v)
		}
	}
	return counters{&n[0], &n[1], &n[2], &n[3], &n[4]}, found
}

func machineObject(r fleet.Report, m fleet.MachineReport) clusterv1.Machine {
	o := clusterv1.Machine{
		TypeMeta: metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   r.Cluster.Namespace,
			Name:        string(m.Machine.Name),
			Labels:      map[string]string{clusterv1.ClusterNameLabel: r.Cluster.Name},
			Annotations: map[string]string{},
		},
	}
	if !m.Machine.Created.IsZero() {
		o.CreationTimestamp = metav1.NewTime(m.Machine.Created.UTC().Truncate(time.Second))
	}
	if m.Machine.Role == fleet.RoleControlPlane {
		o.Labels[clusterv1.MachineControlPlaneLabel] = ""
		o.Labels[clusterv1.MachineControlPlaneNameLabel] = string(m.Machine.Pool)
	} else if !standsAlone(r, m) {
		o.Labels[clusterv1.MachineDeploymentNameLabel] = string(m.Machine.Pool)
	}
	maps.Copy(o.Annotations, m.Machine.Origin.Tags())
	upToDate, joined := "", ""
	if !m.Joined.IsZero() {
		joined = m.Joined.UTC().Format(time.RFC3339)
	}
	if m.UpToDate {
		upToDate = "true"
	}
	for k, v := range map[string]string{
		templateAnnotation: string(m.Machine.Template),
		operationAnnot:     string(m.Machine.Operation),
		stateAnnotation:    string(m.Machine.State),
		messageAnnotation:  m.Machine.Message,
		upToDateAnnotation: upToDate,
		kubeletAnnotation:  m.Version,
		nodeIDAnnotation:   string(m.NodeID),
		providerAnnotation: m.Machine.Provider,
		joinedAnnotation:   joined,
	} {
		if v != "" {
			o.Annotations[k] = v
		}
	}
	o.Spec.ClusterName = r.Cluster.Name
	o.Spec.Version = m.Machine.Version
	o.Spec.ProviderID = string(m.Machine.ProviderID)
	o.Spec.FailureDomain = m.Machine.FailureDomain
	o.Status.Phase = string(m.Phase)
	o.Status.FailureDomain = m.Machine.FailureDomain
	o.Status.NodeRef.Name = m.Node
	for _, a := range m.Machine.Addresses {
		o.Status.Addresses = append(o.Status.Addresses, clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: a})
	}
	return o
}

// standsAlone reports whether m is its own pool.
func standsAlone(r fleet.Report, m fleet.MachineReport) bool {
	return string(m.Machine.Name) == string(m.Machine.Pool) && slices.ContainsFunc(r.Pools, func(p fleet.PoolReport) bool {
		return p.Name == m.Machine.Pool && p.Kind == fleet.LoneMachine
	})
}

// conditions returns list with times: of old where the status is the same.
func conditions(list []fleet.Condition, old []metav1.Condition, now time.Time) []metav1.Condition {
	var out []metav1.Condition
	for _, c := range list {
		m := metav1.Condition{
			Type: c.Type, Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message,
			LastTransitionTime: metav1.NewTime(now.UTC().Truncate(time.Second)),
		}
		i := slices.IndexFunc(old, func(o metav1.Condition) bool { return o.Type == c.Type && o.Status == m.Status })
		if i >= 0 && !old[i].LastTransitionTime.IsZero() {
			m.LastTransitionTime = metav1.NewTime(old[i].LastTransitionTime.UTC())
		}
		out = append(out, m)
	}
	return out
}

// encodeCluster returns the file of c.
func encodeCluster(c Cluster) ([]byte, error) {
	r := c.Report
	docs := []any{reportFile{
		typeMeta: typeMeta{APIVersion: apiVersion, Kind: "ClusterReport"},
		Metadata: meta{Namespace: r.Cluster.Namespace, Name: r.Cluster.Name},
		Phase:    string(r.Phase),
		Revision: revisionOf(r.Revision),
		Overlay:  r.Overlay,
		Digest:   r.Digest,
		Provider: r.Provider,
		Version:  r.Version,
		Pools:    poolsOf(r.Pools),
		Waiting:  r.Waiting,
		Problems: problemsOf(r.Problems),
		Failure:  r.Failure,

		Remediation: r.Remediation.String(), Order: r.Fingerprint, Spells: spellsOf(r.Spells), Milestones: milestonesOf(r.Milestones), Residence: residenceOf(r.Residence),
		Clock: clockOf(r.Clock),
	}, c.Cluster}
	for _, m := range c.Machines {
		docs = append(docs, m)
	}
	return encodeDocs("cluster "+r.Cluster.String(), docs...)
}

func poolsOf(list []fleet.PoolReport) []pool {
	var out []pool
	for _, p := range list {
		out = append(out, pool{
			Name: string(p.Name), Role: string(p.Role), Kind: string(p.Kind), Version: p.Version,
			Desired: p.Desired, Current: p.Current, UpToDate: p.UpToDate, Ready: p.Ready, Available: p.Available,
		})
	}
	return out
}

// encodeFleet returns fleet.yaml. lines are the encoded lines of its clusters,
// which come last: people read the rest first.
func encodeFleet(s sources.FleetStatus, phases map[string]int, lines [][]byte) ([]byte, error) {
	f := fleetFile{
		typeMeta: typeMeta{APIVersion: apiVersion, Kind: "FleetStatus"},
		Fleet:    string(s.Fleet),
		Revision: revisionOf(s.Revision),
		Applied:  revisionOf(s.Applied),
		Broken:   s.Broken,
		Phases:   phases,
		Problems: problemsOf(s.Problems),
	}
	for _, k := range slices.SortedFunc(slices.Values(s.Behind), fleet.Key.Compare) {
		f.Behind = append(f.Behind, k.String())
	}
	for _, k := range slices.SortedFunc(slices.Values(s.Orphans), fleet.Key.Compare) {
		f.Orphans = append(f.Orphans, k.String())
	}
	for _, p := range s.Sources {
		f.Sources = append(f.Sources, pinnedSource{p.Name, p.URL, p.Commit, p.Digest, p.Tag, p.Path})
	}
	if h := s.Home; h != (sources.HomeStatus{}) {
		f.Home = &homeFile{Step: h.Step, Message: oneLine(h.Message, 500), Left: h.Left}
		if h.Cluster != (fleet.Key{}) {
			f.Home.Cluster = h.Cluster.String()
		}
	}
	b, err := encodeDocs("the fleet", f)
	if err != nil || len(lines) == 0 {
		return b, err
	}
	return append(append(b, "clusters:\n"...), bytes.Join(lines, nil)...), nil
}

// encodeLine returns the line of a cluster in fleet.yaml.
func encodeLine(r fleet.Report) ([]byte, error) {
	return encodeDocs("cluster "+r.Cluster.String(), []clusterLine{lineOf(r)})
}

// lineOf says in a few words how a cluster is.
func lineOf(r fleet.Report) clusterLine {
	l := clusterLine{Name: r.Cluster.String(), Phase: string(r.Phase), Version: r.Version, Revision: r.Revision.Short()}
	desired, ready := 0, 0
	for _, p := range r.Pools {
		desired, ready = desired+p.Desired, ready+p.Ready
	}
	if len(r.Pools) > 0 {
		l.Machines = fmt.Sprintf("%d/%d", ready, desired)
	}
	switch {
	case r.Failure != "":
		l.Message = oneLine(r.Failure, 200)
	case len(r.Problems) > 0:
		l.Message = oneLine(r.Problems[0].String(), 200)
	case len(r.Waiting) > 0:
		l.Message = oneLine("waiting for "+strings.Join(r.Waiting, ", "), 200)
	}
	return l
}

// encodeReign returns owner.yaml.
func encodeReign(r reign) ([]byte, error) { return encodeDocs(ownerPath, ownerFileOf(r)) }

func ownerFileOf(r reign) ownerFile {
	f := ownerFile{typeMeta: typeMeta{APIVersion: apiVersion, Kind: "Owner"}, Agent: r.owner.Agent, Epoch: r.owner.Epoch, Place: r.owner.Place, Serial: r.serial, Signature: r.signature}
	if n := r.next; n != (fleet.Succession{}) {
		f.Successor = &successor{ID: n.ID, Agent: n.To, Step: string(n.Step), Message: n.Message, Place: n.Place}
	}
	return f
}

func encodeDocs(what string, docs ...any) ([]byte, error) {
	var buf bytes.Buffer
	for i, d := range docs {
		b, err := encodeYAML(d)
		if err != nil {
			return nil, fleet.Errorf(fleet.Invalid, "write the status of "+what, "%w", err)
		}
		if i > 0 {
			buf.WriteString("---\n")
		}
		buf.Write(b)
	}
	return buf.Bytes(), nil
}

// encodeYAML writes d as YAML with sorted keys, as sigs.k8s.io/yaml does. That reads
// the JSON between with a parser of YAML, which is half of its work.
func encodeYAML(d any) ([]byte, error) {
	b, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	var fields any
	if err := utiljson.Unmarshal(b, &fields); err != nil { // which tells integers from other numbers
		return nil, err
	}
	return yaml.Marshal(plain(fields))
}

// plain returns what JSON holds with texts that may be shown: whatever others said, and
// wherever a report holds it, it is on the status branch for good.
func plain(v any) any {
	switch v := v.(type) {
	case string:
		return fleet.PlainLines(v)
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for _, key := range slices.Collect(maps.Keys(v)) {
			e := plain(v[key])
			delete(v, key)
			v[fleet.PlainText(key)] = e
		}
	}
	return v
}
