package eks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/providers"
	"fairlead.dev/providers/workload"
)

// mergeAuth is the step that merges what Git says of users and roles of IAM into the ConfigMap aws-auth.
const mergeAuth = "MergeAWSAuth"

// authAnnotation names the rows of the ConfigMap that were written for Git: the others are of EKS and of people.
const authAnnotation = "fairlead.dev/rows"

const (
	authPath = "/api/v1/namespaces/kube-system/configmaps"
	authName = "aws-auth"
)

// A list is one of the ConfigMap: its key, and the field of a row that has the ARN.
// Source: EKS user guide, "Grant IAM users access to Kubernetes with a ConfigMap".
type list struct{ key, arn string }

func lists() []list { return []list{{"mapRoles", "rolearn"}, {"mapUsers", "userarn"}} }

// A row lets in a user or a role of IAM.
type row struct {
	List     string   `json:"list"` // "mapRoles"
	ARN      string   `json:"arn"`
	Username string   `json:"username"`
	Groups   []string `json:"groups,omitempty"` // sorted
}

// id names a row for people, and in the annotation.
func (r *row) id() string { return r.List + " " + r.ARN }

func (r *row) is(o *row) bool {
	return r.id() == o.id() && r.Username == o.Username && slices.Equal(r.Groups, o.Groups)
}

// An auth is what the ConfigMap says.
type auth struct {
	Rows []row    `json:"rows,omitempty"`
	Ours []string `json:"ours,omitempty"` // ids of rows that were written for Git, sorted
}

// wantedRows returns those that Git names.
func wantedRows(c *fleet.Cluster) ([]row, error) {
	var spec struct {
		Auth struct {
			MapRoles, MapUsers []map[string]any
		} `json:"iamAuthenticatorConfig"`
	}
	if c.Hosted == nil || !bytes.Contains(c.Hosted.Object.Spec, []byte(`"iamAuthenticatorConfig"`)) {
		return nil, nil
	}
	if err := json.Unmarshal(c.Hosted.Object.Spec, &spec); err != nil {
		return nil, err
	}
	var out []row
	for i, rows := range [][]map[string]any{spec.Auth.MapRoles, spec.Auth.MapUsers} {
		for _, r := range rows {
			out = append(out, rowOf(lists()[i], r))
		}
	}
	return out, nil
}

// rowOf reads a row.
func rowOf(l list, in map[string]any) row {
	out := row{List: l.key}
	out.ARN, _ = in[l.arn].(string)
	out.Username, _ = in["username"].(string)
	groups, _ := in["groups"].([]any)
	for _, g := range groups {
		out.Groups = append(out.Groups, fmt.Sprint(g))
	}
	slices.Sort(out.Groups)
	return out
}

// readAuth reads the ConfigMap, of which raw has the rows by their lists.
func readAuth(m *corev1.ConfigMap) (a auth, raw map[string][]map[string]any, err error) {
	raw = make(map[string][]map[string]any)
	for _, l := range lists() {
		var rows []map[string]any
		if err := documents.Unmarshal([]byte(m.Data[l.key]), &rows, documents.AddonLimits()); err != nil && m.Data[l.key] != "" {
			return a, nil, fmt.Errorf("%s of ConfigMap kube-system/%s cannot be read: %w (correct it in the cluster)", l.key, authName, err)
		}
		raw[l.key] = rows
		for _, r := range rows {
			a.Rows = append(a.Rows, rowOf(l, r))
		}
	}
	if text := m.Annotations[authAnnotation]; text != "" {
		if err := json.Unmarshal([]byte(text), &a.Ours); err != nil {
			return a, nil, fmt.Errorf("annotation %s of ConfigMap kube-system/%s cannot be read: %w (remove it: then rows that Git named before stay)", authAnnotation, authName, err)
		}
	}
	return a, raw, nil
}

// An authDiff says in what the ConfigMap differs from Git.
type authDiff struct {
	add    []row // that are not there
	remove []row // that were written for Git, and that Git does not name, or names otherwise
	theirs []row // of others, with the ARN of one that Git names otherwise
	ours   []string
}

