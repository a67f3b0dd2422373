package agent

import (
	"maps"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"fairlead.dev/fleet"
)

// clusterCollector shows the newest report of each cluster with the names that
// dashboards for Cluster API use. A series is there as long as its object is in
// a report: nothing has to be deleted.
// Source: Cluster API, core/config/metrics.
type clusterCollector struct {
	mu      sync.Mutex
	reports map[fleet.Key]fleet.Report

	info, phase, condition, since               *prometheus.Desc
	machineInfo, machinePhase, machineCondition *prometheus.Desc
	deployment, controlPlane                    poolDescs
}

// poolDescs are the series of one kind of pool.
type poolDescs struct {
	info, desired, current, updated, ready, available, unavailable *prometheus.Desc
}

func newClusterCollector() *clusterCollector {
	desc := prometheus.NewDesc
	pool := func(prefix, what string) poolDescs {
		labels := []string{"namespace", "name", "cluster_name"}
		return poolDescs{
			info:        desc(prefix+"_info", "Information about a "+what+", always 1.", append(labels, "version"), nil),
			desired:     desc(prefix+"_spec_replicas", "Machines that a "+what+" asks for.", labels, nil),
			current:     desc(prefix+"_status_replicas", "Machines of a "+what+".", labels, nil),
			updated:     desc(prefix+"_status_replicas_updated", "Machines of a "+what+" that are made from its newest template.", labels, nil),
			ready:       desc(prefix+"_status_replicas_ready", "Ready machines of a "+what+".", labels, nil),
			available:   desc(prefix+"_status_replicas_available", "Available machines of a "+what+".", labels, nil),
			unavailable: desc(prefix+"_status_replicas_unavailable", "Machines that a "+what+" lacks to be wholly available.", labels, nil),
		}
	}
	return &clusterCollector{
		reports: make(map[fleet.Key]fleet.Report),
		info: desc("capi_cluster_info", "Information about a cluster, always 1.", []string{
			"namespace", "name", "provider", "version", "revision", "control_plane_endpoint_host", "control_plane_endpoint_port",
		}, nil),
		phase:            desc("capi_cluster_status_phase", "1 for the phase that a cluster is in.", []string{"namespace", "name", "phase"}, nil),
		condition:        desc("capi_cluster_status_condition", "1 for the status that a condition of a cluster has.", []string{"namespace", "name", "type", "status"}, nil),
		since:            desc("fairlead_cluster_phase", "1 for the step that a cluster is at: finer than capi_cluster_status_phase.", []string{"namespace", "name", "phase"}, nil),
		machineInfo:      desc("capi_machine_info", "Information about a machine, always 1.", []string{"namespace", "name", "cluster_name", "pool", "version", "failure_domain", "provider_id"}, nil),
		machinePhase:     desc("capi_machine_status_phase", "1 for the phase that a machine is in.", []string{"namespace", "name", "cluster_name", "phase"}, nil),
		machineCondition: desc("capi_machine_status_condition", "1 for the status that a condition of a machine has.", []string{"namespace", "name", "cluster_name", "type", "status"}, nil),
		deployment:       pool("capi_machinedeployment", "MachineDeployment"),
		controlPlane:     pool("capi_kubeadmcontrolplane", "KubeadmControlPlane"),
	}
}

func (c *clusterCollector) put(r fleet.Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reports[r.Cluster] = r
}

func (c *clusterCollector) forget(k fleet.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.reports, k)
}

// Describe implements prometheus.Collector.
func (c *clusterCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		c.info, c.phase, c.condition, c.since, c.machineInfo, c.machinePhase, c.machineCondition,
	} {
		ch <- d
	}
	for _, p := range []poolDescs{c.deployment, c.controlPlane} {
		for _, d := range []*prometheus.Desc{p.info, p.desired, p.current, p.updated, p.ready, p.available, p.unavailable} {
			ch <- d
		}
	}
}

// Collect implements prometheus.Collector.
func (c *clusterCollector) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	reports := maps.Clone(c.reports)
	c.mu.Unlock()
	for _, r := range reports {
		c.collect(ch, r)
	}
}

func (c *clusterCollector) collect(ch chan<- prometheus.Metric, r fleet.Report) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	ns, name := r.Cluster.Namespace, r.Cluster.Name
	gauge(c.info, 1, ns, name, r.Provider, r.Version, r.Revision.String(), r.Endpoint.Host, port(r.Endpoint.Port))
	states(upstreamPhases(), upstreamPhase(r), func(state string, v float64) { gauge(c.phase, v, ns, name, state) })
	gauge(c.since, 1, ns, name, string(r.Phase))
	for _, cond := range r.Conditions {
		states(statuses(), string(cond.Status), func(state string, v float64) { gauge(c.condition, v, ns, name, cond.Type, state) })
	}
	for _, p := range r.Pools {
		d := c.deployment
		if p.Role == fleet.RoleControlPlane {
			d = c.controlPlane
		}
		labels := []string{ns, string(p.Name), name}
		gauge(d.info, 1, append(labels, p.Version)...)
		gauge(d.desired, float64(p.Desired), labels...)
		gauge(d.current, float64(p.Current), labels...)
		gauge(d.updated, float64(p.UpToDate), labels...)
		gauge(d.ready, float64(p.Ready), labels...)
		gauge(d.available, float64(p.Available), labels...)
		gauge(d.unavailable, float64(max(0, p.Desired-p.Available)), labels...)
	}
	seen := make(map[fleet.MachineName]bool, len(r.Machines))
	for _, m := range r.Machines {
		if seen[m.Machine.Name] { // a provider may have two of one name; a series may not
			continue
		}
		seen[m.Machine.Name] = true
		machine := string(m.Machine.Name)
		gauge(c.machineInfo, 1, ns, machine, name, string(m.Machine.Pool), m.Machine.Version, m.Machine.FailureDomain, string(m.Machine.ProviderID))
		states(machinePhases(), string(m.Phase), func(state string, v float64) { gauge(c.machinePhase, v, ns, machine, name, state) })
		for _, cond := range m.Conditions {
			states(statuses(), string(cond.Status), func(state string, v float64) {
				gauge(c.machineCondition, v, ns, machine, name, cond.Type, state)
			})
		}
	}
}

// states shows a set of states, of which one is: alerts ask for 0 as well as 1.
func states(all []string, now string, gauge func(state string, v float64)) {
	for _, s := range all {
		v := 0.0
		if s == now {
			v = 1
		}
		gauge(s, v)
	}
}

func statuses() []string { return []string{"True", "False", "Unknown"} }

func upstreamPhases() []string {
	return []string{"Pending", "Provisioning", "Provisioned", "Deleting", "Failed", "Unknown"}
}

func machinePhases() []string {
	return []string{"Pending", "Provisioning", "Provisioned", "Running", "Deleting", "Deleted", "Failed", "Unknown"}
}

// upstreamPhase returns the phase of r in Cluster API's words, which know less.
func upstreamPhase(r fleet.Report) string {
	switch r.Phase {
	case fleet.PhaseInfrastructure, fleet.PhaseControlPlane, fleet.PhaseWorkers:
		return "Provisioning"
	case fleet.PhaseDeleted:
		return "Deleting"
	case "":
		return "Unknown"
	}
	return string(r.Phase)
}
