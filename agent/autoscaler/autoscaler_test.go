package autoscaler_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/agent/autoscaler"
	"fairlead.dev/agent/autoscaler/externalgrpc"
	"fairlead.dev/fleet"
)

// authority signs certificates of a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func issue(t *testing.T, by *authority, uris ...string) (*authority, tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	for _, text := range uris {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		c.URIs = append(c.URIs, u)
	}
	parent, signer := c, key
	if by != nil {
		parent, signer = by.cert, by.key
	} else {
		c.IsCA, c.ExtKeyUsage = true, nil
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{parsed, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
	return a, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// cluster is a Fleet of one cluster.
type cluster struct {
	mu    sync.Mutex
	c     fleet.Scalable
	wrote []fleet.Scale
	err   error // of every answer
}

func (c *cluster) Scalable(k fleet.Key) (fleet.Scalable, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil && k != c.c.Cluster.Key {
		return fleet.Scalable{}, fleet.Errorf(fleet.NotFound, "scale", "no cluster %s", k)
	}
	return c.c, c.err
}

func (c *cluster) Scale(_ context.Context, k fleet.Key, change func(fleet.Scalable) (fleet.Scale, error)) error {
	now, err := c.Scalable(k)
	if err != nil {
		return err
	}
	s, err := change(now)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrote = append(c.wrote, s)
	c.c.Cluster = c.c.Cluster.WithScales([]fleet.Scale{s})
	return nil
}

func worker(name string, phase fleet.MachinePhase, node string) fleet.MachineReport {
	return fleet.MachineReport{
		Machine: fleet.Machine{Name: fleet.MachineName(name), ProviderID: fleet.ProviderID("openstack:///" + name), Pool: "md-0", Role: fleet.RoleWorker, State: fleet.MachineRunning},
		Phase:   phase, Node: node,
	}
}

// registered is what a kubelet is told by the bootstrap configuration.
func registered(_ *fleet.Cluster, p fleet.Pool) (map[string]string, []corev1.Taint) {
	if p.Name != "md-0" {
		return nil, nil
	}
	return map[string]string{"rack": "r1"}, nil
}

// prod has a pool md-0 that is scaled and three machines of it, one that Git
// numbers, and a control plane.
func prod() *cluster {
	md0 := fleet.Pool{
		Name: "md-0", Role: fleet.RoleWorker, Strategy: fleet.OnDelete, Replicas: 4, FailureDomain: "az1", NodeLabels: map[string]string{"node-role.kubernetes.io/web": ""},
		Taints: []clusterv1.MachineTaint{{Key: "web", Effect: corev1.TaintEffectNoSchedule, Propagation: clusterv1.MachineTaintPropagationAlways}},
		Scaling: &fleet.Scaling{
			Min: 2, Max: 6, Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi")},
			Labels: map[string]string{"disk": "ssd", "kubernetes.io/arch": "arm64"},
		},
	}
	away := worker("m3", fleet.MachinePhaseRunning, "n3")
	away.NodeID = "openstack://region/m3"
	failed := worker("m4", fleet.MachinePhaseFailed, "")
	failed.Machine.State, failed.Machine.Message = fleet.MachineFailed, "No valid host"
	other := worker("o1", fleet.MachinePhaseRunning, "on1")
	other.Machine.Pool = "md-1"
	master := worker("cp1", fleet.MachinePhaseRunning, "cpn1")
	master.Machine.Role, master.Machine.Pool = fleet.RoleControlPlane, "cp"
	return &cluster{c: fleet.Scalable{
		Cluster: &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "eu-1"}, Workers: []fleet.Pool{
			md0,
			{Name: "md-1", Role: fleet.RoleWorker, Replicas: 1},
			{Name: "md-2", Role: fleet.RoleWorker, Replicas: 1, Scaling: &fleet.Scaling{}},
		}},
		Machines: []fleet.MachineReport{
			worker("m1", fleet.MachinePhaseRunning, "n1"), worker("m2", fleet.MachinePhaseProvisioned, ""), away, failed,
			worker("m5", fleet.MachinePhaseDeleting, "n5"), other, master,
		},
	}}
}

