package metrics

import (
	"slices"
	"strconv"
	"strings"
	"time"

	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// clusterFamilies are all series of clusters, of their pools and of their machines.
func clusterFamilies() []clusterFamily {
	return slices.Concat(seriesOfClusters(), seriesOfMachines(), seriesOfPools())
}

func seriesOfClusters() []clusterFamily {
	return []clusterFamily{
		ofClusters("capi_cluster_annotation_paused", "1 of a cluster that is paused or suspended; there is no series of others.", []string{"paused_value"},
			func(s *clusterState, show emit) {
				if s.paused() {
					show(1, "true")
				}
			}),
		ofClusters("capi_cluster_info", "Information about a cluster, always 1.", []string{
			"provider", "version", "topology_version", "revision", "control_plane_endpoint_host", "control_plane_endpoint_port",
			"control_plane_reference_kind", "control_plane_reference_name", "infrastructure_reference_kind", "infrastructure_reference_name",
		}, func(s *clusterState, show emit) {
			c, r := s.pass.Definition, s.report
			show(1, r.Provider, r.Version, r.Version, r.Revision.String(), r.Endpoint.Host, port(r.Endpoint.Port),
				c.ControlPlaneKind(), c.ControlPlaneName(), c.Infrastructure.GVK.Kind, c.Infrastructure.Name)
		}),
		ofClusters("capi_cluster_spec_paused", "1 while a cluster is paused or suspended.", nil,
			func(s *clusterState, show emit) { show(number(s.paused())) }),
		ofClusters("capi_cluster_status_condition", "1 for the status that a condition of a cluster has.", []string{"type", "status"},
			func(s *clusterState, show emit) {
				for _, c := range s.report.Conditions {
					states(statuses(), string(c.Status), func(state string, v float64) { show(v, c.Type, state) })
				}
			}),
		ofClusters("capi_cluster_status_condition_last_transition_time", "When a condition of a cluster got its status.", []string{"type", "status"},
			func(s *clusterState, show emit) {
				for _, c := range s.report.Conditions {
					t := s.conditions[subject{"", c.Type}]
					when(show, t.at, c.Type, string(t.status))
				}
			}),
		ofClusters("capi_cluster_status_phase", "1 for the phase that a cluster is in.", []string{"phase"},
			func(s *clusterState, show emit) {
				states(upstreamPhases(), string(status.ClusterPhase(s.report)), func(state string, v float64) { show(v, state) })
			}),
		ofClusters("fairlead_cluster_certificate_expiry_timestamp_seconds", "When certificates of a cluster expire: CA certificates, the admin kubeconfig, the serving certificate of the API server that answered last, and the first on a machine that K3s or RKE2 warns of.", []string{"certificate"},
			func(s *clusterState, show emit) {
				for certificate, t := range s.pass.NotAfter {
					when(show, t, certificate)
				}
			}),
		ofClusters("fairlead_cluster_drift", "Differences between the shared infrastructure of a cluster and Git, as last observed.", nil,
			func(s *clusterState, show emit) { show(float64(s.pass.Drift)) }),
		ofClusters("fairlead_cluster_failing", "1 while reconciliations of a cluster fail, entirely or in part.", nil,
			func(s *clusterState, show emit) { show(number(s.pass.Err != nil)) }),
		ofClusters("fairlead_cluster_last_success_timestamp_seconds", "When a reconciliation of a cluster last succeeded entirely.", nil,
			func(s *clusterState, show emit) { when(show, s.success) }),
		ofClusters("fairlead_cluster_phase", "1 for the phase of a cluster, in finer steps than capi_cluster_status_phase.", []string{"phase"},
			func(s *clusterState, show emit) { show(1, string(s.report.Phase)) }),
		ofClusters("fairlead_cluster_phase_timestamp_seconds", "When a cluster entered its phase.", nil,
			func(s *clusterState, show emit) { when(show, s.phase) }),
		ofClusters("fairlead_cluster_problems", "Problems that keep the newest revision from being applied to a cluster.", nil,
			func(s *clusterState, show emit) { show(float64(len(s.report.Problems))) }),
		ofClusters("fairlead_cluster_progress_timestamp_seconds", "When the phase of a cluster or of one of its machines last changed.", nil,
			func(s *clusterState, show emit) { when(show, s.progress) }),
		ofClusters("fairlead_cluster_version_skew", "Minor versions between the oldest control-plane machine of a cluster and its oldest kubelet.", nil,
			func(s *clusterState, show emit) {
				if n, ok := skew(s.report.Machines); ok {
					show(float64(n))
				}
			}),
	}
}

func seriesOfMachines() []clusterFamily {
	return []clusterFamily{
		ofMachines("created", "When a machine was made, in seconds since 1970.", nil,
			func(_ *clusterState, m *fleet.MachineReport, show emit) { when(show, m.Machine.Created) }),
		ofMachines("info", "Information about a machine, always 1.", []string{"pool", "control_plane_name", "version", "kubelet_version", "failure_domain", "provider_id"},
			func(_ *clusterState, m *fleet.MachineReport, show emit) {
				controlPlane := ""
				if m.Machine.Role == fleet.RoleControlPlane {
					controlPlane = string(m.Machine.Pool)
				}
				show(1, string(m.Machine.Pool), controlPlane, m.Machine.Version, m.Version, m.Machine.FailureDomain, string(m.Machine.ProviderID))
			}),
		ofMachines("status_condition", "1 for the status that a condition of a machine has.", []string{"type", "status"},
			func(_ *clusterState, m *fleet.MachineReport, show emit) {
				for _, c := range m.Conditions {
					if !followsFromOthers(c.Type) {
						states(statuses(), string(c.Status), func(state string, v float64) { show(v, c.Type, state) })
					}
				}
			}),
		ofMachines("status_condition_last_transition_time", "When a condition of a machine got its status.", []string{"type", "status"},
			func(s *clusterState, m *fleet.MachineReport, show emit) {
				for _, c := range m.Conditions {
					if !followsFromOthers(c.Type) {
						t := s.conditions[subject{m.Machine.Name, c.Type}]
						when(show, t.at, c.Type, string(t.status))
					}
				}
			}),
		ofMachines("status_noderef", "The Node of a machine, always 1.", []string{"node_name"},
			func(_ *clusterState, m *fleet.MachineReport, show emit) {
				if m.Node != "" {
					show(1, m.Node)
				}
			}),
		ofMachines("status_phase", "1 for the phase that a machine is in.", []string{"phase"},
			func(_ *clusterState, m *fleet.MachineReport, show emit) {
				states(machinePhases(), string(m.Phase), func(state string, v float64) { show(v, state) })
			}),
	}
}

func seriesOfPools() []clusterFamily {
	deployments := poolKind{"capi_machinedeployment", "MachineDeployment", func(p fleet.PoolReport) bool {
		return p.Role != fleet.RoleControlPlane && !p.Kept() && p.Kind != fleet.LoneMachine // which has the series of machines
	}}
	kept := poolKind{"capi_machinepool", "MachinePool", func(p fleet.PoolReport) bool { return p.Kept() }}
	controlPlanes := poolKind{"capi_kubeadmcontrolplane", "KubeadmControlPlane", func(p fleet.PoolReport) bool { return p.Role == fleet.RoleControlPlane }}
	return append(slices.Concat(poolFamilies(controlPlanes), poolFamilies(deployments), poolFamilies(kept)),
		surge(controlPlanes), surge(deployments),
		ofPools(kept, "spec_paused", "1 while a POOL is paused.", nil,
			func(s *clusterState, p fleet.PoolReport, _ fleet.Pool, _ bool, show emit) {
				pool, _ := s.pass.Definition.KeptPool(p.Name)
				show(number(pool.Paused))
			}),
		ofPools(kept, "status_phase", "1 for the phase that a POOL is in.", []string{"phase"},
			func(_ *clusterState, p fleet.PoolReport, _ fleet.Pool, _ bool, show emit) {
				states(keptPhases(), string(p.Phase), func(state string, v float64) { show(v, state) })
			}),
		ofPools(deployments, "spec_paused", "1 while a POOL is paused.", nil,
			func(_ *clusterState, _ fleet.PoolReport, pool fleet.Pool, _ bool, show emit) {
				show(number(pool.Paused))
			}),
		ofPools(deployments, "spec_strategy_rollingupdate_max_unavailable", "Machines that a POOL may lack during a rollout.", nil,
			func(_ *clusterState, _ fleet.PoolReport, pool fleet.Pool, inGit bool, show emit) {
				if inGit {
					show(float64(pool.MaxUnavailable))
				}
			}),
		ofPools(deployments, "status_phase", "1 for the phase that a POOL is in.", []string{"phase"},
			func(_ *clusterState, p fleet.PoolReport, _ fleet.Pool, _ bool, show emit) {
				states(deploymentPhases(), deploymentPhase(p), func(state string, v float64) { show(v, state) })
			}),
	)
}

// poolFamilies are the series that all kinds of pools have.
func poolFamilies(k poolKind) []clusterFamily {
	count := func(name, help string, of func(p fleet.PoolReport) int) clusterFamily {
		return ofPools(k, name, help, nil, func(_ *clusterState, p fleet.PoolReport, _ fleet.Pool, _ bool, show emit) { show(float64(of(p))) })
	}
	return []clusterFamily{
		ofPools(k, "info", "Information about a POOL, always 1.", []string{"version"},
			func(_ *clusterState, p fleet.PoolReport, _ fleet.Pool, _ bool, show emit) { show(1, p.Version) }),
		count("spec_replicas", "Machines that a POOL asks for.", func(p fleet.PoolReport) int { return p.Desired }),
		ofPools(k, "status_condition", "1 for the status that a condition of a POOL has.", []string{"type", "status"},
			func(s *clusterState, p fleet.PoolReport, pool fleet.Pool, _ bool, show emit) {
				for _, c := range poolConditions(s.report, p, pool) {
					states(statuses(), string(c.Status), func(state string, v float64) { show(v, c.Type, state) })
				}
			}),
		count("status_replicas", "Machines of a POOL.", func(p fleet.PoolReport) int { return p.Current }),
		count("status_replicas_available", "Available machines of a POOL.", func(p fleet.PoolReport) int { return p.Available }),
		count("status_replicas_ready", "Ready machines of a POOL.", func(p fleet.PoolReport) int { return p.Ready }),
		count("status_replicas_unavailable", "Machines of a POOL that are not available.", func(p fleet.PoolReport) int { return max(0, p.Desired-p.Available) }),
		count("status_replicas_updated", "Machines of a POOL that are made from its newest template.", func(p fleet.PoolReport) int { return p.UpToDate }),
		count("status_replicas_uptodate", "Up-to-date machines, by the newer name of the same field.", func(p fleet.PoolReport) int { return p.UpToDate }),
	}
}

// surge is the series of pools whose rollouts are ours.
func surge(k poolKind) clusterFamily {
	return ofPools(k, "spec_strategy_rollingupdate_max_surge", "Machines that a POOL may have beyond its replicas during a rollout.", nil,
		func(_ *clusterState, _ fleet.PoolReport, pool fleet.Pool, inGit bool, show emit) {
			if inGit {
				show(float64(pool.MaxSurge))
			}
		})
}

// when shows t, if there is one.
func when(show emit, t time.Time, labels ...string) {
	if !t.IsZero() {
		show(seconds(t), labels...)
	}
}

// paused reports whether nothing is done on a cluster for the time being: by
// what the last look found, which knows of suspensions, and where there was none
// by what Git says.
func (s *clusterState) paused() bool {
	for _, cond := range s.report.Conditions {
		if cond.Type == clusterv1.PausedCondition {
			return cond.Status == fleet.True
		}
	}
	return s.pass.Definition.Paused
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

// poolConditions returns the conditions of a pool. Those of a control plane are
// reported by its cluster; those of a MachineDeployment and of a MachinePool follow from its counts.
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
	if !p.Kept() { // Cluster API's MachinePools have no such condition
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
