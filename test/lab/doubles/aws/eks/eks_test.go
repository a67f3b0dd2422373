package eks_test

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/aws/awstest"
	"fairlead.dev/test/lab/kube"
	"fairlead.dev/test/lab/kube/binaries"
)

// The ARNs of the agent and of a policy of EKS.
const (
	agentARN = "arn:aws:iam::123456789012:user/fairlead"
	policies = "arn:aws:eks::aws:cluster-access-policy/"
)

// let returns an access entry with policies for a user or role.
func let(principal string, names ...string) string {
	var all []string
	for _, name := range names {
		all = append(all, "{policyARN: "+policies+name+", accessScope: {type: cluster}}")
	}
	return "{principalARN: " + principal + ", accessPolicies: [" + strings.Join(all, ", ") + "]}"
}

const ops = "arn:aws:iam::123456789012:role/ops"

// TestEKS: from a push to a cluster of EKS with an API server that is real, whose Nodes are those of a node group and of
// machines that joined by nodeadm. Its addon gives a group a right. People see them with the kubeconfig that Fairlead gives them, and others do not. No token
// is stored. The cluster goes, and nothing is left.
func TestEKS(t *testing.T) {
	w := newWorld(t)
	before := w.cloud.Contents()
	w.spec.Version, w.spec.Group, w.spec.Own = kube.Version(), 2, 1
	w.spec.Access, w.spec.Entries = "authenticationMode: api_and_config_map", let(ops, "AmazonEKSAdminViewPolicy")+", {principalARN: 'arn:aws:iam::123456789012:role/guards', kubernetesGroups: [watchmen]}"
	w.push("a cluster")
	w.await("a cluster of 2+1", w.complete)
	got, err := w.nodes("ops")
	want := []string{
		`v1.36.2-eks-113cf36 fast worker=true []`,
		`v1.36.2-eks-113cf36 web worker=false ["web=yes:NoSchedule"]`, `v1.36.2-eks-113cf36 web worker=false ["web=yes:NoSchedule"]`,
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("Nodes, %v, -want +got:\n%s", err, d)
	}
	if got, err := w.nodes("dev"); err == nil || !strings.Contains(err.Error(), "Unauthorized") {
		t.Errorf("a role without an access entry sees %q, %v", got, err)
	}
	guards := w.client("guards", "alice").CoreV1().Secrets("default")
	if _, err := guards.List(t.Context(), metav1.ListOptions{}); err != nil { // by the addon
		t.Errorf("a group of an access entry, to which an addon gives a right: %v", err)
	}
	if _, err := guards.Get(t.Context(), "a", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("another right: %v", err)
	}
	w.instancesAreNodes()
	w.spec.Group, w.spec.Own = 1, 2
	w.push("other numbers")
	w.await("a cluster of 1+2", w.complete)
	if got, err := w.nodes("ops"); err != nil || len(got) != 3 || strings.Contains(got[1], "web") {
		t.Errorf("Nodes %q, %v", got, err)
	}
	w.noToken()
	w.spec.Deleted = true
	w.push("no cluster")
	w.await("its end", func(r fleet.Report) bool { return r.Phase == fleet.PhaseDeleted })
	if after := w.cloud.Contents(); !slices.Equal(after, before) {
		t.Errorf("left: %q", after)
	}
	w.wait("the end of its API server", func() bool { return w.said("is served no more") })
}

// TestEKSUpgrade: the control plane goes to the next minor version, and Nodes follow.
func TestEKSUpgrade(t *testing.T) {
	if _, err := binaries.Path("kube-apiserver-1.35"); err != nil {
		t.Skip(err)
	}
	w := newWorld(t)
	w.spec.Version, w.spec.Group, w.spec.Own = "1.35", 1, 1
	w.spec.Access, w.spec.Entries = "authenticationMode: api", let(ops, "AmazonEKSAdminViewPolicy")
	w.push("a cluster")
	w.await("a cluster of 1+1", w.complete)
	if got, err := w.nodes("ops"); err != nil || len(got) != 2 || !strings.HasPrefix(got[0], "v1.35.") || !strings.HasPrefix(got[1], "v1.35.") {
		t.Errorf("Nodes %q, %v", got, err)
	}
	w.spec.Version = "1.36"
	w.push("the next minor")
	w.await("the next minor", w.complete)
	if got, err := w.nodes("ops"); err != nil || len(got) != 2 || !strings.HasPrefix(got[0], "v1.36.") || !strings.HasPrefix(got[1], "v1.36.") {
		t.Errorf("Nodes %q, %v", got, err)
	}
}

