package kubeapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
)

// A column is one that kubectl get shows beside NAME and AGE.
type column struct {
	name string
	wide bool // only with -o wide
	cell func(u *unstructured.Unstructured) any
}

func wantsTable(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "as=Table")
}

// table returns items the way kubectl get prints them.
func (s *Server) table(q request, items []item, revision string) *metav1.Table {
	columns := columnsOf(q.kind)
	t := &metav1.Table{
		TypeMeta:          metav1.TypeMeta{Kind: "Table", APIVersion: "meta.k8s.io/v1"},
		ListMeta:          metav1.ListMeta{ResourceVersion: revision},
		ColumnDefinitions: []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name"}},
		Rows:              []metav1.TableRow{},
	}
	define := func(c column) {
		d := metav1.TableColumnDefinition{Name: c.name, Type: "string"}
		if c.wide {
			d.Priority = 1
		}
		t.ColumnDefinitions = append(t.ColumnDefinitions, d)
	}
	age := column{name: "Age", cell: func(u *unstructured.Unstructured) any {
		return duration.HumanDuration(s.o.Now().Sub(u.GetCreationTimestamp().Time).Round(time.Second))
	}}
	columns = append(columns, age)
	for _, c := range columns {
		define(c)
	}
	for _, it := range items {
		u := decode(it.raw)
		cells := []any{u.GetName()}
		for _, c := range columns {
			cells = append(cells, c.cell(u))
		}
		t.Rows = append(t.Rows, metav1.TableRow{Cells: cells, Object: rowObject(q, u, it.raw)})
	}
	return t
}

// rowObject returns what stands behind a row: its metadata, unless the client
// asks for more or less.
func rowObject(q request, u *unstructured.Unstructured, raw []byte) runtime.RawExtension {
	switch q.query.Get("includeObject") {
	case "None":
		return runtime.RawExtension{}
	case "Object":
		return runtime.RawExtension{Raw: raw}
	}
	partial, err := json.Marshal(map[string]any{
		"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": u.Object["metadata"],
	})
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return runtime.RawExtension{Raw: partial}
}

func columnsOf(k *kind) []column {
	switch k.Kind {
	case "Node":
		return []column{
			{name: "Status", cell: nodeStatus},
			{name: "Roles", cell: nodeRoles},
			{name: "Version", cell: field("status", "nodeInfo", "kubeletVersion")},
			{name: "Internal-IP", wide: true, cell: internalIP},
		}
	case "Pod":
		return []column{
			{name: "Ready", cell: podReady},
			{name: "Status", cell: podStatus},
			{name: "Restarts", cell: func(*unstructured.Unstructured) any { return "0" }},
			{name: "IP", wide: true, cell: field("status", "podIP")},
			{name: "Node", wide: true, cell: field("spec", "nodeName")},
		}
	case "Namespace":
		return []column{{name: "Status", cell: field("status", "phase")}}
	case "Secret":
		return []column{{name: "Type", cell: field("type")}, {name: "Data", cell: size("data")}}
	case "ConfigMap":
		return []column{{name: "Data", cell: size("data")}}
	case "PodDisruptionBudget":
		return []column{
			{name: "Min Available", cell: field("spec", "minAvailable")},
			{name: "Max Unavailable", cell: field("spec", "maxUnavailable")},
		}
	case "Deployment", "ReplicaSet", "StatefulSet":
		return []column{
			{name: "Desired", cell: field("spec", "replicas")},
			{name: "Ready", cell: field("status", "readyReplicas")},
		}
	case "Event":
		return []column{
			{name: "Type", cell: field("type")},
			{name: "Reason", cell: field("reason")},
			{name: "Message", cell: field("message")},
		}
	}
	return nil
}

func field(path ...string) func(*unstructured.Unstructured) any {
	return func(u *unstructured.Unstructured) any {
		v, ok, _ := unstructured.NestedFieldNoCopy(u.Object, path...)
		if !ok {
			return "<none>"
		}
		return fmt.Sprint(v)
	}
}

func size(name string) func(*unstructured.Unstructured) any {
	return func(u *unstructured.Unstructured) any {
		m, _, _ := unstructured.NestedMap(u.Object, name)
		return fmt.Sprint(len(m))
	}
}

func nodeStatus(u *unstructured.Unstructured) any {
	status := "NotReady"
	if hasCondition(u, "Ready", "True") {
		status = "Ready"
	}
	if v, _, _ := unstructured.NestedBool(u.Object, "spec", "unschedulable"); v {
		status += ",SchedulingDisabled"
	}
	return status
}

func nodeRoles(u *unstructured.Unstructured) any {
	var roles []string
	for l := range u.GetLabels() {
		if role, ok := strings.CutPrefix(l, "node-role.kubernetes.io/"); ok && role != "" {
			roles = append(roles, role)
		}
	}
	if len(roles) == 0 {
		return "<none>"
	}
	slices.Sort(roles)
	return strings.Join(roles, ",")
}

func internalIP(u *unstructured.Unstructured) any {
	addresses, _, _ := unstructured.NestedSlice(u.Object, "status", "addresses")
	for _, a := range addresses {
		if m, ok := a.(map[string]any); ok && m["type"] == string(corev1.NodeInternalIP) {
			return m["address"]
		}
	}
	return "<none>"
}

func podReady(u *unstructured.Unstructured) any {
	containers, _, _ := unstructured.NestedSlice(u.Object, "spec", "containers")
	n := 0
	if hasCondition(u, "Ready", "True") {
		n = len(containers)
	}
	return fmt.Sprintf("%d/%d", n, len(containers))
}

func podStatus(u *unstructured.Unstructured) any {
	if u.GetDeletionTimestamp() != nil {
		return "Terminating"
	}
	return field("status", "phase")(u)
}
