package adopt_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// An upstream acts as the controllers of Cluster API. It creates the objects of manifests
// as the controllers leave them for a cluster at rest, with running machines and the
// cluster's secrets.
type upstream struct {
	*management
	cluster  string
	endpoint fleet.Endpoint
	machines []providers.AdoptedMachine // with the pools of the manifests
	secrets  map[fleet.SecretName]fleet.SecretData
	infra    string // kind of the infrastructure of machines, such as DevMachine
	// data returns the data template of a machine on bare metal, and its addresses by pool; nil: the
	// template nodes, and an address of the pool of that name.
	data     func(i int, m providers.AdoptedMachine) (template string, addresses map[string]string)
	template string // of machines on vSphere; empty: vSphereMachineTemplate
}

func (u *upstream) createAll(manifests string) {
	u.Helper()
	var cluster, controlPlane *unstructured.Unstructured
	var deployments []*unstructured.Unstructured
	for _, o := range objects(u.T, manifests) {
		if withoutNamespace(o) {
			u.create(o)
			continue
		}
		o.SetNamespace(u.ns)
		switch o.GetKind() {
		case "Cluster":
			cluster = u.create(u.asCluster(o))
		case "AWSManagedControlPlane", "AzureManagedControlPlane":
			controlPlane = u.create(u.owned(o, cluster))
		case "KubeadmControlPlane":
			controlPlane = u.create(u.owned(u.asControlPlane(o), cluster))
		case "MachineDeployment":
			deployments = append(deployments, u.create(u.owned(u.asDeployment(o), cluster)))
		case "DevCluster", "OpenStackCluster", "VSphereCluster", "Metal3Cluster", "AWSCluster", "AWSManagedCluster", "AzureCluster", "AzureManagedCluster":
			set(o, u.at(), "spec", "controlPlaneEndpoint")
			u.create(u.owned(o, cluster))
		default:
			u.create(u.owned(o, cluster))
		}
	}
	u.createMachines(controlPlane, "control-plane")
	for _, d := range deployments {
		u.createMachines(u.set(d, cluster), d.GetName())
	}
	for name, data := range u.secrets {
		u.secret(u.cluster+"-"+string(name), "cluster.x-k8s.io/secret", map[string]string{"cluster.x-k8s.io/cluster-name": u.cluster}, data, controlPlane)
	}
}

// withoutNamespace reports whether o is of a kind without namespaces.
func withoutNamespace(o *unstructured.Unstructured) bool {
	switch o.GetKind() {
	case "Namespace", "OpenStackClusterIdentity", "VSphereClusterIdentity", "VSphereFailureDomain", "VSphereDeploymentZone", "AWSClusterControllerIdentity":
		return true
	}
	return false
}

// secret creates a Secret. by, if not nil, owns it.
func (u *upstream) secret(name, kind string, labels map[string]string, data fleet.SecretData, by *unstructured.Unstructured) {
	u.Helper()
	values := map[string]any{}
	for k, v := range data {
		values[k] = base64.StdEncoding.EncodeToString(v.Reveal())
	}
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "type": kind, "data": values}}
	o.SetName(name)
	o.SetNamespace(u.ns)
	o.SetLabels(labels)
	if by != nil {
		o.SetOwnerReferences([]metav1.OwnerReference{ownerOf(by)})
	}
	u.create(o)
}

// ownerOf returns the reference to a controller.
func ownerOf(by *unstructured.Unstructured) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{APIVersion: by.GetAPIVersion(), Kind: by.GetKind(), Name: by.GetName(), UID: by.GetUID(), Controller: &yes}
}

func (u *upstream) at() map[string]any {
	return map[string]any{"host": u.endpoint.Host, "port": int64(u.endpoint.Port)}
}

func set(o *unstructured.Unstructured, v any, path ...string) {
	if err := unstructured.SetNestedField(o.Object, v, path...); err != nil {
		panic(err)
	}
}

// asCluster returns a Cluster as the API server and its controller leave it.
func (u *upstream) asCluster(o *unstructured.Unstructured) *unstructured.Unstructured {
	set(o, u.at(), "spec", "controlPlaneEndpoint")
	o.SetFinalizers([]string{"cluster.cluster.x-k8s.io"})
	note(o, "kubectl.kubernetes.io/last-applied-configuration", "{}")
	o.Object["status"] = map[string]any{"phase": "Provisioned", "observedGeneration": int64(1)}
	return o
}

func note(o *unstructured.Unstructured, key, value string) {
	notes := o.GetAnnotations()
	if notes == nil {
		notes = map[string]string{}
	}
	notes[key] = value
	o.SetAnnotations(notes)
}

// owned gives o a controller, or, where it is a template, an owner.
func (u *upstream) owned(o, by *unstructured.Unstructured) *unstructured.Unstructured {
	yes := o.GetKind() != "KubeadmConfigTemplate" && o.GetKind() != u.infra+"Template"
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: by.GetAPIVersion(), Kind: by.GetKind(), Name: by.GetName(), UID: by.GetUID(), Controller: &yes}})
	label(o, "cluster.x-k8s.io/cluster-name", u.cluster)
	return o
}

func label(o *unstructured.Unstructured, key, value string) {
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[key] = value
	o.SetLabels(labels)
}

func (u *upstream) status(replicas int64) map[string]any {
	return map[string]any{"observedGeneration": int64(1), "replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas, "upToDateReplicas": replicas}
}

func (u *upstream) asControlPlane(o *unstructured.Unstructured) *unstructured.Unstructured {
	set(o, map[string]any{"strategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": int64(1)}}}, "spec", "rollout")
	if _, ok, _ := unstructured.NestedString(o.Object, "spec", "kubeadmConfigSpec", "format"); !ok {
		set(o, "cloud-config", "spec", "kubeadmConfigSpec", "format")
	}
	n, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	o.SetFinalizers([]string{"kubeadm.controlplane.cluster.x-k8s.io"})
	o.Object["status"] = u.status(n)
	return o
}