// compare says in what a differs from want. A row of others that is as Git says is good, and stays theirs.
func (a *auth) compare(want []row) authDiff {
	var d authDiff
	owned := func(r *row) bool { return slices.Contains(a.Ours, r.id()) }
	for i := range want {
		w := &want[i]
		there := false
		for j := range a.Rows {
			switch r := &a.Rows[j]; {
			case r.id() != w.id():
			case r.is(w):
				if there = true; owned(r) {
					d.ours = append(d.ours, w.id())
				}
			case !owned(r):
				d.theirs = append(d.theirs, *r)
				there = true
			}
		}
		if !there {
			d.add, d.ours = append(d.add, *w), append(d.ours, w.id())
		}
	}
	for i := range a.Rows {
		r := &a.Rows[i]
		if owned(r) && !slices.ContainsFunc(want, func(w row) bool { return w.is(r) }) {
			d.remove = append(d.remove, *r)
		}
	}
	slices.Sort(d.ours)
	d.ours = slices.Compact(d.ours)
	return d
}

func (d *authDiff) String() string {
	var out []string
	for i := range d.add {
		out = append(out, "+ "+d.add[i].id())
	}
	for i := range d.remove {
		out = append(out, "− "+d.remove[i].id())
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ", ")
}

// Observe implements providers.Distribution.
func (d Distribution) Observe(ctx context.Context, a providers.Access, w *fleet.Workload) error {
	if err := d.Distribution.Observe(ctx, a, w); err != nil {
		return err
	}
	want, err := componentsOf(a.Hosted)
	if err != nil {
		return err
	}
	marks := make(map[string]string)
	err = d.clusters.Call(ctx, a, "look at what EKS installs", func(ctx context.Context, n *workload.Conn) (err error) {
		if marks[mergeAuth], err = lookAtAuth(ctx, n); err != nil {
			return err
		}
		return lookAtComponents(ctx, n, &want, marks)
	})
	if err == nil {
		w.Applied = &fleet.Applied{Marks: marks}
	}
	return err
}

// lookAtAuth returns what is noted of the ConfigMap.
func lookAtAuth(ctx context.Context, n *workload.Conn) (string, error) {
	var m corev1.ConfigMap
	switch err := n.Get(ctx, authPath+"/"+authName, &m); {
	case apierrors.IsForbidden(err):
		return unreadable + err.Error() + " (an access entry of the agent with AmazonEKSClusterAdminPolicy lets it)", nil
	case err != nil && !apierrors.IsNotFound(err):
		return "", err
	}
	is, _, err := readAuth(&m)
	if err != nil {
		return unreadable + err.Error(), nil //nolint:nilerr // the step reports it
	}
	text, err := json.Marshal(is)
	return string(text), err
}

// unreadable begins what is noted of a ConfigMap that cannot be read.
const unreadable = "!"

// Steps implements providers.Distribution.
func (Distribution) Steps(c *fleet.Cluster, w *fleet.Workload) []fleet.Step {
	if w.Applied == nil {
		return nil
	}
	return append(authSteps(c, w.Applied.Marks[mergeAuth]), componentSteps(w.Applied.Marks)...)
}

// authSteps returns the steps that are due, by what was noted of the ConfigMap.
func authSteps(c *fleet.Cluster, text string) []fleet.Step {
	never := func(format string, args ...any) []fleet.Step {
		return []fleet.Step{{Name: mergeAuth, When: fleet.Never, Reason: fmt.Sprintf("cannot follow iamAuthenticatorConfig: "+format, args...)}}
	}
	want, err := wantedRows(c)
	if err != nil {
		return never("%v", err)
	}
	if why, bad := strings.CutPrefix(text, unreadable); bad {
		if len(want) == 0 {
			return nil
		}
		return never("%s", why)
	}
	var is auth
	if err := json.Unmarshal([]byte(text), &is); err != nil {
		return never("%v", err)
	}
	d := is.compare(want)
	var out []fleet.Step
	for i := range d.theirs {
		out = append(out, never("ConfigMap kube-system/%s has another row of %s, which somebody else wrote (make both equal, or delete the row in the cluster)", authName, d.theirs[i].id())...)
	}
	if len(d.add)+len(d.remove) > 0 {
		out = append(out, fleet.Step{Name: mergeAuth, When: fleet.AfterControlPlane, Reason: "rows of ConfigMap kube-system/" + authName + " differ: " + d.String()})
	}
	return out
}

