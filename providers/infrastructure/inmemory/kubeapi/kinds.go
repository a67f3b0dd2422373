package kubeapi

import (
	"strings"
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A kind is one resource that the server serves.
type kind struct {
	schema.GroupVersionKind
	plural     string
	short      string // for kubectl
	namespaced bool
	all        bool           // in kubectl's category "all"
	subs       []string       // subresources
	typed      runtime.Object // a zero value: it knows the merge keys of strategic patches; nil: they are not known
}

func (k *kind) resource() schema.GroupResource {
	return schema.GroupResource{Group: k.Group, Resource: k.plural}
}

func (k *kind) singular() string { return strings.ToLower(k.Kind) }

// root returns the path under which the group and version are served.
func (k *kind) root() string {
	if k.Group == "" {
		return "api/" + k.Version
	}
	return "apis/" + k.GroupVersion().String()
}

func (k *kind) hasStatus() bool {
	for _, s := range k.subs {
		if s == "status" {
			return true
		}
	}
	return false
}

// A catalog is what all servers of a process serve. It never changes.
type catalog struct {
	kinds  []*kind
	byPath map[string]*kind // "api/v1/nodes"
	byGVK  map[schema.GroupVersionKind]*kind
	scheme *runtime.Scheme
}

// shared returns the catalog, made at first use: a table per server would be
// larger than everything else that a server holds.
var shared = sync.OnceValue(newCatalog) //nolint:gochecknoglobals // read-only, shared by thousands of servers

func newCatalog() *catalog {
	c := &catalog{
		byPath: make(map[string]*kind),
		byGVK:  make(map[schema.GroupVersionKind]*kind),
		scheme: runtime.NewScheme(),
	}
	status := []string{"status"}
	scaled := []string{"status", "scale"}

	v1 := corev1.SchemeGroupVersion
	c.add(v1, &corev1.Namespace{}, kind{plural: "namespaces", short: "ns", subs: []string{"status", "finalize"}})
	c.add(v1, &corev1.Node{}, kind{plural: "nodes", short: "no", subs: status})
	c.add(v1, &corev1.Pod{}, kind{plural: "pods", short: "po", namespaced: true, all: true, subs: []string{"status", "eviction", "portforward"}})
	c.add(v1, &corev1.ConfigMap{}, kind{plural: "configmaps", short: "cm", namespaced: true})
	c.add(v1, &corev1.Secret{}, kind{plural: "secrets", namespaced: true})
	c.add(v1, &corev1.Service{}, kind{plural: "services", short: "svc", namespaced: true, all: true, subs: status})
	c.add(v1, &corev1.ServiceAccount{}, kind{plural: "serviceaccounts", short: "sa", namespaced: true})
	c.add(v1, &corev1.Event{}, kind{plural: "events", short: "ev", namespaced: true})
	c.add(v1, &corev1.PersistentVolumeClaim{}, kind{plural: "persistentvolumeclaims", short: "pvc", namespaced: true, subs: status})
	c.add(v1, &corev1.PersistentVolume{}, kind{plural: "persistentvolumes", short: "pv", subs: status})
	c.add(v1, &corev1.ReplicationController{}, kind{plural: "replicationcontrollers", short: "rc", namespaced: true, all: true, subs: scaled})

	apps := appsv1.SchemeGroupVersion
	c.add(apps, &appsv1.Deployment{}, kind{plural: "deployments", short: "deploy", namespaced: true, all: true, subs: scaled})
	c.add(apps, &appsv1.DaemonSet{}, kind{plural: "daemonsets", short: "ds", namespaced: true, all: true, subs: status})
	c.add(apps, &appsv1.ReplicaSet{}, kind{plural: "replicasets", short: "rs", namespaced: true, all: true, subs: scaled})
	c.add(apps, &appsv1.StatefulSet{}, kind{plural: "statefulsets", short: "sts", namespaced: true, all: true, subs: scaled})

	policy := policyv1.SchemeGroupVersion
	c.add(policy, &policyv1.PodDisruptionBudget{}, kind{plural: "poddisruptionbudgets", short: "pdb", namespaced: true, subs: status})

	c.scheme.AddKnownTypes(policy, &policyv1.Eviction{})

	c.add(coordinationv1.SchemeGroupVersion, &coordinationv1.Lease{}, kind{plural: "leases", namespaced: true})

	rbac := rbacv1.SchemeGroupVersion
	c.add(rbac, &rbacv1.ClusterRole{}, kind{plural: "clusterroles"})
	c.add(rbac, &rbacv1.ClusterRoleBinding{}, kind{plural: "clusterrolebindings"})
	c.add(rbac, &rbacv1.Role{}, kind{plural: "roles", namespaced: true})
	c.add(rbac, &rbacv1.RoleBinding{}, kind{plural: "rolebindings", namespaced: true})

	batch := batchv1.SchemeGroupVersion
	c.add(batch, &batchv1.Job{}, kind{plural: "jobs", namespaced: true, all: true, subs: status})
	c.add(batch, &batchv1.CronJob{}, kind{plural: "cronjobs", short: "cj", namespaced: true, all: true, subs: status})

	networking := networkingv1.SchemeGroupVersion
	c.add(networking, &networkingv1.NetworkPolicy{}, kind{plural: "networkpolicies", short: "netpol", namespaced: true})
	c.add(networking, &networkingv1.Ingress{}, kind{plural: "ingresses", short: "ing", namespaced: true, subs: status})

	c.add(schedulingv1.SchemeGroupVersion, &schedulingv1.PriorityClass{}, kind{plural: "priorityclasses", short: "pc"})

	admission := admissionv1.SchemeGroupVersion
	c.add(admission, &admissionv1.ValidatingWebhookConfiguration{}, kind{plural: "validatingwebhookconfigurations"})
	c.add(admission, &admissionv1.MutatingWebhookConfiguration{}, kind{plural: "mutatingwebhookconfigurations"})

	c.put(&kind{GroupVersionKind: definitionVersion.WithKind(definitionKind), plural: "customresourcedefinitions", short: "crd", subs: status})

	storage := storagev1.SchemeGroupVersion
	c.add(storage, &storagev1.StorageClass{}, kind{plural: "storageclasses", short: "sc"})
	c.add(storage, &storagev1.VolumeAttachment{}, kind{plural: "volumeattachments", subs: status})
	c.add(storage, &storagev1.CSINode{}, kind{plural: "csinodes"})
	c.add(storage, &storagev1.CSIDriver{}, kind{plural: "csidrivers"})
	c.add(storage, &storagev1.CSIStorageCapacity{}, kind{plural: "csistoragecapacities", namespaced: true})

	devices := resourcev1.SchemeGroupVersion
	c.add(devices, &resourcev1.DeviceClass{}, kind{plural: "deviceclasses"})
	c.add(devices, &resourcev1.ResourceSlice{}, kind{plural: "resourceslices"})
	c.add(devices, &resourcev1.ResourceClaim{}, kind{plural: "resourceclaims", namespaced: true, subs: status})
	return c
}

// add puts in k as the kind of typed in gv.
func (c *catalog) add(gv schema.GroupVersion, typed runtime.Object, k kind) {
	c.scheme.AddKnownTypes(gv, typed)
	metav1.AddToGroupVersion(c.scheme, gv) // DeleteOptions are of every group
	gvks, _, err := c.scheme.ObjectKinds(typed)
	if err != nil {
		panic(err) // it was added one line above
	}
	k.GroupVersionKind, k.typed = gvks[0], typed
	c.put(&k)
}

func (c *catalog) put(k *kind) {
	c.kinds = append(c.kinds, k)
	c.byGVK[k.GroupVersionKind] = k
	c.byPath[k.root()+"/"+k.plural] = k
}
