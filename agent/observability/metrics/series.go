package metrics

import (
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// emit shows one series.
type emit func(d *prometheus.Desc, v float64, labels ...string)

func (d clusterDescs) collect(ch chan<- prometheus.Metric, s clusterState) {
	show := func(desc *prometheus.Desc, v float64, labels ...string) {
		for i, l := range labels {
			labels[i] = fleet.PlainText(l)
		}
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, labels...)
	}
	d.collectCluster(show, s)
	for _, p := range s.report.Pools {
		if p.Kind != fleet.LoneMachine { // a lone machine has the series of machines
			d.collectPool(show, s, p)
		}
	}
	seen := make(map[fleet.MachineName]bool, len(s.report.Machines))
	for _, m := range s.report.Machines {
		if !seen[m.Machine.Name] { // a provider may have two of one name; a series may not
			seen[m.Machine.Name] = true
			d.collectMachine(show, s, m)
		}
	}
}

func (d clusterDescs) collectCluster(show emit, s clusterState) {
	c, r := s.pass.Definition, s.report
	ns, name := r.Cluster.Namespace, r.Cluster.Name
	when := func(desc *prometheus.Desc, t time.Time, labels ...string) {
		if !t.IsZero() {
			show(desc, seconds(t), append([]string{ns, name}, labels...)...)
		}
	}
	show(d.info, 1, ns, name, r.Provider, r.Version, r.Version, r.Revision.String(), r.Endpoint.Host, port(r.Endpoint.Port),
		c.ControlPlaneKind(), c.ControlPlaneName(), c.Infrastructure.GVK.Kind, c.Infrastructure.Name)
	paused := isPaused(c, r)
	show(d.paused, number(paused), ns, name)
	if paused {
		show(d.annotationPaused, 1, ns, name, "true")
	}
	states(upstreamPhases(), string(status.ClusterPhase(r)), func(state string, v float64) { show(d.phase, v, ns, name, state) })
	for _, cond := range r.Conditions {
		states(statuses(), string(cond.Status), func(state string, v float64) { show(d.condition, v, ns, name, cond.Type, state) })
		t := s.conditions[subject{"", cond.Type}]
		when(d.transition, t.at, cond.Type, string(t.status))
	}
	show(d.step, 1, ns, name, string(r.Phase))
	when(d.stepSince, s.phase)
	when(d.progress, s.progress)
	when(d.success, s.success)
	show(d.failing, number(s.pass.Err != nil), ns, name)
	show(d.problems, float64(len(r.Problems)), ns, name)
	show(d.drift, float64(s.pass.Drift), ns, name)
	for certificate, t := range s.pass.NotAfter {
		when(d.expiry, t, certificate)
	}
	if n, ok := skew(r.Machines); ok {
		show(d.skew, float64(n), ns, name)
	}
}

// isPaused reports whether nothing is done on a cluster for the time being: by
// what the last look found, which knows of suspensions, and where there was none
// by what Git says.
func isPaused(c *fleet.Cluster, r fleet.Report) bool {
	for _, cond := range r.Conditions {
		if cond.Type == clusterv1.PausedCondition {
			return cond.Status == fleet.True
		}
	}
	return c.Paused
}

