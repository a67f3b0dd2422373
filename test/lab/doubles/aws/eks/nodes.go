package eks

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/providers/infrastructure/aws/awstest"
	"fairlead.dev/test/lab/kube"
)

// nodes has instances join clusters, and removes what is left of those that are gone.
type nodes struct {
	cloud  *awstest.Cloud
	log    func(string)
	joined map[string]*member // by the id of the instance
	said   map[string]string  // why an instance did not join, by its id
}

// A member is an instance that is a Node.
type member struct {
	cluster, name string
	ready         bool // it has lost the taint of its birth
}

func newNodes(c *awstest.Cloud, log func(string)) *nodes {
	return &nodes{cloud: c, log: log, joined: make(map[string]*member), said: make(map[string]string)}
}

// follow has each instance that runs join its cluster.
func (n *nodes) follow(ctx context.Context, planes map[string]*kube.Running) {
	there := make(map[string]bool)
	for _, i := range n.cloud.Things(awstest.Instances) {
		there[i.ID] = i.Attr["state"] != "terminated"
		if i.Attr["state"] != "running" || n.joined[i.ID] != nil {
			continue
		}
		m, err := n.join(ctx, &i)
		if err == nil {
			n.joined[i.ID] = m
			n.log(i.ID + " is Node " + m.name + " of " + m.cluster)
		} else if n.said[i.ID] != err.Error() {
			n.said[i.ID] = err.Error()
			n.log(i.ID + " does not join: " + err.Error())
		}
	}
	for id, m := range n.joined {
		k := planes[m.cluster]
		if k == nil {
			continue
		}
		err := n.control(ctx, k, m, there[id])
		if err != nil {
			n.log("Node " + m.name + ": " + err.Error())
		} else if !there[id] {
			delete(n.joined, id)
		}
	}
}

// control does what controllers of Kubernetes and of AWS do: a Node whose instance is gone goes, and one that is ready loses
// the taint that it got at its birth.
func (n *nodes) control(ctx context.Context, k *kube.Running, m *member, there bool) error {
	pair, err := tls.X509KeyPair(k.Config.CertData, k.Config.KeyData)
	if err != nil {
		return err
	}
	to := server{host: k.Config.Host, ca: k.Config.CAData, as: []tls.Certificate{pair}}
	path := "/api/v1/nodes/" + m.name
	if !there {
		err := to.call(ctx, http.MethodDelete, path, "", nil, nil)
		if failed, ok := errors.AsType[refusal](err); ok && failed.status == http.StatusNotFound {
			return nil
		}
		return err
	}
	if m.ready {
		return nil
	}
	var node corev1.Node
	if err := to.call(ctx, http.MethodGet, path, "", nil, &node); err != nil {
		return err
	}
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady })
	node.APIVersion, node.Kind = "v1", "Node"
	err = to.call(ctx, http.MethodPut, path, "application/json", node, nil) // of what was read
	m.ready = err == nil
	return err
}

// metadata returns what the metadata service tells an instance.
func (n *nodes) metadata(i *awstest.Thing, path string) string {
	ask := func(method, path, token string) string {
		r := httptest.NewRequest(method, "/latest/"+path, http.NoBody)
		r.RemoteAddr = i.Attr["privateIpAddress"] + ":1"
		r.Header.Set("X-aws-ec2-metadata-token", token)
		w := httptest.NewRecorder()
		if n.cloud.ServeMetadata(w, r); w.Code != http.StatusOK {
			return ""
		}
		return w.Body.String()
	}
	return ask(http.MethodGet, path, ask(http.MethodPut, "api/token", ""))
}