// TestEKSAccess: what the access entry of the agent does not allow, the cluster reports, and Git gives it back.
func TestEKSAccess(t *testing.T) {
	w := newWorld(t)
	w.spec.Version, w.spec.Group, w.spec.Own = kube.Version(), 1, 1
	w.spec.Access, w.spec.Entries = "authenticationMode: api, bootstrapClusterCreatorAdminPermissions: false", let(ops, "AmazonEKSAdminViewPolicy")
	w.push("a cluster that does not let in the agent")
	w.await("a report that the agent is not let in", func(r fleet.Report) bool {
		text := fmt.Sprint(r.Waiting)
		return strings.Contains(text, "Unauthorized") && strings.Contains(text, "add one with the policy AmazonEKSClusterAdminPolicy")
	})
	w.spec.Entries = let(agentARN, "AmazonEKSAdminViewPolicy")
	w.push("an agent that may look")
	w.await("a report that the agent may not change Nodes", func(r fleet.Report) bool {
		return strings.Contains(r.Failure, `User "`+agentARN+`" cannot patch resource "nodes"`)
	})
	w.spec.Entries = let(agentARN, "AmazonEKSAdminViewPolicy", "AmazonEKSClusterAdminPolicy")
	w.push("an agent that may do all")
	w.await("a cluster of one", w.complete)
}

// TestEKSConfigMap: by default no access entry counts. The maker of a cluster is let in, and nodes of its node groups, and who has a
// row of aws-auth in Git, as long as it is there.
func TestEKSConfigMap(t *testing.T) {
	w := newWorld(t)
	w.spec.Version, w.spec.Group = kube.Version(), 1
	w.push("a cluster")
	w.await("a cluster of one", w.complete)
	if got, err := w.nodes("ops"); err == nil || !strings.Contains(err.Error(), "Unauthorized") {
		t.Errorf("somebody else sees %q, %v", got, err)
	}
	w.spec.Auth = `mapRoles: [{rolearn: "arn:aws:iam::123456789012:role/ops", username: "ops:{{SessionName}}", groups: [watchmen, "system:masters"]}]`
	w.push("a row of aws-auth")
	w.wait("ops are let in", func() bool {
		got, err := w.nodes("ops")
		return err == nil && len(got) == 1
	})
	w.spec.Auth = ""
	w.push("no row")
	w.wait("ops are let in no more", func() bool {
		_, err := w.nodes("ops")
		return err != nil && strings.Contains(err.Error(), "Unauthorized")
	})
	w.await("a cluster of one", w.complete)
}

// TestEKSRole: the tokens of an agent that has a role are of that role, which made the cluster.
func TestEKSRole(t *testing.T) {
	w := newWorld(t)
	w.spec.Version, w.spec.Group, w.spec.Identity = kube.Version(), 1, "kind: AWSClusterRoleIdentity, name: fleet"
	w.spec.Access = "authenticationMode: api"
	w.push("a cluster")
	w.await("a cluster of one", w.complete)
	if got, err := w.nodes("fleet"); err != nil || len(got) != 1 {
		t.Errorf("somebody with that role sees %q, %v", got, err)
	}
	w.noToken()
}

