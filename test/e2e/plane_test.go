package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"fairlead.dev/test/lab/kube/binaries"
	"fairlead.dev/test/lab/kubernetes/lab"
)

// A plane is a control plane that no Fairlead makes: etcd, API server, controller manager
// and scheduler as processes on the lab's bridge. Its keeper is kubeadm, phase by phase,
// which leaves in it what kubeadm join reads.
type plane struct {
	w       *world
	version string
	dir     string
	ended   map[string]chan struct{} // by the name of the program
}

// kubeadmConfig is what kubeadm reads, in which CERTIFICATES is a line or nothing.
const kubeadmConfig = `apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: VERSION
CERTIFICATEScontrolPlaneEndpoint: ADDRESS:6443
networking: {podSubnet: 10.244.0.0/16, serviceSubnet: 10.96.0.0/16}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: {advertiseAddress: ADDRESS}
nodeRegistration: {name: hosted}
timeouts: {kubernetesAPICall: 5s}
---
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
conntrack: {maxPerCore: 0, min: 0}
`

// newPlane makes a control plane of a version, which serves at the lab's gateway until the
// test ends.
func (w *world) newPlane(version string) *plane {
	w.t.Helper()
	start := time.Now()
	p := &plane{w: w, version: version, dir: filepath.Join(w.logs, "plane"), ended: make(map[string]chan struct{})}
	if err := os.MkdirAll(p.pki(""), 0o700); err != nil {
		w.t.Fatal(err)
	}
	replace := strings.NewReplacer("VERSION", version, "ADDRESS", lab.Gateway)
	p.write("kubeadm.yaml", strings.Replace(replace.Replace(kubeadmConfig), "CERTIFICATES", "certificatesDir: "+p.pki("")+"\n", 1))
	// Kubelets look for the authority where machines have it, which is not where it is here.
	p.write("upload.yaml", strings.Replace(replace.Replace(kubeadmConfig), "CERTIFICATES", "", 1))

	p.phase("kubeadm.yaml", "certs", "all")
	for _, who := range []string{"admin", "super-admin", "controller-manager", "scheduler"} {
		p.phase("kubeadm.yaml", "kubeconfig", who, "--kubeconfig-dir", p.dir)
	}
	p.startEtcd()
	p.startAPI()
	w.wait("an API server", func() (bool, string) {
		out, err := w.kubectl(p.file("super-admin.conf"), "", "get", "--raw", "/readyz")
		return err == nil && out == "ok", fmt.Sprint(out, err)
	})
	if _, err := w.kubectl(p.file("super-admin.conf"), "", "create", "clusterrolebinding", "kubeadm:cluster-admins", "--clusterrole=cluster-admin", "--group=kubeadm:cluster-admins"); err != nil {
		w.t.Fatal(err)
	}
	p.startControllers() // they end where the roles are not there yet
	w.measure("a control plane of processes serves after %s", since(start))
	return p
}

// prepare leaves in the control plane what machines need to join, as its keeper does.
func (p *plane) prepare() {
	p.w.t.Helper()
	admin := []string{"--kubeconfig", p.admin()}
	p.phase("upload.yaml", "upload-config", append([]string{"kubeadm"}, admin...)...)
	// It writes to the Node that kubeadm init makes, too, and here there is none.
	out, err := p.kubeadm("upload.yaml", "upload-config", append([]string{"kubelet"}, admin...)...)
	if _, missing := p.w.kubectl(p.admin(), "", "-n", "kube-system", "get", "configmap", "kubelet-config"); missing != nil {
		p.w.t.Fatalf("%v: %v: %s", missing, err, out)
	}
	p.phase("upload.yaml", "bootstrap-token", append([]string{"--skip-token-print"}, admin...)...)
	p.phase("upload.yaml", "addon", append([]string{"all"}, admin...)...)
}

func (p *plane) file(name string) string { return filepath.Join(p.dir, name) }
func (p *plane) pki(name string) string  { return filepath.Join(p.dir, "pki", name) }

// admin is the file of the administrator's kubeconfig.
func (p *plane) admin() string { return p.file("admin.conf") }