// join does what nodeadm and a kubelet do.
func (n *nodes) join(ctx context.Context, i *awstest.Thing) (*member, error) {
	config, version, err := n.config(i)
	if err != nil {
		return nil, err
	}
	k := &config.Spec.Cluster
	role := n.metadata(i, "meta-data/iam/security-credentials/")
	var credentials struct{ AccessKeyID string }
	if err := json.Unmarshal([]byte(n.metadata(i, "meta-data/iam/security-credentials/"+role)), &credentials); err != nil {
		return nil, fmt.Errorf("it has no role: %w", err)
	}
	token, err := n.cloud.Token(credentials.AccessKeyID, k.Name, time.Now())
	if err != nil {
		return nil, err
	}
	name := n.metadata(i, "meta-data/local-hostname")
	node := corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64", corev1.LabelInstanceTypeStable: n.metadata(i, "meta-data/instance-type"),
		}},
		Spec: corev1.NodeSpec{ProviderID: "aws:///" + n.metadata(i, "meta-data/placement/availability-zone") + "/" + n.metadata(i, "meta-data/instance-id")},
	}
	if err := register(&node, config); err != nil {
		return nil, err
	}
	ca, err := base64.StdEncoding.DecodeString(k.CertificateAuthority)
	if err != nil {
		return nil, err
	}
	to := server{host: k.APIServerEndpoint, ca: ca, token: token}
	if err := to.call(ctx, http.MethodPost, "/api/v1/nodes", "application/json", node, nil); err != nil {
		return nil, err
	}
	now := metav1.Now()
	status := map[string]any{"status": corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: now, LastTransitionTime: now}},
		Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: n.metadata(i, "meta-data/local-ipv4")}, {Type: corev1.NodeHostName, Address: name}},
		Capacity:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourcePods: resource.MustParse("29")},
		NodeInfo:   corev1.NodeSystemInfo{MachineID: i.ID, SystemUUID: i.ID, BootID: i.ID, KubeletVersion: version, OperatingSystem: "linux", Architecture: "amd64"},
	}}
	if err := to.call(ctx, http.MethodPatch, "/api/v1/nodes/"+name+"/status", "application/merge-patch+json", status, nil); err != nil {
		return nil, err
	}
	return &member{cluster: k.Name, name: name}, nil
}

// register adds the labels and taints with which a kubelet registers its Node.
func register(node *corev1.Node, config *awstest.NodeConfig) error {
	for _, flag := range config.Spec.Kubelet.Flags {
		if labels, ok := strings.CutPrefix(flag, "--node-labels="); ok {
			for label := range strings.SplitSeq(labels, ",") {
				key, value, _ := strings.Cut(label, "=")
				node.Labels[key] = value
			}
		} else {
			return fmt.Errorf("what stands for the kubelet does not know the flag %s", flag)
		}
	}
	taints, err := json.Marshal(config.Spec.Kubelet.Config["registerWithTaints"])
	if err != nil {
		return err
	}
	return json.Unmarshal(taints, &node.Spec.Taints)
}

// config returns what nodeadm reads, and the version of the kubelet in the image. EKS writes it for instances of its node
// groups.
func (n *nodes) config(i *awstest.Thing) (config *awstest.NodeConfig, version string, err error) {
	group := i.Tags["eks:nodegroup-name"]
	if group == "" {
		_, minor, _ := strings.Cut(i.Attr["imageId"], "/optimized-ami/")
		minor, _, _ = strings.Cut(minor, "/")
		config, err = awstest.ReadNodeConfig([]byte(n.metadata(i, "user-data")))
		return config, kubeletOf(minor), err
	}
	config = new(awstest.NodeConfig)
	k := &config.Spec.Cluster
	for _, t := range n.cloud.Things(awstest.ManagedClusters) {
		if t.Attr["name"] == i.Tags["eks:cluster-name"] {
			k.Name, k.APIServerEndpoint, k.CertificateAuthority = t.Attr["name"], t.Attr["endpoint"], base64.StdEncoding.EncodeToString([]byte(t.Attr["ca"]))
		}
	}
	for _, g := range n.cloud.Things(awstest.Nodegroups) {
		if g.Attr["cluster"] != k.Name || g.Attr["name"] != group {
			continue
		}
		var labels map[string]string
		var taints []struct{ Key, Value, Effect string }
		if err := errors.Join(json.Unmarshal([]byte(g.Attr["labels"]), &labels), json.Unmarshal([]byte(g.Attr["taints"]), &taints)); err != nil {
			return nil, "", err
		}
		flag := []string{"eks.amazonaws.com/nodegroup=" + group}
		for key, value := range labels {
			flag = append(flag, key+"="+value)
		}
		var with []corev1.Taint
		for _, t := range taints {
			effects := map[string]corev1.TaintEffect{"NO_SCHEDULE": corev1.TaintEffectNoSchedule, "NO_EXECUTE": corev1.TaintEffectNoExecute, "PREFER_NO_SCHEDULE": corev1.TaintEffectPreferNoSchedule}
			with = append(with, corev1.Taint{Key: t.Key, Value: t.Value, Effect: effects[t.Effect]})
		}
		config.Spec.Kubelet.Flags = []string{"--node-labels=" + strings.Join(flag, ",")}
		config.Spec.Kubelet.Config = map[string]any{"registerWithTaints": with}
		return config, kubeletOf(g.Attr["version"]), nil
	}
	return nil, "", fmt.Errorf("there is no node group %s", group)
}

// kubeletOf returns the version of the kubelet in an image of EKS for a minor version.
func kubeletOf(minor string) string { return "v" + minor + ".2-eks-113cf36" }