// Apply implements providers.Distribution.
func (d Distribution) Apply(ctx context.Context, a providers.Access, c *fleet.Cluster, _ fleet.Endpoint, name string) error {
	switch name {
	case mergeAuth:
		return d.mergeAuth(ctx, a, c)
	case removeKubeProxy, removeVPCCNI:
		return d.remove(ctx, a, name)
	case syncVPCCNI:
		want, err := componentsOf(c.Hosted)
		if err != nil {
			return err
		}
		return d.syncEnvironment(ctx, a, want.VPCCNI.Env)
	}
	return fleet.Errorf(fleet.Invalid, "take step "+name, "EKS has no such step")
}

// mergeAuth writes the rows of Git into the ConfigMap, if that did not change since it was read. Rows of others do not change.
func (d Distribution) mergeAuth(ctx context.Context, a providers.Access, c *fleet.Cluster) error {
	op := "merge rows into ConfigMap kube-system/" + authName
	want, err := wantedRows(c)
	if err != nil {
		return fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	return d.clusters.Call(ctx, a, op, func(ctx context.Context, n *workload.Conn) error {
		var m corev1.ConfigMap
		err := n.Get(ctx, authPath+"/"+authName, &m)
		isNew := apierrors.IsNotFound(err)
		if err != nil && !isNew {
			return err
		}
		data, annotation, err := merge(&m, want)
		if err != nil {
			return err
		}
		if isNew {
			m = corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: authName, Namespace: "kube-system", Annotations: map[string]string{authAnnotation: annotation}}, Data: make(map[string]string)}
			for k, v := range data {
				if text, ok := v.(string); ok {
					m.Data[k] = text
				}
			}
			return n.Create(ctx, authPath, &m)
		}
		return n.MergePatch(ctx, authPath+"/"+authName, map[string]any{
			"metadata": map[string]any{"resourceVersion": m.ResourceVersion, "annotations": map[string]any{authAnnotation: orNothing(annotation)}}, "data": data,
		})
	})
}

// merge returns the lists of m that change, as a merge patch has them, and the annotation.
func merge(m *corev1.ConfigMap, want []row) (data map[string]any, annotation string, err error) {
	is, raw, err := readAuth(m)
	if err != nil {
		return nil, "", err
	}
	d := is.compare(want)
	data = make(map[string]any)
	for _, l := range lists() {
		rows := slices.DeleteFunc(raw[l.key], func(in map[string]any) bool {
			r := rowOf(l, in)
			return slices.ContainsFunc(d.remove, func(o row) bool { return o.is(&r) })
		})
		for _, r := range d.add {
			if r.List == l.key {
				rows = append(rows, map[string]any{l.arn: r.ARN, "username": r.Username, "groups": r.Groups})
			}
		}
		var text []byte
		if len(rows) > 0 {
			if text, err = yaml.Marshal(rows); err != nil {
				return nil, "", err
			}
		}
		if string(text) != m.Data[l.key] && slices.ContainsFunc(slices.Concat(d.add, d.remove), func(r row) bool { return r.List == l.key }) {
			data[l.key] = orNothing(string(text))
		}
	}
	if len(d.ours) > 0 {
		text, err := json.Marshal(d.ours)
		return data, string(text), err
	}
	return data, "", nil
}

// orNothing returns what a merge patch has for a text: an empty one is removed.
func orNothing(text string) any {
	if text == "" {
		return nil
	}
	return text
}
