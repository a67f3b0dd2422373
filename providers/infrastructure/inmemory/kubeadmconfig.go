package inmemory

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fleet/documents"
)

// The parts of kubeadm's documents that this cloud acts on. Source: kubeadm API
// v1beta3 and v1beta4; they differ in extraArgs alone here.
type (
	clusterConfiguration struct {
		KubernetesVersion    string `json:"kubernetesVersion"`
		ControlPlaneEndpoint string `json:"controlPlaneEndpoint"`
		ClusterName          string `json:"clusterName"`
		CertificatesDir      string `json:"certificatesDir"`
		APIServer            struct {
			CertSANs []string `json:"certSANs"`
		} `json:"apiServer"`
		Etcd struct {
			External json.RawMessage `json:"external"`
		} `json:"etcd"`
	}
	initConfiguration struct {
		NodeRegistration nodeRegistration `json:"nodeRegistration"`
	}
	joinConfiguration struct {
		NodeRegistration nodeRegistration `json:"nodeRegistration"`
		Discovery        struct {
			BootstrapToken *struct {
				Token                    string   `json:"token"`
				APIServerEndpoint        string   `json:"apiServerEndpoint"`
				CACertHashes             []string `json:"caCertHashes"`
				UnsafeSkipCAVerification bool     `json:"unsafeSkipCAVerification"`
			} `json:"bootstrapToken"`
		} `json:"discovery"`
		ControlPlane *struct{} `json:"controlPlane"`
		Patches      struct {
			Directory string `json:"directory"`
		} `json:"patches"`
	}
	nodeRegistration struct {
		Name             string          `json:"name"`
		Taints           *[]corev1.Taint `json:"taints"`
		CRISocket        string          `json:"criSocket"`
		KubeletExtraArgs json.RawMessage `json:"kubeletExtraArgs"` // map in v1beta3, list in v1beta4
	}
)

// kubeadm is the boot of a machine with a kubeadm command, its documents and files.
type kubeadm struct {
	join    bool
	cluster clusterConfiguration // of init
	raw     string               // the document that cluster was read from
	token   string               // of join, "id.secret"
	server  string               // of join, "host:port"
	hashes  []string             // of join; none where the authority is not verified
	control bool                 // becomes a control plane
	pki     authorities          // of a control plane
	day     bool                 // what its kube-controller-manager signs lasts a day
	node    registration
	virtual []string // addresses that its static pods announce
}

var kubeadmCommand = regexp.MustCompile(`(?:^|[\s;&|])kubeadm\s+(init|join)\s[^;&|]*--config[=\s]+(\S+)`)

// parseKubeadm reads the first kubeadm command of a machine's; nil where there is none.
func parseKubeadm(d disk, s VMSpec) (boot, error) {
	for _, line := range d.commands {
		m := kubeadmCommand.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		config, ok := d.files[m[2]]
		if !ok {
			return nil, fmt.Errorf("kubeadm %s: unable to read config from %q: open %s: no such file or directory", m[1], m[2], m[2])
		}
		docs, err := readDocuments(config.content, s.Version)
		if err != nil {
			return nil, fmt.Errorf("kubeadm %s: %w", m[1], err)
		}
		b := &kubeadm{join: m[1] == "join"}
		if b.join {
			err = b.readJoin(d, docs, s)
		} else {
			err = b.readInit(d, docs, s)
		}
		if err != nil {
			return nil, fmt.Errorf("kubeadm %s: %w", m[1], err)
		}
		kubeconfig := "/etc/kubernetes/admin.conf"
		if !b.join && minor(s.Version) >= 29 { // it may do nothing before kubeadm init is done
			kubeconfig = "/etc/kubernetes/super-admin.conf"
		}
		b.virtual = announced(d, "/etc/kubernetes/manifests", kubeconfig)
		return b, nil
	}
	return nil, nil
}

// A document is one of kubeadm's.
type document struct {
	data  []byte
	lists bool // extraArgs are lists
}

