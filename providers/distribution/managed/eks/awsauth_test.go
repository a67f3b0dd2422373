package eks_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/managed/eks"
	"fairlead.dev/providers/workload"
	"fairlead.dev/test/lab/kube"
)

// An authWorld is an API server with the ConfigMap aws-auth, and Git.
type authWorld struct {
	*testing.T
	d      eks.Distribution
	admin  kubernetes.Interface
	server *kube.Server
	access providers.Access
	c      fleet.Cluster
}

func newAuthWorld(t *testing.T) *authWorld {
	t.Helper()
	server := kube.Start(t)
	client := workload.New(workload.Options{})
	t.Cleanup(client.Close)
	w := &authWorld{T: t, d: eks.New(client), admin: kubernetes.NewForConfigOrDie(server.Config), server: server}
	w.as(server.Config)
	w.git("")
	w.remove()
	t.Cleanup(w.remove)
	return w
}

// as has the agent be somebody else.
func (w *authWorld) as(config *rest.Config) {
	w.Helper()
	data, err := os.ReadFile(w.server.WriteKubeconfig(config))
	if err != nil {
		w.Fatal(err)
	}
	w.access = providers.Access{Cluster: fleet.Key{Namespace: "prod", Name: "eu-1"}, Kubeconfig: fleet.NewSecret(data)}
}

func (w *authWorld) remove() {
	err := w.admin.CoreV1().ConfigMaps("kube-system").Delete(context.Background(), "aws-auth", metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		w.Fatal(err)
	}
}

// git writes iamAuthenticatorConfig into Git.
func (w *authWorld) git(text string) {
	w.Helper()
	spec := "{}"
	if text != "" {
		data, err := yaml.YAMLToJSON([]byte("iamAuthenticatorConfig: " + text))
		if err != nil {
			w.Fatal(err)
		}
		spec = string(data)
	}
	w.c = fleet.Cluster{Key: w.access.Cluster, Hosted: &fleet.HostedControlPlane{Version: "v1.34.0", Object: fleet.Object{Spec: json.RawMessage(spec)}}}
}

// has has somebody write the ConfigMap.
func (w *authWorld) has(data map[string]string) {
	w.Helper()
	w.remove()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "aws-auth", Labels: map[string]string{"of": "people"}}, Data: data}
	if _, err := w.admin.CoreV1().ConfigMaps("kube-system").Create(w.Context(), m, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
}

