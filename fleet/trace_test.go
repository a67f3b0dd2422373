package fleet_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

// TestNewFieldsLeaveNoTrace: what tells whether the definition of a cluster changed is
// made of its JSON, and infrastructure that people told to leave as it is is corrected
// where it changed. So a field that a new version adds has omitempty or omitzero:
// those that had none when the first version was released are here, and those of types
// that came as a whole. What Git does not say is in no definition.
func TestNewFieldsLeaveNoTrace(t *testing.T) {
	told := map[reflect.Type]bool{
		reflect.TypeFor[fleet.Residence](): true, reflect.TypeFor[fleet.Milestones](): true,
		reflect.TypeFor[fleet.ObservedCondition](): true, reflect.TypeFor[fleet.Clock](): true, reflect.TypeFor[fleet.Remediation](): true,
		reflect.TypeFor[fleet.MachineID](): true, // a key of maps, which is a text
		reflect.TypeFor[fleet.Bootstrap](): true, // it writes its JSON itself: TestBootstrapInJSON
	}
	got := traces(reflect.TypeFor[fleet.Cluster](), told)
	slices.Sort(got)
	want := []string{
		"Blueprint.Bootstrap", "Blueprint.Infrastructure", "Blueprint.Template",
		"Chart.Name", "Chart.Repository", "Chart.Version",
		"ClassVersion.Pools", "ClassVersion.Version",
		"Cluster.Companions", "Cluster.ConfigMaps", "Cluster.ControlPlane", "Cluster.Delete", "Cluster.Digest", "Cluster.Endpoint", "Cluster.Fleet", "Cluster.HealthChecks", "Cluster.Infrastructure", "Cluster.Key", "Cluster.NamespaceLabels", "Cluster.Network", "Cluster.Overlay", "Cluster.Paused", "Cluster.Protect", "Cluster.Provider", "Cluster.Revision", "Cluster.Secrets", "Cluster.Workers",
		"Endpoint.Host", "Endpoint.Port",
		"HostedControlPlane.Object",
		"KeptPool.Count", "KeptPool.Infrastructure", "KeptPool.Name", "KeptPool.Version",
		"Key.Name", "Key.Namespace",
		"Manifest.Content", "Manifest.ObjectRef",
		"Object.Annotations", "Object.File", "Object.GVK", "Object.Labels", "Object.Name", "Object.Namespace", "Object.Spec",
		"ObjectRef.Group", "ObjectRef.Kind", "ObjectRef.Name", "ObjectRef.Namespace",
		"Place.ID",
		"Pool.Annotations", "Pool.Bootstrap", "Pool.DeletionOrder", "Pool.FailureDomain", "Pool.Infrastructure", "Pool.Labels", "Pool.MaxRemediations", "Pool.MaxSurge", "Pool.MaxUnavailable", "Pool.MinReadySeconds", "Pool.Name", "Pool.NodeDrainTimeoutSeconds", "Pool.NodeLabels", "Pool.Paused", "Pool.Replicas", "Pool.Role", "Pool.SkipCoreDNS", "Pool.SkipKubeProxy", "Pool.Strategy", "Pool.Taints", "Pool.Template", "Pool.Version",
		"PoolRange.Max", "PoolRange.Min",
		"Release.Access", "Release.Chart", "Release.Digest", "Release.Options", "Release.Proxy", "Release.ReleaseRef", "Release.Strategy",
		"ReleaseRef.Name", "ReleaseRef.Namespace",
		"Resource.Digest", "Resource.Name", "Resource.Objects",
		"ResourceSet.Name", "ResourceSet.Resources", "ResourceSet.Strategy",
		"Revision.Digest", "Revision.Ref",
		"Scaling.Max", "Scaling.Min", "Scaling.Rollout",
		"Site.Infrastructure", "Site.Provider",
		"Suspension.Reason", "Suspension.Until",
		"Topology.Class", "Topology.Concurrency",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("fields that leave a trace where they are zero (-want +got):\n%s", d)
	}
}

// traces returns the fields of t, and of what is in it, that are in JSON where they
// are zero.
func traces(t reflect.Type, seen map[reflect.Type]bool) (out []string) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return traces(t.Elem(), seen)
	case reflect.Map:
		return append(traces(t.Key(), seen), traces(t.Elem(), seen)...)
	case reflect.Struct:
	default:
		return nil
	}
	if seen[t] || !strings.HasPrefix(t.PkgPath(), "fairlead.dev/") {
		return nil
	}
	seen[t] = true
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if !strings.Contains(options, "omit") {
			out = append(out, fmt.Sprintf("%s.%s", t.Name(), f.Name))
		}
		out = append(out, traces(f.Type, seen)...)
	}
	return out
}