func (u *upstream) asDeployment(o *unstructured.Unstructured) *unstructured.Unstructured {
	labels := map[string]any{"cluster.x-k8s.io/cluster-name": u.cluster, "cluster.x-k8s.io/deployment-name": o.GetName()}
	theirs, _, _ := unstructured.NestedMap(o.Object, "spec", "template", "metadata", "labels")
	all := maps.Clone(labels)
	maps.Copy(all, theirs)
	set(o, all, "spec", "template", "metadata", "labels")
	set(o, labels, "spec", "selector", "matchLabels")
	set(o, map[string]any{"strategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": int64(1), "maxUnavailable": int64(0)}}}, "spec", "rollout")
	set(o, int64(10), "spec", "template", "spec", "deletion", "nodeDeletionTimeoutSeconds")
	note(o, "machinedeployment.clusters.x-k8s.io/revision", "1")
	n, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	o.Object["status"] = u.status(n)
	return o
}

// set creates the MachineSet of a MachineDeployment.
func (u *upstream) set(d, cluster *unstructured.Unstructured) *unstructured.Unstructured {
	u.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(kind("MachineSet"))
	o.SetName(d.GetName() + "-x7k2p")
	o.SetNamespace(u.ns)
	spec := d.DeepCopy().Object["spec"].(map[string]any)
	o.Object["spec"] = map[string]any{"clusterName": u.cluster, "replicas": spec["replicas"], "selector": spec["selector"], "template": spec["template"]}
	return u.create(u.owned(o, d))
}

// createMachines creates the Machines of a pool, with what belongs to each.
func (u *upstream) createMachines(owner *unstructured.Unstructured, pool string) {
	u.Helper()
	if owner == nil {
		u.Fatal("the manifests have no owner for pool " + pool)
	}
	for _, m := range u.machines {
		if string(m.Pool) != pool {
			continue
		}
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetGroupVersionKind(kind("Machine"))
		o.SetName(string(m.Name))
		o.SetNamespace(u.ns)
		u.owned(o, owner)
		if pool == "control-plane" {
			label(o, "cluster.x-k8s.io/control-plane", "")
			label(o, "cluster.x-k8s.io/control-plane-name", owner.GetName())
		} else {
			label(o, "cluster.x-k8s.io/deployment-name", pool)
			label(o, "cluster.x-k8s.io/set-name", owner.GetName())
			labels, _, _ := unstructured.NestedStringMap(owner.Object, "spec", "template", "metadata", "labels")
			for k, v := range labels {
				label(o, k, v)
			}
		}
		o.SetFinalizers([]string{"machine.cluster.x-k8s.io"})
		o.Object["spec"] = map[string]any{
			"clusterName": u.cluster, "version": "v1.34.1", "providerID": string(m.ID),
			"bootstrap": map[string]any{
				"dataSecretName": string(m.Name),
				"configRef":      map[string]any{"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": string(m.Name)},
			},
			"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": u.infra, "name": string(m.Name)},
		}
		if m.FailureDomain != "" {
			set(o, m.FailureDomain, "spec", "failureDomain")
		}
		o.Object["status"] = map[string]any{"phase": "Running", "nodeRef": map[string]any{"name": string(m.Name)}}
		made := u.create(o)
		config := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"format": "cloud-config"}}}
		config.SetGroupVersionKind(kind("KubeadmConfig"))
		config.SetName(string(m.Name))
		config.SetNamespace(u.ns)
		u.create(u.owned(config, made))
		if u.infra == "OpenStackMachine" {
			u.openStackMachine(made, m)
		}
		if u.infra == "Metal3Machine" {
			u.metal3Machine(made, m)
		}
		if u.infra == "AWSMachine" {
			u.awsMachine(made, m)
		}
		if u.infra == "AzureMachine" {
			u.azureMachine(made, m)
		}
		if u.infra == "VSphereMachine" {
			u.vSphereMachine(made, m)
		}
	}
}

// openStackMachine creates the infrastructure of a Machine, which is ready.
func (u *upstream) openStackMachine(of *unstructured.Unstructured, m providers.AdoptedMachine) {
	u.Helper()
	for _, o := range objects(u.T, openStackMachineTemplate) {
		spec, _, _ := unstructured.NestedMap(o.Object, "spec", "template", "spec")
		spec["providerID"] = string(m.ID)
		o.SetKind("OpenStackMachine")
		o.SetName(string(m.Name))
		o.SetNamespace(u.ns)
		o.SetFinalizers([]string{"openstackmachine.infrastructure.cluster.x-k8s.io"})
		note(o, "cluster.x-k8s.io/cloned-from-name", u.cluster)
		o.Object["spec"] = spec
		o.Object["status"] = map[string]any{"initialization": map[string]any{"provisioned": true}}
		u.create(u.owned(o, of))
	}
}

// say has the controller of an object report that it is paused, or not.
func (m *management) say(t testing.TB, object, name, status string) {
	t.Helper()
	m.change(kind(object), name, true, func(o map[string]any) {
		_ = unstructured.SetNestedSlice(o, []any{map[string]any{
			"type": "Paused", "status": status, "reason": "Test", "lastTransitionTime": "2026-01-01T00:00:00Z", "message": fmt.Sprintf("is %s", status),
		}}, "status", "conditions")
	})
}