// serve returns what connects a client with the certificate of uris to a server of f.
func serve(t *testing.T, f autoscaler.Fleet) func(by *authority, uris ...string) externalgrpc.CloudProviderClient {
	t.Helper()
	ca, _ := issue(t, nil)
	_, cert := issue(t, ca)
	dir := t.TempDir()
	files := autoscaler.Files{Certificate: filepath.Join(dir, "crt"), Key: filepath.Join(dir, "key"), ClientCA: filepath.Join(dir, "ca")}
	der, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		files.Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]}),
		files.Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
		files.ClientCA:    ca.pem,
	} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := autoscaler.New(f, files, registered, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return func(by *authority, uris ...string) externalgrpc.CloudProviderClient {
		if by == nil {
			by = ca
		}
		_, client := issue(t, by, uris...)
		roots := x509.NewCertPool()
		roots.AddCert(ca.cert)
		conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
			ServerName: "127.0.0.1", RootCAs: roots, Certificates: []tls.Certificate{client},
		})))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return externalgrpc.NewCloudProviderClient(conn)
	}
}

func fails(t *testing.T, what string, err error, code codes.Code, text string) {
	t.Helper()
	if status.Code(err) != code || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: %v; want %s with %q", what, err, code, text)
	}
}

// TestWhoMayScale: a certificate names one cluster, and nobody scales another.
func TestWhoMayScale(t *testing.T) {
	connect := serve(t, prod())
	stranger, _ := issue(t, nil)
	call := func(c externalgrpc.CloudProviderClient) error {
		_, err := c.NodeGroups(t.Context(), &externalgrpc.NodeGroupsRequest{})
		return err
	}
	if err := call(connect(nil, "spiffe://x/y", "fairlead://prod/eu-1")); err != nil {
		t.Errorf("the cluster's own: %v", err)
	}
	fails(t, "another cluster", call(connect(nil, "fairlead://prod/eu-2")), codes.NotFound, "no cluster prod/eu-2")
	fails(t, "no cluster", call(connect(nil)), codes.PermissionDenied, "must name one cluster")
	fails(t, "two clusters", call(connect(nil, "fairlead://prod/eu-1", "fairlead://prod/eu-2")), codes.PermissionDenied, "it has 2")
	fails(t, "not a cluster", call(connect(nil, "fairlead://prod")), codes.PermissionDenied, "names no cluster")
	fails(t, "signed by somebody else", call(connect(stranger, "fairlead://prod/eu-1")), codes.Unavailable, "")
}