func (d clusterDescs) collectPool(show emit, s clusterState, p fleet.PoolReport) {
	r := s.report
	pool, inGit := s.pass.Definition.Pool(p.Name)
	desc := d.deployment
	labels := []string{r.Cluster.Namespace, string(p.Name), r.Cluster.Name}
	with := func(more ...string) []string { return append(append([]string(nil), labels...), more...) }
	switch {
	case p.Role == fleet.RoleControlPlane:
		desc = d.controlPlane
	case p.Kind == fleet.MachinePoolKind:
		desc = d.kept
		kept, _ := s.pass.Definition.KeptPool(p.Name)
		show(d.keptPaused, number(kept.Paused), labels...)
		states(keptPhases(), string(p.Phase), func(state string, v float64) { show(d.keptPhase, v, with(state)...) })
	default:
		show(d.deploymentPaused, number(pool.Paused), labels...)
		states(deploymentPhases(), deploymentPhase(p), func(state string, v float64) { show(d.deploymentPhase, v, with(state)...) })
		if inGit {
			show(d.deploymentUnavailable, float64(pool.MaxUnavailable), labels...)
		}
	}
	show(desc.info, 1, with(p.Version)...)
	show(desc.desired, float64(p.Desired), labels...)
	show(desc.current, float64(p.Current), labels...)
	show(desc.updated, float64(p.UpToDate), labels...)
	show(desc.upToDate, float64(p.UpToDate), labels...)
	show(desc.ready, float64(p.Ready), labels...)
	show(desc.available, float64(p.Available), labels...)
	show(desc.unavailable, float64(max(0, p.Desired-p.Available)), labels...)
	if inGit {
		show(desc.surge, float64(pool.MaxSurge), labels...)
	}
	for _, cond := range poolConditions(r, p, pool) {
		states(statuses(), string(cond.Status), func(state string, v float64) { show(desc.condition, v, with(cond.Type, state)...) })
	}
}

// followsFromOthers reports whether a condition of machines says nothing that other
// series do not: each costs five.
func followsFromOthers(condition string) bool {
	switch condition {
	case clusterv1.MachineBootstrapConfigReadyCondition, clusterv1.PausedCondition, clusterv1.MachineNodeHealthyCondition:
		return true
	}
	return false
}

func (d clusterDescs) collectMachine(show emit, s clusterState, m fleet.MachineReport) {
	r := s.report
	labels := []string{r.Cluster.Namespace, string(m.Machine.Name), r.Cluster.Name}
	with := func(more ...string) []string { return append(append([]string(nil), labels...), more...) }
	controlPlane := ""
	if m.Machine.Role == fleet.RoleControlPlane {
		controlPlane = string(m.Machine.Pool)
	}
	show(d.machineInfo, 1, with(string(m.Machine.Pool), controlPlane, m.Machine.Version, m.Version, m.Machine.FailureDomain, string(m.Machine.ProviderID))...)
	if !m.Machine.Created.IsZero() {
		show(d.machineCreated, seconds(m.Machine.Created), labels...)
	}
	if m.Node != "" {
		show(d.machineNode, 1, with(m.Node)...)
	}
	states(machinePhases(), string(m.Phase), func(state string, v float64) { show(d.machinePhase, v, with(state)...) })
	for _, cond := range m.Conditions {
		if followsFromOthers(cond.Type) {
			continue
		}
		states(statuses(), string(cond.Status), func(state string, v float64) { show(d.machineCondition, v, with(cond.Type, state)...) })
		if t := s.conditions[subject{m.Machine.Name, cond.Type}]; !t.at.IsZero() {
			show(d.machineTransition, seconds(t.at), with(cond.Type, string(t.status))...)
		}
	}
}

