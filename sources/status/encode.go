package status

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
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

// encodeCluster returns the file of c.
func encodeCluster(c Cluster) ([]byte, error) {
	r := c.Report
	docs := []any{reportFile{
		typeMeta: clusterKind.meta(),
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

		Remediation: r.Remediation.String(), Order: r.Fingerprint, Spells: encodeConditions(r.ObservedConditions), Reboots: encodeReboots(r.Reboots), Milestones: milestonesOf(r.Milestones), Residence: residenceOf(r.Residence),
		Clock: clockOf(r.Clock), Removals: encodeRemovals(r.Removals), Retries: encodeRetries(r.Retries), Upgrade: upgradeFile(c.Upgrade), Certificates: endsOf(r.Certificates), Addons: addonFiles(c.Addons),
	}, c.Cluster}
	for _, m := range c.Machines {
		docs = append(docs, m)
	}
	return clusterKind.encode("cluster "+r.Cluster.String(), docs...)
}

func endsOf(certificates map[string]time.Time) map[string]string {
	out := make(map[string]string, len(certificates))
	for name, at := range certificates {
		out[name] = at.UTC().Format(time.RFC3339)
	}
	return out
}

func poolsOf(list []fleet.PoolReport) []pool {
	var out []pool
	for _, p := range list {
		out = append(out, pool{
			Name: string(p.Name), Role: string(p.Role), Kind: string(p.Kind), Version: p.Version,
			Desired: p.Desired, Current: p.Current, UpToDate: p.UpToDate, Ready: p.Ready, Available: p.Available,
			Phase: string(p.Phase), Message: oneLine(p.Message, 500),
		})
	}
	return out
}

// encodeFleet returns fleet.yaml. lines are the encoded lines of its clusters. They come
// last, since people read the rest first.
func encodeFleet(s sources.FleetStatus, phases map[string]int, lines [][]byte) ([]byte, error) {
	f := fleetFile{
		typeMeta: fleetKind.meta(),
		Fleet:    string(s.Fleet),
		Revision: revisionOf(s.Revision),
		Applied:  revisionOf(s.Applied),
		Broken:   s.Broken,
		Phases:   phases,
		Problems: problemsOf(s.Problems),
		Rollout:  rolloutOf(s.Rollout),
	}
	if !s.AppliedMade.IsZero() {
		f.AppliedMade = s.AppliedMade.UTC().Format(time.RFC3339)
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
		f.Home = &homeFile{Step: h.Step, Message: oneLine(h.Message, 500), Left: h.Left, Undo: strings.Fields(h.Undo)}
		if h.Cluster != (fleet.Key{}) {
			f.Home.Cluster = h.Cluster.String()
		}
	}
	b, err := fleetKind.encode("the fleet", f)
	for len(f.Problems) > 1 && fleet.KindOf(err) == fleet.Exhausted {
		f.Problems = fewer(f.Problems, len(s.Problems))
		b, err = fleetKind.encode("the fleet", f)
	}
	if err != nil || len(lines) == 0 {
		return b, err
	}
	return append(append(b, "clusters:\n"...), bytes.Join(lines, nil)...), nil
}

// encodeLine returns the line of a cluster in fleet.yaml.
func encodeLine(r fleet.Report) ([]byte, error) {
	return encodeDocs("cluster "+r.Cluster.String(), []clusterLine{lineOf(r)})
}

// lineOf summarises how a cluster is.
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

// encodeOwnership returns owner.yaml.
func encodeOwnership(r ownership) ([]byte, error) { return ownerKind.encode(ownerPath, ownerFileOf(r)) }

func ownerFileOf(r ownership) ownerFile {
	f := ownerFile{typeMeta: ownerKind.meta(), Agent: r.owner.Agent, Epoch: r.owner.Epoch, Place: r.owner.Place, Serial: r.serial, Signature: r.signature}
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

// encodeYAML writes d as YAML with sorted keys, like sigs.k8s.io/yaml, which spends half of
// its time on parsing JSON as YAML.
func encodeYAML(d any) ([]byte, error) {
	b, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	var fields any
	if err := utiljson.Unmarshal(b, &fields); err != nil { // it tells integers from other numbers
		return nil, err
	}
	return documents.Write(plain(fields))
}

// plain returns JSON with texts that are safe to show. Texts of others may be anywhere in a
// report, and stay on the status branch permanently.
func plain(v any) any {
	switch v := v.(type) {
	case string:
		return fleet.PlainLines(v)
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		var odd []string
		for key, e := range v {
			if v[key] = plain(e); fleet.PlainText(key) != key {
				odd = append(odd, key)
			}
		}
		for _, key := range odd {
			v[fleet.PlainText(key)] = v[key]
			delete(v, key)
		}
	}
	return v
}
