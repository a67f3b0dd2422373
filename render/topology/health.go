package topology

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// A health is what a MachineHealthCheck is made from, and where it was written.
type health struct {
	checks      clusterv1.MachineHealthCheckChecks
	remediation clusterv1.MachineHealthCheckRemediation
	object      Object
	field       string
}

// controlPlaneHealth returns the health check of the control plane, or nil. What
// the Cluster says stands instead of all that the class says.
// Source: Cluster API, exp/topology/scope/blueprint.go.
func (x *expansion) controlPlaneHealth() *health {
	t, c := &x.cluster.Spec.Topology.ControlPlane.HealthCheck, &x.class.spec.ControlPlane.HealthCheck
	if t.Enabled != nil && !*t.Enabled {
		return nil
	}
	if t.IsDefined() {
		return &health{
			checks: clusterv1.MachineHealthCheckChecks(t.Checks),
			remediation: clusterv1.MachineHealthCheckRemediation{
				TriggerIf: clusterv1.MachineHealthCheckRemediationTriggerIf(t.Remediation.TriggerIf), TemplateRef: t.Remediation.TemplateRef,
			},
			object: x.object, field: x.written("spec.topology.controlPlane.healthCheck"),
		}
	}
	if c.IsDefined() {
		return &health{
			checks: clusterv1.MachineHealthCheckChecks(c.Checks),
			remediation: clusterv1.MachineHealthCheckRemediation{
				TriggerIf: clusterv1.MachineHealthCheckRemediationTriggerIf(c.Remediation.TriggerIf), TemplateRef: c.Remediation.TemplateRef,
			},
			object: x.class.object, field: x.class.written("spec.controlPlane.healthCheck"),
		}
	}
	return nil
}

// poolHealth returns the health check of a pool, or nil.
func (x *expansion) poolHealth(t *clusterv1.MachineDeploymentTopology, class *clusterv1.MachineDeploymentClass, i, c int) *health {
	switch h := &t.HealthCheck; {
	case h.Enabled != nil && !*h.Enabled:
		return nil
	case h.IsDefined():
		return &health{
			checks: clusterv1.MachineHealthCheckChecks(h.Checks),
			remediation: clusterv1.MachineHealthCheckRemediation{
				TriggerIf: clusterv1.MachineHealthCheckRemediationTriggerIf(h.Remediation.TriggerIf), TemplateRef: h.Remediation.TemplateRef,
			},
			object: x.object, field: x.written(fmt.Sprintf("spec.topology.workers.machineDeployments[%d].healthCheck", i)),
		}
	}
	if h := &class.HealthCheck; h.IsDefined() {
		return &health{
			checks: clusterv1.MachineHealthCheckChecks(h.Checks),
			remediation: clusterv1.MachineHealthCheckRemediation{
				TriggerIf: clusterv1.MachineHealthCheckRemediationTriggerIf(h.Remediation.TriggerIf), TemplateRef: h.Remediation.TemplateRef,
			},
			object: x.class.object, field: x.class.written(fmt.Sprintf("spec.workers.machineDeployments[%d].healthCheck", c)),
		}
	}
	return nil
}

// healthCheck adds a MachineHealthCheck for the machines of the object called
// name, which selector selects.
func (x *expansion) healthCheck(name string, h *health, selector map[string]string) {
	if h == nil {
		return
	}
	e := x.typed(&clusterv1.MachineHealthCheck{
		TypeMeta: metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineHealthCheck"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: x.object.Namespace, Labels: x.ours(),
		},
		Spec: clusterv1.MachineHealthCheckSpec{
			ClusterName: x.object.name(), Selector: metav1.LabelSelector{MatchLabels: merged(map[string]string{clusterv1.ClusterTopologyOwnedLabel: ""}, selector)},
			Checks: h.checks, Remediation: h.remediation,
		},
	})
	e.File = h.object.File
	e.from("", h.object, h.field)
	e.from("spec.checks", h.object, h.field+".checks")
	e.from("spec.remediation", h.object, h.field+".remediation")
}