func (w *authWorld) is() *corev1.ConfigMap {
	w.Helper()
	m, err := w.admin.CoreV1().ConfigMaps("kube-system").Get(w.Context(), "aws-auth", metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return m
}

func (w *authWorld) steps() []fleet.Step {
	w.Helper()
	var seen fleet.Workload
	if err := w.d.Observe(w.Context(), w.access, &seen); err != nil || seen.Version == "" {
		w.Fatalf("observed %+v, %v", seen, err)
	}
	return w.d.Steps(&w.c, &seen)
}

// follow takes the step that is due, and wants none after it.
func (w *authWorld) follow(reason string) {
	w.Helper()
	steps := w.steps()
	if len(steps) != 1 || steps[0].Reason != reason || steps[0].When != fleet.AfterControlPlane {
		w.Fatalf("to do is %+v, want %q", steps, reason)
	}
	if err := w.d.Apply(w.Context(), w.access, &w.c, fleet.Endpoint{}, steps[0].Name); err != nil {
		w.Fatal(err)
	}
	if left := w.steps(); len(left) > 0 {
		w.Errorf("after that, to do is %+v", left)
	}
}

// want compares the lists of the ConfigMap.
func (w *authWorld) want(roles, users string) {
	w.Helper()
	m := w.is()
	for key, text := range map[string]string{"mapRoles": roles, "mapUsers": users} {
		var want, got any
		if yaml.Unmarshal([]byte(text), &want) != nil || yaml.Unmarshal([]byte(m.Data[key]), &got) != nil {
			w.Fatalf("%s is %q", key, m.Data[key])
		}
		if d := cmp.Diff(want, got); d != "" {
			w.Errorf("%s, -want +got:\n%s", key, d)
		}
	}
}

// The rows of EKS, of people and of Git.
const (
	ofNodes  = "{rolearn: 'arn:aws:iam::1:role/nodes', username: 'system:node:{{EC2PrivateDNSName}}', groups: ['system:bootstrappers', 'system:nodes']}"
	ofPeople = "{rolearn: 'arn:aws:iam::1:role/people', username: people, groups: [view], comment: of people}"
	ofGit    = "{rolearn: 'arn:aws:iam::1:role/ops', username: 'ops:{{SessionName}}', groups: ['system:masters']}"
	alice    = "{userarn: 'arn:aws:iam::1:user/alice', username: alice, groups: [view, edit]}"
)

// TestAWSAuth: rows of Git are merged into those of EKS and of people, which stay as they are. What leaves Git goes, and what
// somebody changes or removes of Git's rows comes back.
func TestAWSAuth(t *testing.T) {
	w := newAuthWorld(t)
	if steps := w.steps(); len(steps) > 0 {
		t.Errorf("without rows in Git, to do is %+v", steps)
	}
	w.git("{mapRoles: [" + ofGit + "]}") // there is no ConfigMap yet
	w.follow("rows of ConfigMap kube-system/aws-auth differ: + mapRoles arn:aws:iam::1:role/ops")
	w.want("["+ofGit+"]", "")

	text := "# written by hand\n- " + ofNodes + "\n- " + ofPeople + "\n"
	w.has(map[string]string{"mapRoles": text, "mapAccounts": "- '1'\n"})
	w.git("")
	if steps := w.steps(); len(steps) > 0 {
		t.Errorf("without rows in Git, to do is %+v", steps)
	}
	w.git("{mapRoles: [" + ofGit + "], mapUsers: [" + alice + "]}")
	w.follow("rows of ConfigMap kube-system/aws-auth differ: + mapRoles arn:aws:iam::1:role/ops, + mapUsers arn:aws:iam::1:user/alice")
	w.want("["+ofNodes+", "+ofPeople+", "+ofGit+"]", "["+strings.Replace(alice, "view, edit", "edit, view", 1)+"]")
	if m := w.is(); m.Data["mapAccounts"] != "- '1'\n" || m.Labels["of"] != "people" {
		t.Errorf("what else is in the ConfigMap changed: %+v", m)
	}

	roles := w.is().Data["mapRoles"] // somebody edits a row of Git, and another one is written beside it
	if _, err := w.admin.CoreV1().ConfigMaps("kube-system").Patch(t.Context(), "aws-auth", "application/merge-patch+json", patchOf(t, map[string]any{
		"mapRoles": strings.Replace(roles, "system:masters", "view", 1), "mapUsers": nil,
	}), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	w.follow("rows of ConfigMap kube-system/aws-auth differ: + mapRoles arn:aws:iam::1:role/ops, + mapUsers arn:aws:iam::1:user/alice, − mapRoles arn:aws:iam::1:role/ops")
	w.want("["+ofNodes+", "+ofPeople+", "+ofGit+"]", "["+strings.Replace(alice, "view, edit", "edit, view", 1)+"]")

	w.git("{mapRoles: [" + strings.Replace(ofGit, "system:masters", "edit", 1) + "]}")
	w.follow("rows of ConfigMap kube-system/aws-auth differ: + mapRoles arn:aws:iam::1:role/ops, − mapRoles arn:aws:iam::1:role/ops, − mapUsers arn:aws:iam::1:user/alice")
	w.want("["+ofNodes+", "+ofPeople+", "+strings.Replace(ofGit, "system:masters", "edit", 1)+"]", "")

	w.git("")
	w.follow("rows of ConfigMap kube-system/aws-auth differ: − mapRoles arn:aws:iam::1:role/ops")
	w.want("["+ofNodes+", "+ofPeople+"]", "")
	if m := w.is(); len(m.Annotations) > 0 {
		t.Errorf("its annotations are %v", m.Annotations)
	}
	users := "# written by hand\n- " + alice + "\n"
	w.has(map[string]string{"mapUsers": users})
	w.git("{mapRoles: [" + ofGit + "]}")
	w.follow("rows of ConfigMap kube-system/aws-auth differ: + mapRoles arn:aws:iam::1:role/ops")
	if is := w.is().Data["mapUsers"]; is != users {
		t.Errorf("a list in which nothing changes is %q", is)
	}
}

func patchOf(t *testing.T, data map[string]any) []byte {
	t.Helper()
	out, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestAWSAuthOfOthers: a row of somebody else with an ARN of Git is left alone: if it says the same, it is good, and otherwise that is
// told. The rest goes on.
func TestAWSAuthOfOthers(t *testing.T) {
	w := newAuthWorld(t)
	w.has(map[string]string{"mapRoles": "- " + ofPeople + "\n"})
	w.git("{mapRoles: [{rolearn: 'arn:aws:iam::1:role/people', username: people, groups: [view]}]}")
	if steps := w.steps(); len(steps) > 0 {
		t.Errorf("to do is %+v", steps)
	}
	w.git("{mapRoles: [{rolearn: 'arn:aws:iam::1:role/people', username: people, groups: [view]}, " + ofGit + "]}")
	w.follow("rows of ConfigMap kube-system/aws-auth differ: + mapRoles arn:aws:iam::1:role/ops")
	w.git("") // and that of somebody else stays
	w.follow("rows of ConfigMap kube-system/aws-auth differ: − mapRoles arn:aws:iam::1:role/ops")
	w.want("["+ofPeople+"]", "")
	w.git("{mapRoles: [{rolearn: 'arn:aws:iam::1:role/people', username: people, groups: [edit]}, " + ofGit + "]}")
	steps := w.steps()
	if len(steps) != 2 || steps[0].When != fleet.Never || !strings.Contains(steps[0].Reason, "has another row of mapRoles arn:aws:iam::1:role/people, which somebody else wrote (make both equal, or delete the row in the cluster)") {
		t.Fatalf("to do is %+v", steps)
	}
	if err := w.d.Apply(t.Context(), w.access, &w.c, fleet.Endpoint{}, steps[1].Name); err != nil {
		t.Fatal(err)
	}
	w.want("["+ofPeople+", "+ofGit+"]", "")
	w.git("") // and that of somebody else stays
	w.follow("rows of ConfigMap kube-system/aws-auth differ: − mapRoles arn:aws:iam::1:role/ops")
	w.want("["+ofPeople+"]", "")
}

// TestAWSAuthUnreadable: what cannot be read is told if Git has rows, and nothing is written.
func TestAWSAuthUnreadable(t *testing.T) {
	w := newAuthWorld(t)
	for name, data := range map[string]map[string]string{
		"mapRoles of ConfigMap kube-system/aws-auth cannot be read": {"mapRoles": "- rolearn: [\n"},
		"mapUsers of ConfigMap kube-system/aws-auth cannot be read": {"mapUsers": "userarn: a\n"},
	} {
		w.has(data)
		w.git("")
		if steps := w.steps(); len(steps) > 0 {
			t.Errorf("without rows in Git, to do is %+v", steps)
		}
		w.git("{mapRoles: [" + ofGit + "]}")
		if steps := w.steps(); len(steps) != 1 || steps[0].When != fleet.Never || !strings.Contains(steps[0].Reason, name) {
			t.Errorf("to do is %+v, want %q", steps, name)
		}
		if err := w.d.Apply(t.Context(), w.access, &w.c, fleet.Endpoint{}, "MergeAWSAuth"); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("to apply: %v", err)
		}
	}
	w.as(w.server.User("visitor", "visitors"))
	if steps := w.steps(); len(steps) != 1 || steps[0].When != fleet.Never || !strings.Contains(steps[0].Reason, `cannot get resource "configmaps"`) || !strings.Contains(steps[0].Reason, "AmazonEKSClusterAdminPolicy") {
		t.Errorf("to do is %+v", steps)
	}
}

// TestAWSAuthByTwo: what somebody writes between the look and the change, or between reading and writing, is not lost.
func TestAWSAuthByTwo(t *testing.T) {
	w := newAuthWorld(t)
	w.has(map[string]string{"mapRoles": "- " + ofNodes + "\n"})
	w.git("{mapRoles: [" + ofGit + "]}")
	if len(w.steps()) != 1 {
		t.Fatal("nothing is to do")
	}
	w.has(map[string]string{"mapRoles": "- " + ofNodes + "\n- " + ofPeople + "\n"})
	if err := w.d.Apply(t.Context(), w.access, &w.c, fleet.Endpoint{}, "MergeAWSAuth"); err != nil {
		t.Fatal(err)
	}
	w.want("["+ofNodes+", "+ofPeople+", "+ofGit+"]", "")
	w.has(map[string]string{"mapRoles": "- " + ofNodes + "\n"})
	once := sync.OnceFunc(func() { w.has(map[string]string{"mapRoles": "- " + ofNodes + "\n- " + ofPeople + "\n"}) })
	w.before(http.MethodPatch, once)
	if err := w.d.Apply(t.Context(), w.access, &w.c, fleet.Endpoint{}, "MergeAWSAuth"); fleet.KindOf(err) != fleet.Conflict {
		t.Errorf("with another one in between: %v", err)
	}
	w.want("["+ofNodes+", "+ofPeople+"]", "")
	if err := w.d.Apply(t.Context(), w.access, &w.c, fleet.Endpoint{}, "AnotherStep"); fleet.KindOf(err) != fleet.Invalid {
		t.Errorf("a step of others: %v", err)
	}
}

// before has the agent reach the API server by way of a proxy that calls do before each request of a method.
func (w *authWorld) before(method string, do func()) {
	w.Helper()
	transport, err := rest.TransportFor(w.server.Config)
	if err != nil {
		w.Fatal(err)
	}
	to, err := url.Parse(w.server.Config.Host)
	if err != nil {
		w.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		if r.In.Method == method {
			do()
		}
	}}
	server := httptest.NewTLSServer(proxy)
	w.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	w.as(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}})
}

