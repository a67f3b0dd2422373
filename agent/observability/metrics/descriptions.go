package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// clusterDescs are the series of clusters. Names and labels that begin with
// capi_ are those of Cluster API's configuration of kube-state-metrics and of
// the dashboards that come with it; labels that it lacks are added to *_info.
// Source: Cluster API, core/config/metrics and hack/observability.
type clusterDescs struct {
	info, paused, annotationPaused, phase, condition, transition *prometheus.Desc

	step, stepSince, progress, failing, success, problems, drift, expiry, skew *prometheus.Desc

	machineInfo, machineCreated, machineNode, machinePhase, machineCondition, machineTransition *prometheus.Desc

	deployment, controlPlane, kept poolDescs

	deploymentPhase, deploymentPaused, deploymentUnavailable, keptPhase, keptPaused *prometheus.Desc
}

// poolDescs are the series of one kind of pool.
type poolDescs struct {
	info, desired, current, updated, upToDate, ready, available, unavailable, condition *prometheus.Desc

	surge *prometheus.Desc // nil: the cloud decides it
}

func newClusterDescs() clusterDescs {
	cluster := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append([]string{"namespace", "name"}, labels...), nil)
	}
	machine := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("capi_machine_"+name, help, append([]string{"namespace", "name", "cluster_name"}, labels...), nil)
	}
	deployment := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("capi_machinedeployment_"+name, help, append([]string{"namespace", "name", "cluster_name"}, labels...), nil)
	}
	kept := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("capi_machinepool_"+name, help, append([]string{"namespace", "name", "cluster_name"}, labels...), nil)
	}
	return clusterDescs{
		info: cluster("capi_cluster_info", "Information about a cluster, always 1.",
			"provider", "version", "topology_version", "revision", "control_plane_endpoint_host", "control_plane_endpoint_port",
			"control_plane_reference_kind", "control_plane_reference_name", "infrastructure_reference_kind", "infrastructure_reference_name"),
		paused:           cluster("capi_cluster_spec_paused", "1 while a cluster is paused or suspended."),
		annotationPaused: cluster("capi_cluster_annotation_paused", "1 of a cluster that is paused or suspended; there is no series of others.", "paused_value"),
		phase:            cluster("capi_cluster_status_phase", "1 for the phase that a cluster is in.", "phase"),
		condition:        cluster("capi_cluster_status_condition", "1 for the status that a condition of a cluster has.", "type", "status"),
		transition:       cluster("capi_cluster_status_condition_last_transition_time", "When a condition of a cluster got its status.", "type", "status"),

		step:      cluster("fairlead_cluster_phase", "1 for the step that a cluster is at: finer than capi_cluster_status_phase.", "phase"),
		stepSince: cluster("fairlead_cluster_phase_timestamp_seconds", "Since when a cluster is at its step."),
		progress:  cluster("fairlead_cluster_progress_timestamp_seconds", "When a cluster last changed its step, or one of its machines what it is at."),
		failing:   cluster("fairlead_cluster_failing", "1 while passes over a cluster fail, wholly or in part."),
		success:   cluster("fairlead_cluster_last_success_timestamp_seconds", "When a pass over a cluster last succeeded wholly."),
		problems:  cluster("fairlead_cluster_problems", "Problems that keep the newest revision from being applied to a cluster."),
		drift:     cluster("fairlead_cluster_drift", "Differences between the shared infrastructure of a cluster and Git that were there at the last look."),
		expiry:    cluster("fairlead_cluster_certificate_expiry_timestamp_seconds", "When certificates of a cluster expire: CA certificates, the admin kubeconfig, the serving certificate of the API server that answered last, and the first on a machine that K3s or RKE2 warns of.", "certificate"),
		skew:      cluster("fairlead_cluster_version_skew", "Minor versions between the oldest control-plane machine of a cluster and its oldest kubelet."),

		machineInfo: machine("info", "Information about a machine, always 1.",
			"pool", "control_plane_name", "version", "kubelet_version", "failure_domain", "provider_id"),
		machineCreated:    machine("created", "When a machine was made, in seconds since 1970."),
		machineNode:       machine("status_noderef", "The Node of a machine, always 1.", "node_name"),
		machinePhase:      machine("status_phase", "1 for the phase that a machine is in.", "phase"),
		machineCondition:  machine("status_condition", "1 for the status that a condition of a machine has.", "type", "status"),
		machineTransition: machine("status_condition_last_transition_time", "When a condition of a machine got its status.", "type", "status"),

		deployment:            newPoolDescs("capi_machinedeployment", "MachineDeployment", "spec_strategy_rollingupdate_max_surge"),
		controlPlane:          newPoolDescs("capi_kubeadmcontrolplane", "KubeadmControlPlane", "spec_strategy_rollingupdate_max_surge"),
		kept:                  newPoolDescs("capi_machinepool", "MachinePool", ""),
		keptPhase:             kept("status_phase", "1 for the phase that a MachinePool is in.", "phase"),
		keptPaused:            kept("spec_paused", "1 while a MachinePool is paused."),
		deploymentPhase:       deployment("status_phase", "1 for the phase that a MachineDeployment is in.", "phase"),
		deploymentPaused:      deployment("spec_paused", "1 while a MachineDeployment is paused."),
		deploymentUnavailable: deployment("spec_strategy_rollingupdate_max_unavailable", "Machines that a MachineDeployment may lack during a rollout."),
	}
}

func newPoolDescs(prefix, what, surge string) poolDescs {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prefix+"_"+name, help, append([]string{"namespace", "name", "cluster_name"}, labels...), nil)
	}
	d := poolDescs{
		info:        desc("info", "Information about a "+what+", always 1.", "version"),
		desired:     desc("spec_replicas", "Machines that a "+what+" asks for."),
		current:     desc("status_replicas", "Machines of a "+what+"."),
		updated:     desc("status_replicas_updated", "Machines of a "+what+" that are made from its newest template."),
		upToDate:    desc("status_replicas_uptodate", "The same with its newer name."),
		ready:       desc("status_replicas_ready", "Ready machines of a "+what+"."),
		available:   desc("status_replicas_available", "Available machines of a "+what+"."),
		unavailable: desc("status_replicas_unavailable", "Machines that a "+what+" lacks to be wholly available."),
		condition:   desc("status_condition", "1 for the status that a condition of a "+what+" has.", "type", "status"),
	}
	if surge != "" {
		d.surge = desc(surge, "Machines that a "+what+" may have beyond its replicas during a rollout.")
	}
	return d
}

func (d poolDescs) all() []*prometheus.Desc {
	out := []*prometheus.Desc{d.info, d.desired, d.current, d.updated, d.upToDate, d.ready, d.available, d.unavailable, d.condition}
	if d.surge != nil {
		out = append(out, d.surge)
	}
	return out
}

func (d clusterDescs) all() []*prometheus.Desc {
	out := []*prometheus.Desc{
		d.info, d.paused, d.annotationPaused, d.phase, d.condition, d.transition,
		d.step, d.stepSince, d.progress, d.failing, d.success, d.problems, d.drift, d.expiry, d.skew,
		d.machineInfo, d.machineCreated, d.machineNode, d.machinePhase, d.machineCondition, d.machineTransition,
		d.deploymentPhase, d.deploymentPaused, d.deploymentUnavailable, d.keptPhase, d.keptPaused,
	}
	return append(append(append(out, d.deployment.all()...), d.controlPlane.all()...), d.kept.all()...)
}
