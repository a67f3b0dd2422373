package workload

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
)

// The inventory of a resource set is a ConfigMap in kube-system of the cluster
// that it was applied to, so that the next agent knows what is there.
const (
	inventoryLabel = "fairlead.dev/inventory"
	inventoryKind  = "ClusterResourceSet"
	inventoryKey   = "inventory.yaml"
)

// inventoryName returns the name of the ConfigMap of a set. What is too long for
// one ends in a hash.
func inventoryName(set string) string {
	name := "fairlead-resource-set-" + set
	const longest = 253
	if len(name) > longest {
		sum := sha256.Sum256([]byte(set))
		hash := "-" + hex.EncodeToString(sum[:8])
		name = strings.TrimRight(name[:longest-len(hash)], "-.") + hash
	}
	return name
}

func inventoryRef(set string) ref {
	return ref{"configmaps", metav1.NamespaceSystem, inventoryName(set)}
}

// inventories returns what was applied of resource sets, by name. An inventory
// that somebody damaged counts as missing: applying makes it again.
func (n *conn) inventories(ctx context.Context) ([]fleet.ResourceSetState, error) {
	var list corev1.ConfigMapList
	err := n.list(ctx, ref{"configmaps", metav1.NamespaceSystem, ""}, metav1.ListOptions{
		ResourceVersion: cached, LabelSelector: inventoryLabel + "=" + inventoryKind,
	}, &list)
	if err != nil {
		return nil, err
	}
	var out []fleet.ResourceSetState
	for i := range list.Items {
		if s := readInventory(&list.Items[i]); s.Name != "" && list.Items[i].Name == inventoryName(s.Name) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b fleet.ResourceSetState) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func readInventory(m *corev1.ConfigMap) fleet.ResourceSetState {
	var s fleet.ResourceSetState
	if err := documents.Unmarshal([]byte(m.Data[inventoryKey]), &s, documents.AddonLimits()); err != nil {
		return fleet.ResourceSetState{}
	}
	return s
}

// An inventory is that of one set as it was read, to be written over just that.
type inventory struct {
	fleet.ResourceSetState
	*conn
	version string // empty: it is not there yet
	written string // what it says there
}

// read reads the inventory of a set, which may be new.
func (i *inventory) read(ctx context.Context, set string) error {
	var m corev1.ConfigMap
	err := i.get(ctx, inventoryRef(set), &m)
	switch {
	case err == nil:
		i.ResourceSetState, i.version, i.written = readInventory(&m), m.ResourceVersion, m.Data[inventoryKey]
	case !apierrors.IsNotFound(err):
		return err
	}
	i.Name = set
	return nil
}

// write writes i, unless somebody else did since it was read, which is an error
// of a conflict.
func (i *inventory) write(ctx context.Context) error {
	slices.SortFunc(i.Objects, fleet.ObjectRef.Compare)
	i.Objects = slices.Compact(i.Objects)
	slices.SortFunc(i.Failures, func(a, b fleet.ResourceFailure) int { return a.Object.Compare(b.Object) })
	text, err := yaml.Marshal(i.ResourceSetState)
	if err != nil {
		return err
	}
	if i.version != "" && string(text) == i.written {
		return nil
	}
	m := &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Name: inventoryName(i.Name), Namespace: metav1.NamespaceSystem, ResourceVersion: i.version,
			Labels: map[string]string{inventoryLabel: inventoryKind, "app.kubernetes.io/managed-by": manager},
		},
		Data: map[string]string{inventoryKey: string(text)},
	}
	at, o := inventoryRef(i.Name), metav1.UpdateOptions{FieldManager: manager}
	var got corev1.ConfigMap
	if i.version == "" {
		at.name = ""
		err = at.request(i.rest.Post()).VersionedParams(&o, scheme.ParameterCodec).Body(m).Do(ctx).Into(&got)
	} else {
		err = at.request(i.rest.Put()).VersionedParams(&o, scheme.ParameterCodec).Body(m).Do(ctx).Into(&got)
	}
	if err != nil {
		return err
	}
	i.version, i.written = got.ResourceVersion, string(text)
	return nil
}

// remove removes i if no one else wrote it since.
func (i *inventory) remove(ctx context.Context) error {
	if i.version == "" {
		return nil
	}
	o := &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &i.version}}
	err := inventoryRef(i.Name).request(i.rest.Delete()).Body(o).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