func (p *plane) write(name, text string) {
	p.w.t.Helper()
	if err := os.WriteFile(p.file(name), []byte(text), 0o600); err != nil {
		p.w.t.Fatal(err)
	}
}

// phase has kubeadm do one phase of init.
func (p *plane) phase(config, name string, args ...string) {
	p.w.t.Helper()
	if out, err := p.kubeadm(config, name, args...); err != nil {
		p.w.t.Fatalf("kubeadm init phase %s %v: %v: %s", name, args, err, out)
	}
}

func (p *plane) kubeadm(config, name string, args ...string) (string, error) {
	args = append([]string{"init", "phase", name, "--config", p.file(config)}, args...)
	out, err := exec.CommandContext(p.w.ctx, p.program("kubeadm"), args...).CombinedOutput()
	return string(out), err
}

// program returns the file of a program of Kubernetes.
func (p *plane) program(name string) string {
	p.w.t.Helper()
	path, err := binaries.Kubernetes("", name, p.version).Path()
	if err != nil {
		p.w.t.Fatal(err)
	}
	return path
}

func (p *plane) startEtcd() {
	p.w.t.Helper()
	etcd, err := binaries.Path("etcd")
	if err != nil {
		p.w.t.Fatal(err)
	}
	const clients, peers = "http://127.0.0.1:2379", "http://127.0.0.1:2380" // nobody else is in this network
	p.start("etcd", etcd, "--name=hosted", "--data-dir="+p.file("etcd"), "--log-level=warn", "--unsafe-no-fsync",
		"--listen-client-urls="+clients, "--advertise-client-urls="+clients,
		"--listen-peer-urls="+peers, "--initial-advertise-peer-urls="+peers, "--initial-cluster=hosted="+peers)
}

func (p *plane) startAPI() {
	p.w.t.Helper()
	const name = "kube-apiserver"
	p.start(name, p.program(name), "--etcd-servers=http://127.0.0.1:2379", "--advertise-address="+lab.Gateway, "--secure-port=6443", "--allow-privileged",
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--enable-bootstrap-token-auth",
		"--client-ca-file="+p.pki("ca.crt"), "--tls-cert-file="+p.pki("apiserver.crt"), "--tls-private-key-file="+p.pki("apiserver.key"),
		"--kubelet-client-certificate="+p.pki("apiserver-kubelet-client.crt"), "--kubelet-client-key="+p.pki("apiserver-kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP", "--service-cluster-ip-range=10.96.0.0/16",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file="+p.pki("sa.pub"), "--service-account-signing-key-file="+p.pki("sa.key"))
}

func (p *plane) startControllers() {
	p.w.t.Helper()
	for name, args := range map[string][]string{
		"kube-controller-manager": {
			"--kubeconfig=" + p.file("controller-manager.conf"), "--use-service-account-credentials", "--controllers=*,bootstrapsigner,tokencleaner",
			"--allocate-node-cidrs", "--cluster-cidr=10.244.0.0/16", "--root-ca-file=" + p.pki("ca.crt"),
			"--cluster-signing-cert-file=" + p.pki("ca.crt"), "--cluster-signing-key-file=" + p.pki("ca.key"), "--service-account-private-key-file=" + p.pki("sa.key"),
		},
		"kube-scheduler": {"--kubeconfig=" + p.file("scheduler.conf")},
	} {
		p.start(name, p.program(name), args...)
	}
}

// start starts a program that ends with the test.
func (p *plane) start(name, program string, args ...string) {
	p.w.t.Helper()
	log, err := os.OpenFile(p.file(name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.w.t.Fatal(err)
	}
	defer log.Close()
	c := exec.Command(program, args...)
	c.Stdout, c.Stderr = log, log
	ended := bound(p.w.t, c)
	p.ended[name] = ended
	p.w.t.Cleanup(func() {
		_ = c.Process.Kill() // it may have ended
		<-ended
	})
}

// check checks that all programs run.
func (p *plane) check() {
	p.w.t.Helper()
	for name, ended := range p.ended {
		select {
		case <-ended:
			p.w.t.Errorf("%s has ended", name)
		default:
		}
	}
}