// TestStepsInside: what is to do inside a cluster follows from what was noted there, without a request.
func TestStepsInside(t *testing.T) {
	const ops = `{"list":"mapRoles","arn":"arn:aws:iam::1:role/ops","username":"ops:{{SessionName}}","groups":["system:masters"]}`
	for name, tc := range map[string]struct{ git, noted, want string }{
		"nothing":         {"{}", `{}`, ""},
		"a new row":       {"{iamAuthenticatorConfig: {mapRoles: [" + ofGit + "]}}", `{}`, "MergeAWSAuth AfterControlPlane + mapRoles arn:aws:iam::1:role/ops"},
		"it is there":     {"{iamAuthenticatorConfig: {mapRoles: [" + ofGit + "]}}", `{"rows":[` + ops + `],"ours":["mapRoles arn:aws:iam::1:role/ops"]}`, ""},
		"it is theirs":    {"{iamAuthenticatorConfig: {mapRoles: [" + ofGit + "]}}", `{"rows":[` + ops + `]}`, ""},
		"another is":      {"{iamAuthenticatorConfig: {mapRoles: [" + strings.Replace(ofGit, "masters", "a", 1) + "]}}", `{"rows":[` + ops + `]}`, "MergeAWSAuth Never has another row of mapRoles arn:aws:iam::1:role/ops"},
		"it left Git":     {"{}", `{"rows":[` + ops + `],"ours":["mapRoles arn:aws:iam::1:role/ops"]}`, "MergeAWSAuth AfterControlPlane − mapRoles arn:aws:iam::1:role/ops"},
		"theirs stays":    {"{}", `{"rows":[` + ops + `]}`, ""},
		"from role":       {"{iamAuthenticatorConfig: {mapUsers: [" + alice + "]}}", `{"rows":[` + ops + `],"ours":["mapRoles arn:aws:iam::1:role/ops"]}`, "MergeAWSAuth AfterControlPlane + mapUsers arn:aws:iam::1:user/alice, − mapRoles arn:aws:iam::1:role/ops"},
		"unread":          {"{iamAuthenticatorConfig: {mapRoles: [" + ofGit + "]}}", `!why`, "MergeAWSAuth Never cannot follow iamAuthenticatorConfig: why"},
		"unread, no rows": {"{}", `!why`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			spec, err := yaml.YAMLToJSON([]byte(tc.git))
			if err != nil {
				t.Fatal(err)
			}
			c := &fleet.Cluster{Hosted: &fleet.HostedControlPlane{Object: fleet.Object{Spec: spec}}}
			d := eks.Distribution{}
			if steps := d.Steps(c, &fleet.Workload{}); len(steps) > 0 {
				t.Errorf("without a look, to do is %+v", steps)
			}
			steps := d.Steps(c, &fleet.Workload{Applied: &fleet.Applied{Marks: map[string]string{"MergeAWSAuth": tc.noted}}})
			if tc.want == "" && len(steps) == 0 {
				return
			}
			if len(steps) != 1 || !strings.HasPrefix(tc.want, steps[0].Name+" "+string(steps[0].When)+" ") || !strings.Contains(steps[0].Reason, strings.SplitN(tc.want, " ", 3)[2]) {
				t.Errorf("to do is %+v, want %q", steps, tc.want)
			}
		})
	}
}