// TestGroups tells of pools that Git leaves to be scaled, and of their machines.
func TestGroups(t *testing.T) {
	f := prod()
	c := serve(t, f)(nil, "fairlead://prod/eu-1")
	groups, err := c.NodeGroups(t.Context(), &externalgrpc.NodeGroupsRequest{})
	if err != nil || len(groups.NodeGroups) != 1 || groups.NodeGroups[0].Id != "md-0" || groups.NodeGroups[0].MinSize != 2 || groups.NodeGroups[0].MaxSize != 6 {
		t.Errorf("groups %v, %v", groups, err)
	}
	for node, want := range map[[2]string]string{
		{"n1", "openstack:///m1"}:                     "md-0",
		{"n3", "openstack://region/m3"}:               "md-0",
		{"openstack:///m2", "openstack:///m2"}:        "md-0", // not registered: the autoscaler calls it by its id
		{"on1", "openstack:///o1"}:                    "",
		{"cpn1", "openstack:///cp1"}:                  "",
		{"foreign", "openstack:///foreign"}:           "",
		{"n1", ""}:                                    "md-0",
		{"foreign", ""}:                               "",
		{"n3-by-another-name", "openstack:///m3"}:     "md-0",
		{"n1-by-another-name", "openstack:///m1-not"}: "",
	} {
		got, err := c.NodeGroupForNode(t.Context(), &externalgrpc.NodeGroupForNodeRequest{Node: &externalgrpc.ExternalGrpcNode{Name: node[0], ProviderID: node[1]}})
		if err != nil || got.GetNodeGroup().GetId() != want {
			t.Errorf("node %v is of %q, %v; want %q", node, got.GetNodeGroup().GetId(), err, want)
		}
	}
	nodes, err := c.NodeGroupNodes(t.Context(), &externalgrpc.NodeGroupNodesRequest{Id: "md-0"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, i := range nodes.Instances {
		got[i.Id] = i.Status.InstanceState.String() + " " + i.Status.ErrorInfo.GetErrorMessage()
	}
	if diff := cmp.Diff(map[string]string{
		"openstack:///m1": "instanceRunning ", "openstack:///m2": "instanceCreating ", "openstack://region/m3": "instanceRunning ",
		"openstack:///m4": "instanceCreating No valid host", "openstack:///m5": "instanceDeleting ",
	}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	_, err = c.NodeGroupNodes(t.Context(), &externalgrpc.NodeGroupNodesRequest{Id: "md-1"})
	fails(t, "a pool that Git numbers", err, codes.NotFound, `no pool "md-1" that an autoscaler may scale`)
	if _, err := c.GPULabel(t.Context(), &externalgrpc.GPULabelRequest{}); err != nil {
		t.Error(err)
	}
	_, err = c.PricingNodePrice(t.Context(), &externalgrpc.PricingNodePriceRequest{})
	fails(t, "prices", err, codes.Unimplemented, "")

	deleted := *f.c.Cluster
	deleted.Delete = true
	f.c.Cluster = &deleted
	if groups, err := c.NodeGroups(t.Context(), &externalgrpc.NodeGroupsRequest{}); err != nil || len(groups.NodeGroups) > 0 {
		t.Errorf("a cluster that is being deleted has groups %v, %v", groups, err)
	}
	f.err = fleet.Errorf(fleet.Unavailable, "scale", "not looked at yet")
	_, err = c.Refresh(t.Context(), &externalgrpc.RefreshRequest{})
	fails(t, "nothing is known", err, codes.Unavailable, "not looked at yet")
}

// TestResize takes decisions, and refuses those that make no sense.
func TestResize(t *testing.T) {
	f := prod()
	c := serve(t, f)(nil, "fairlead://prod/eu-1")
	more := func(n int32) error {
		_, err := c.NodeGroupIncreaseSize(t.Context(), &externalgrpc.NodeGroupIncreaseSizeRequest{Id: "md-0", Delta: n})
		return err
	}
	fewer := func(n int32) error {
		_, err := c.NodeGroupDecreaseTargetSize(t.Context(), &externalgrpc.NodeGroupDecreaseTargetSizeRequest{Id: "md-0", Delta: n})
		return err
	}
	drop := func(ids ...string) error {
		in := &externalgrpc.NodeGroupDeleteNodesRequest{Id: "md-0"}
		for _, id := range ids {
			in.Nodes = append(in.Nodes, &externalgrpc.ExternalGrpcNode{Name: id, ProviderID: id})
		}
		_, err := c.NodeGroupDeleteNodes(t.Context(), in)
		return err
	}
	size := func() int {
		got, err := c.NodeGroupTargetSize(t.Context(), &externalgrpc.NodeGroupTargetSizeRequest{Id: "md-0"})
		if err != nil {
			t.Error(err)
		}
		return int(got.GetTargetSize())
	}
	wrote := func(n int, reason string, remove ...fleet.ProviderID) {
		t.Helper()
		want := fleet.Scale{Cluster: fleet.Key{Namespace: "prod", Name: "eu-1"}, Pool: "md-0", Replicas: n, Remove: remove, Reason: reason}
		if len(f.wrote) == 0 {
			t.Fatal("nothing was written")
		}
		if diff := cmp.Diff(want, f.wrote[len(f.wrote)-1]); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if size() != n {
			t.Errorf("the size is %d, want %d", size(), n)
		}
	}
	if err := more(2); err != nil {
		t.Fatal(err)
	}
	wrote(6, "cluster-autoscaler asked for 6 instead of 4")
	fails(t, "too many", more(1), codes.InvalidArgument, "at most 6 are allowed")
	fails(t, "none more", more(0), codes.InvalidArgument, "above 0")

	if err := fewer(-1); err != nil {
		t.Fatal(err)
	}
	wrote(5, "cluster-autoscaler waits for 5 instead of 6 no more")
	fails(t, "machines that are there", fewer(-2), codes.InvalidArgument, "has 4 machines: to have 3, name those to delete")
	fails(t, "none less", fewer(1), codes.InvalidArgument, "below 0")

	if err := drop("openstack://region/m3", "openstack:///m4", "openstack:///m4"); err != nil {
		t.Fatal(err)
	}
	wrote(3, "cluster-autoscaler removes 2 of 5", "openstack:///m3", "openstack:///m4")
	for _, again := range []string{"openstack://region/m3", "openstack:///m5"} { // asked for before, and leaving anyway
		if err := drop(again); err != nil {
			t.Fatal(err)
		}
		wrote(3, "cluster-autoscaler removes 2 of 5", "openstack:///m3", "openstack:///m4")
	}
	fails(t, "a node of another pool", drop("openstack:///o1"), codes.InvalidArgument, "is on no machine of pool md-0")
	fails(t, "too few", drop("openstack:///m1", "openstack:///m2"), codes.InvalidArgument, "at least 2 are needed")

	if err := more(1); err != nil {
		t.Fatal(err)
	}
	wrote(4, "cluster-autoscaler asked for 4 instead of 3", "openstack:///m3", "openstack:///m4")
	f.c.Machines = f.c.Machines[:3]
	if err := more(1); err != nil {
		t.Fatal(err)
	}
	wrote(5, "cluster-autoscaler asked for 5 instead of 4", "openstack:///m3") // m4 is gone

	paused := *f.c.Cluster
	paused.Suspension = &fleet.Suspension{Reason: "moving"}
	f.c.Cluster = &paused
	fails(t, "suspended", more(1), codes.FailedPrecondition, "the cluster is suspended: moving")
}

// TestTemplate says what a new node is like, for a pool that has none.
func TestTemplate(t *testing.T) {
	f := prod()
	c := serve(t, f)(nil, "fairlead://prod/eu-1")
	in := &externalgrpc.NodeGroupTemplateNodeInfoRequest{Id: "md-0"}
	got, err := c.NodeGroupTemplateNodeInfo(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"older": got.NodeInfo, "newer": got.NodeBytes} {
		n := &corev1.Node{}
		if err := n.Unmarshal(b); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{
			"kubernetes.io/hostname": "md-0-template", "kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64", "topology.kubernetes.io/zone": "az1",
			"node-role.kubernetes.io/web": "", "disk": "ssd", "rack": "r1",
		}, n.Labels); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		if n.Status.Allocatable.Cpu().String() != "4" || n.Status.Capacity.Pods().String() != "110" || len(n.Spec.Taints) != 1 || n.Spec.Taints[0].Key != "web" {
			t.Errorf("%s: %v, %v", name, n.Status.Allocatable, n.Spec.Taints)
		}
	}
	during := 3 * time.Minute
	scaling := f.c.Cluster.Workers[0].Scaling
	scaling.Options.UnneededTime = &during
	o, err := c.NodeGroupGetOptions(t.Context(), &externalgrpc.NodeGroupAutoscalingOptionsRequest{Id: "md-0", Defaults: &externalgrpc.NodeGroupAutoscalingOptions{ScaleDownUtilizationThreshold: 0.5}})
	if err != nil {
		t.Fatal(err)
	}
	if p := o.NodeGroupAutoscalingOptions; p.ScaleDownUtilizationThreshold != 0.5 || p.ScaleDownUnneededDuration.AsDuration() != during || p.ScaleDownUnneededTime.Duration != int64(during) {
		t.Errorf("options %v", p)
	}
	scaling.Capacity = nil
	_, err = c.NodeGroupTemplateNodeInfo(t.Context(), in)
	fails(t, "a pool that does not say", err, codes.Unimplemented, "capacity.cluster-autoscaler.kubernetes.io/cpu")
}

// TestBadFiles are refused before anything is served.
func TestBadFiles(t *testing.T) {
	if _, err := autoscaler.New(prod(), autoscaler.Files{Certificate: "none", Key: "none", ClientCA: "none"}, registered, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "certificate and key") {
		t.Errorf("files that are not there gave %v", err)
	}
}