// readDocuments splits a configuration by kind and checks that the kubeadm of
// version knows it.
func readDocuments(data []byte, version string) (map[string]document, error) {
	out := make(map[string]document)
	list, err := documents.Split(data, documents.BuiltLimits())
	if err != nil {
		return nil, err
	}
	for _, doc := range list {
		var head struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
		}
		if err := documents.Unmarshal(doc, &head, documents.BuiltLimits()); err != nil {
			return nil, fmt.Errorf("unable to decode the configuration: %w", err)
		}
		if head == (struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
		}{}) {
			continue
		}
		lists := head.APIVersion == "kubeadm.k8s.io/v1beta4"
		if strings.HasPrefix(head.APIVersion, "kubeadm.k8s.io/") &&
			(!lists && head.APIVersion != "kubeadm.k8s.io/v1beta3" || lists && minor(version) < 31) {
			return nil, fmt.Errorf("your configuration file uses an API version that kubeadm %s does not know: %q", version, head.APIVersion)
		}
		if _, ok := out[head.Kind]; ok {
			return nil, fmt.Errorf("the configuration has two documents of kind %s", head.Kind)
		}
		out[head.Kind] = document{data: doc, lists: lists}
	}
	return out, nil
}

// minor returns the minor of a version like v1.34.1, or 0.
func minor(version string) int {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(parts[1])
	return n
}

func (b *kubeadm) readInit(d disk, docs map[string]document, s VMSpec) error {
	var i initConfiguration
	if err := documents.Unmarshal(docs["InitConfiguration"].data, &i, documents.BuiltLimits()); err != nil {
		return fmt.Errorf("InitConfiguration: %w", err)
	}
	doc, ok := docs["ClusterConfiguration"]
	if !ok {
		return errors.New("the configuration has no ClusterConfiguration")
	}
	if err := documents.Unmarshal(doc.data, &b.cluster, documents.BuiltLimits()); err != nil {
		return fmt.Errorf("ClusterConfiguration: %w", err)
	}
	b.raw, b.control = string(doc.data), true
	if b.cluster.KubernetesVersion != s.Version {
		return fmt.Errorf("kubernetesVersion is %q, and the machine has %s", b.cluster.KubernetesVersion, s.Version)
	}
	if len(b.cluster.Etcd.External) > 0 && string(b.cluster.Etcd.External) != "null" {
		return errors.New("an external etcd is nothing that this cloud has")
	}
	var err error
	if b.pki, err = readAuthorities(d, b.cluster.CertificatesDir); err != nil {
		return err
	}
	lists := doc.lists
	if i, ok := docs["InitConfiguration"]; ok {
		lists = i.lists
	}
	b.node, err = i.NodeRegistration.read(s.Name, lists, true)
	return err
}

func (b *kubeadm) readJoin(d disk, docs map[string]document, s VMSpec) error {
	doc, ok := docs["JoinConfiguration"]
	if !ok {
		return errors.New("the configuration has no JoinConfiguration")
	}
	var j joinConfiguration
	if err := documents.Unmarshal(doc.data, &j, documents.BuiltLimits()); err != nil {
		return fmt.Errorf("JoinConfiguration: %w", err)
	}
	t := j.Discovery.BootstrapToken
	if t == nil {
		return errors.New("discovery.bootstrapToken: Required value: this cloud knows no other discovery")
	}
	if !tokenForm.MatchString(t.Token) {
		return errors.New("discovery.bootstrapToken.token: Invalid value: the bootstrap token is not of the form [a-z0-9]{6}.[a-z0-9]{16}")
	}
	if len(t.CACertHashes) == 0 && !t.UnsafeSkipCAVerification {
		return errors.New("discovery.bootstrapToken.caCertHashes: Invalid value: using token-based discovery without caCertHashes can be unsafe. Set unsafeSkipCAVerification to continue")
	}
	b.token, b.server, b.hashes, b.control = t.Token, t.APIServerEndpoint, t.CACertHashes, j.ControlPlane != nil
	var err error
	if b.control {
		if b.pki, err = readAuthorities(d, ""); err != nil {
			return err
		}
		if b.day, err = readSigner(d, b.pki.ca.cert, j.Patches.Directory); err != nil {
			return fmt.Errorf("kube-controller-manager does not start: %w", err)
		}
	}
	b.node, err = j.NodeRegistration.read(s.Name, doc.lists, b.control)
	return err
}

var tokenForm = regexp.MustCompile(`^[a-z0-9]{6}\.[a-z0-9]{16}$`)