// poolConditions returns the conditions of a pool. Those of a control plane are
// told of its cluster; those of a MachineDeployment and of a MachinePool follow from its counts.
func poolConditions(r fleet.Report, p fleet.PoolReport, pool fleet.Pool) []fleet.Condition {
	var out []fleet.Condition
	if p.Role == fleet.RoleControlPlane {
		own := map[string]string{
			clusterv1.ClusterControlPlaneAvailableCondition:                  controlplanev1.KubeadmControlPlaneAvailableCondition,
			clusterv1.ClusterControlPlaneInitializedCondition:                controlplanev1.KubeadmControlPlaneInitializedCondition,
			clusterv1.ClusterControlPlaneMachinesReadyCondition:              controlplanev1.KubeadmControlPlaneMachinesReadyCondition,
			clusterv1.ClusterControlPlaneMachinesUpToDateCondition:           controlplanev1.KubeadmControlPlaneMachinesUpToDateCondition,
			controlplanev1.KubeadmControlPlaneCertificatesAvailableCondition: controlplanev1.KubeadmControlPlaneCertificatesAvailableCondition,
			controlplanev1.KubeadmControlPlaneEtcdClusterHealthyCondition:    controlplanev1.KubeadmControlPlaneEtcdClusterHealthyCondition,
			clusterv1.PausedCondition:                                        clusterv1.PausedCondition,
		}
		for _, cond := range r.Conditions {
			if name, ok := own[cond.Type]; ok {
				out = append(out, fleet.Condition{Type: name, Status: cond.Status})
			}
		}
		return out
	}
	workersUnknown := false
	for _, cond := range r.Conditions {
		workersUnknown = workersUnknown || cond.Type == clusterv1.ClusterWorkersAvailableCondition && cond.Status == fleet.StatusUnknown
	}
	add := func(kind string, is, needsNodes bool) {
		status := fleet.False
		switch {
		case workersUnknown && needsNodes:
			status = fleet.StatusUnknown
		case is:
			status = fleet.True
		}
		out = append(out, fleet.Condition{Type: kind, Status: status})
	}
	add(clusterv1.MachineDeploymentAvailableCondition, p.Available >= p.Desired-pool.MaxUnavailable, true)
	add(clusterv1.MachineDeploymentMachinesReadyCondition, p.Ready >= p.Current, true)
	add(clusterv1.MachineDeploymentMachinesUpToDateCondition, p.UpToDate >= p.Current, false)
	if p.Kind != fleet.MachinePoolKind { // Cluster API's MachinePools have no such condition
		add(clusterv1.MachineDeploymentRollingOutCondition, p.UpToDate < p.Current, false)
	}
	add(clusterv1.MachineDeploymentScalingUpCondition, p.Current < p.Desired, false)
	add(clusterv1.MachineDeploymentScalingDownCondition, p.Current > p.Desired, false)
	return out
}

// skew returns how many minor versions the oldest kubelet is behind the oldest
// control-plane machine, where both are known; 0 where it is ahead.
func skew(machines []fleet.MachineReport) (int, bool) {
	control, kubelet := -1, -1
	oldest := func(of *int, v int) {
		if *of < 0 || v < *of {
			*of = v
		}
	}
	for _, m := range machines {
		v, ok := minor(m.Version)
		if !ok {
			continue
		}
		oldest(&kubelet, v)
		if m.Machine.Role == fleet.RoleControlPlane {
			oldest(&control, v)
		}
	}
	if control < 0 || kubelet < 0 {
		return 0, false
	}
	return control - kubelet, true
}

// minor returns 34 of "v1.34.1".
func minor(version string) (int, bool) {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return 0, false
	}
	n, err := strconv.Atoi(parts[1])
	return n, err == nil
}

// states shows a set of states, of which one is: alerts ask for 0 as well as 1.
func states(all []string, now string, gauge func(state string, v float64)) {
	for _, s := range all {
		gauge(s, number(s == now))
	}
}

func statuses() []string { return []string{"True", "False", "Unknown"} }

func upstreamPhases() []string {
	return []string{"Pending", "Provisioning", "Provisioned", "Deleting", "Failed", "Unknown"}
}

func machinePhases() []string {
	return []string{"Pending", "Provisioning", "Provisioned", "Running", "Deleting", "Deleted", "Failed", "Unknown"}
}

func keptPhases() []string {
	return []string{"Pending", "Provisioning", "Provisioned", "Running", "ScalingUp", "ScalingDown", "Scaling", "Deleting", "Failed", "Unknown"}
}

func deploymentPhases() []string {
	return []string{"ScalingUp", "ScalingDown", "Running", "Failed", "Unknown"}
}

func deploymentPhase(p fleet.PoolReport) string {
	switch {
	case p.Current < p.Desired:
		return "ScalingUp"
	case p.Current > p.Desired:
		return "ScalingDown"
	}
	return "Running"
}

func port(p int32) string {
	if p == 0 {
		return ""
	}
	return strconv.Itoa(int(p))
}
