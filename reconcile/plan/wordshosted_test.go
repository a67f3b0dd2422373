package plan_test

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
)

// hosted reads a line about a hosted control plane: that there is one, and how it is.
func (s *script) hosted(w words) {
	c, o := s.in.Desired, &s.in.Observed
	kind := "ExternalControlPlane"
	if !w.is("external") {
		kind = "PlaneOfTests"
	}
	at := fleet.Endpoint{Host: "10.0.0.9", Port: 6443}
	c.ControlPlane = fleet.Pool{}
	c.Hosted = &fleet.HostedControlPlane{Object: fleet.Object{GVK: schema.GroupVersionKind{Kind: kind}, Name: "plane"}, Version: w["version"], Endpoint: at}
	o.ControlPlane = &fleet.HostedState{
		External: w.is("external"), Exists: !w.is("external") && !w.is("none"), Ready: !w.is("unready") && !w.is("none"), Version: w["has"], Endpoint: at,
		Message: w["message"], Stale: w.is("stale"),
	}
	if w.is("drift") {
		o.ControlPlane.Drift = []string{w["drift"]}
	}
	o.Infrastructure.Endpoint = at
	o.Secrets.Kubeconfig.Endpoint = at
	if w.is("new") {
		o.Secrets.Missing = []fleet.SecretName{fleet.BootstrapSeed, fleet.ClusterCA}
		o.Secrets.Kubeconfig = fleet.KubeconfigState{}
	}
	s.steps = nil
	for word, when := range map[string]fleet.StepTime{"step": fleet.AfterControlPlane, "never": fleet.Never} {
		if w.is(word) {
			s.steps = append(s.steps, fleet.Step{Name: "Step", When: when, Reason: w[word]})
		}
	}
	o.Workload.Version, o.Workload.Closed = w["served"], w["closed"]
}
