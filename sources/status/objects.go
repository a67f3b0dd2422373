package status

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"fairlead.dev/fleet"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// newCluster returns r as the objects of a file. A condition keeps the time in old where
// its status is the same; else it changed now.
func newCluster(r fleet.Report, old Cluster, now time.Time) Cluster {
	r.Actions, r.Hosts = nil, nil // hosts have files of their own
	c := Cluster{Report: r, Cluster: clusterObject(r, old.Cluster, now), Upgrade: upgradeOf(r, old, now), Addons: addonsOf(r, old, now)}
	c.Report.Addons = reportsOf(c.Addons)
	before := map[string]clusterv1.Machine{}
	for _, m := range old.Machines {
		before[machineID(m)] = m
	}
	for _, m := range r.Machines {
		if m.Machine.Name == "" && m.Machine.ProviderID == "" {
			continue // its tags were damaged before it had an id: the cluster's conditions tell of it
		}
		o := machineObject(r, m)
		o.Status.Conditions = conditions(m.Conditions, before[machineID(o)].Status.Conditions, now)
		c.Machines = append(c.Machines, o)
	}
	return c
}

// machineID identifies a machine, also among others with its name.
func machineID(m clusterv1.Machine) string { return m.Name + " " + m.Spec.ProviderID }

func clusterObject(r fleet.Report, old clusterv1.Cluster, now time.Time) clusterv1.Cluster {
	c := clusterv1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster"},
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Cluster.Namespace, Name: r.Cluster.Name, Labels: maps.Clone(r.Labels)},
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

// ClusterPhase returns Cluster API's phase, which has fewer steps: there a cluster is
// Provisioned once its infrastructure and endpoint are.
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

// standsAlone reports whether m is a pool of its own.
func standsAlone(r fleet.Report, m fleet.MachineReport) bool {
	return string(m.Machine.Name) == string(m.Machine.Pool) && slices.ContainsFunc(r.Pools, func(p fleet.PoolReport) bool {
		return p.Name == m.Machine.Pool && p.Kind == fleet.LoneMachine
	})
}

// conditions returns list with times: those in old where the status is the same.
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

func machineOf(o clusterv1.Machine) fleet.MachineReport {
	m := fleet.MachineReport{
		Machine: fleet.Machine{
			Name:          fleet.MachineName(o.Name),
			ProviderID:    fleet.ProviderID(o.Spec.ProviderID),
			Pool:          fleet.PoolName(cmp.Or(o.Labels[clusterv1.MachineDeploymentNameLabel], o.Name)),
			Role:          fleet.RoleWorker,
			Template:      fleet.TemplateHash(o.Annotations[templateAnnotation]),
			Version:       o.Spec.Version,
			Provider:      o.Annotations[providerAnnotation],
			Operation:     fleet.OperationID(o.Annotations[operationAnnot]),
			FailureDomain: o.Spec.FailureDomain,
			State:         fleet.MachineState(o.Annotations[stateAnnotation]),
			Message:       o.Annotations[messageAnnotation],
			Created:       o.CreationTimestamp.Time,
			Origin:        fleet.OriginFromTags(o.Annotations),
		},
		Phase:      fleet.MachinePhase(o.Status.Phase),
		Node:       o.Status.NodeRef.Name,
		NodeID:     fleet.ProviderID(o.Annotations[nodeIDAnnotation]),
		Version:    o.Annotations[kubeletAnnotation],
		UpToDate:   o.Annotations[upToDateAnnotation] == "true",
		Conditions: conditionsOf(o.Status.Conditions),
	}
	if at, err := time.Parse(time.RFC3339, o.Annotations[joinedAnnotation]); err == nil {
		m.Joined = at.UTC()
	}
	if name, ok := o.Labels[clusterv1.MachineControlPlaneNameLabel]; ok {
		m.Machine.Role, m.Machine.Pool = fleet.RoleControlPlane, fleet.PoolName(name)
	}
	if !m.Machine.Created.IsZero() {
		m.Machine.Created = m.Machine.Created.UTC()
	}
	for _, a := range o.Status.Addresses {
		m.Machine.Addresses = append(m.Machine.Addresses, a.Address)
	}
	return m
}

func conditionsOf(list []metav1.Condition) []fleet.Condition {
	var out []fleet.Condition
	for _, c := range list {
		out = append(out, fleet.Condition{Type: c.Type, Status: fleet.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message})
	}
	return out
}
