package decode

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/version"

	"fairlead.dev/fleet"
)

// poolAnnotations returns the annotations of objects that machines come from.
func poolAnnotations() map[string]func(string) string {
	return map[string]func(string) string{
		fleet.ReplaceAnnotation: providerIDs, fleet.RemediateAnnotation: providerIDs,
	}
}

// placeOf says which object an annotation of Fairlead belongs on. Empty: any.
func placeOf(key string) string {
	switch key {
	case fleet.DeleteAnnotation, fleet.ExternalResourcesAnnotation, fleet.ProtectAnnotation, fleet.DriftAnnotation, fleet.SuspendAnnotation, fleet.SuspendReasonAnnotation,
		fleet.RecreateAnnotation, fleet.ForgetPlaceAnnotation, fleet.ReleaseAnnotation, fleet.AllowVersionAnnotation,
		fleet.RotateAnnotation(fleet.RotateCertificates), fleet.RotateAnnotation(fleet.RotateServiceAccount),
		fleet.RotateAnnotation(fleet.RotateEtcdCA), fleet.RotateAnnotation(fleet.RotateCA):
		return "put it on the Cluster"
	case fleet.ReplaceAnnotation, fleet.RemediateAnnotation:
		return "put it on the KubeadmControlPlane, MachineDeployment or MachineSet of the machines, or on the Machine that stands alone"
	case fleet.PruneAnnotation:
		return "put it on the ClusterResourceSet or HelmChartProxy"
	}
	return ""
}

func yesOrNo(v string) string {
	if v == "true" || v == "false" {
		return ""
	}
	return `"true" or "false"`
}

func external(v string) string {
	if v == fleet.LeaveExternalResources {
		return ""
	}
	return `"` + fleet.LeaveExternalResources + `", or no annotation`
}

func drift(v string) string {
	if slices.Contains(fleet.DriftPolicies(), fleet.DriftPolicy(v)) {
		return ""
	}
	return fmt.Sprintf("one of %v", fleet.DriftPolicies())
}

func release(v string) string {
	if v == string(fleet.ReleaseNow) || v == string(fleet.ReleaseSkip) {
		return ""
	}
	return `"now" or "skip"`
}

func deletion(v string) string {
	if v == fleet.Abandon {
		return ""
	}
	if must := yesOrNo(v); must != "" {
		return must + `, or "` + fleet.Abandon + `"`
	}
	return ""
}

func timeOrNone(v string) string {
	if _, err := time.Parse(time.RFC3339, v); v != "" && err != nil {
		return `a time such as "2030-01-31T08:00:00Z", or empty`
	}
	return ""
}

func kubernetesVersion(v string) string {
	if _, err := version.ParseSemantic(v); err != nil {
		return `a version of Kubernetes such as "v1.34.1"`
	}
	return ""
}

func anything(string) string { return "" }

// listed splits v at its commas.
func listed(v string) []string {
	var out []string
	for part := range strings.SplitSeq(v, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

func providerIDs(v string) string {
	for id := range strings.SplitSeq(v, ",") {
		scheme, rest, ok := strings.Cut(strings.TrimSpace(id), "://")
		if !ok || scheme == "" || rest == "" {
			return `provider ids of machines with commas between them, such as "openstack:///8a2…", or "NAME maas:///rack-1/4y3h7n" for one machine of a host: fairlead tree shows them`
		}
	}
	return ""
}

// suspension returns the suspension that annotations of a Cluster ask for.
func suspension(notes map[string]string) *fleet.Suspension {
	until, ok := notes[fleet.SuspendAnnotation]
	if !ok {
		return nil
	}
	s := &fleet.Suspension{Reason: notes[fleet.SuspendReasonAnnotation]}
	s.Until, _ = time.Parse(time.RFC3339, until) // without it the time is zero
	return s
}

// requestedMachines returns the machines that an annotation names, with the reason of the request.
func requestedMachines(notes map[string]string, key string) map[fleet.MachineID]string {
	v, ok := notes[key]
	if !ok {
		return nil
	}
	out := make(map[fleet.MachineID]string)
	for id := range strings.SplitSeq(v, ",") {
		name, rest, named := strings.Cut(strings.TrimSpace(id), " ") // as a MachineID is written
		if !named {
			name, rest = "", name
		}
		out[fleet.MachineID{Name: fleet.MachineName(name), ProviderID: fleet.ProviderID(strings.TrimSpace(rest))}] = "asked for in Git with " + key
	}
	return out
}