// TestEKSLaunchTemplate: a node group with a launch template and an image of people has its machines replaced when Git changes it. The launch
// template goes after the node group, with a pool that leaves Git and with a cluster.
func TestEKSLaunchTemplate(t *testing.T) {
	w := newWorld(t)
	before := w.cloud.Contents()
	w.spec.Version, w.spec.Group, w.spec.Own, w.spec.Access = kube.Version(), 2, 1, "authenticationMode: api_and_config_map"
	w.spec.Template = "{instanceType: m6i.large, ami: {id: ami-00000000000000002}, rootVolume: {size: 30}}"
	group := func() (version string, machines []string) {
		for _, g := range w.cloud.Things(awstest.Nodegroups) {
			version = g.Attr["templateVersion"]
		}
		for _, i := range w.cloud.Things(awstest.Instances) {
			if i.Tags["eks:nodegroup-name"] != "" && i.Attr["state"] == "running" {
				machines = append(machines, i.ID)
			}
		}
		return version, machines
	}
	w.push("a cluster")
	w.await("a cluster of 2+1", w.complete)
	version, machines := group()
	if version != "1" || len(machines) != 2 {
		t.Errorf("%d machines, and version %q of the launch template", len(machines), version)
	}
	w.spec.Template = strings.Replace(w.spec.Template, "30", "40", 1)
	w.push("a larger disk")
	w.await("other machines", func(r fleet.Report) bool {
		version, now := group()
		return version == "2" && len(now) == 2 && w.complete(r)
	})
	if _, now := group(); slices.ContainsFunc(now, func(id string) bool { return slices.Contains(machines, id) }) {
		t.Errorf("the machines %v are of those before, %v", now, machines)
	}
	w.spec.Ungrouped, w.spec.Group = true, 0
	w.push("no node group")
	w.await("its end", func(r fleet.Report) bool {
		groups, templates := w.cloud.Things(awstest.Nodegroups), w.cloud.Things(awstest.LaunchTemplates)
		if len(groups) > 0 && len(templates) == 0 {
			t.Fatal("the launch template went before its node group")
		}
		return len(groups)+len(templates) == 0 && w.complete(r)
	})
	w.spec.Ungrouped, w.spec.Group = false, 1
	w.push("a node group of one")
	w.await("a cluster of 1+1", w.complete)
	w.spec.Deleted = true
	w.push("no cluster")
	w.await("the end of the cluster", func(r fleet.Report) bool { return r.Phase == fleet.PhaseDeleted })
	if after := w.cloud.Contents(); !slices.Equal(after, before) {
		t.Errorf("left: %q", after)
	}
}

// instancesAreNodes checks that an instance may do to its own Node what a kubelet may, and nothing else.
func (w *world) instancesAreNodes() {
	w.Helper()
	var own, other string // the names of Nodes
	var client kubernetes.Interface
	for _, i := range w.cloud.Things(awstest.Instances) {
		if name := w.cloud.HostName(i.Attr["privateIpAddress"]); i.Tags[fleet.TagMachine] != "" {
			own, client = name, w.client("own-nodes", i.ID)
		} else {
			other = name
		}
	}
	label := func(node, key string) error {
		_, err := client.CoreV1().Nodes().Patch(w.Context(), node, types.MergePatchType, []byte(`{"metadata": {"labels": {"`+key+`": "a"}}}`), metav1.PatchOptions{})
		return err
	}
	if err := label(own, "example.com/a"); err != nil {
		w.Errorf("its own Node: %v", err)
	}
	if err := label(own, "node-restriction.kubernetes.io/a"); !apierrors.IsForbidden(err) {
		w.Errorf("a label that is kept from kubelets: %v", err)
	}
	if err := label(other, "example.com/a"); !apierrors.IsForbidden(err) {
		w.Errorf("another Node: %v", err)
	}
}

// noToken checks that no token is in the status, in secrets and in the log.
func (w *world) noToken() {
	w.Helper()
	const prefix = "k8s-aws-v1"
	_, tree, err := w.status.Read(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	files := 0
	err = fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(tree, path)
		if files++; strings.Contains(string(data), prefix) {
			w.Errorf("%s of the status branch has a token", path)
		}
		return err
	})
	if err != nil || files == 0 {
		w.Errorf("read %d files of the status branch, %v", files, err)
	}
	for _, name := range []fleet.SecretName{fleet.Kubeconfig, fleet.ClusterCA} {
		d, err := w.runtime.Secrets.Get(w.Context(), key(), name)
		if err != nil {
			w.Error(err)
		}
		for k, v := range d {
			if strings.Contains(string(v.Reveal()), prefix) {
				w.Errorf("%s of secret %s has a token", k, name)
			}
		}
	}
	if log := w.logged(); strings.Contains(log, prefix) || !strings.Contains(log, "eu-1") {
		w.Errorf("the log is %.200s", log)
	}
}
