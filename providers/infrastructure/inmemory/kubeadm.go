package inmemory

import (
	"bytes"
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

// bootData is what a machine's user data says, as far as it can be known
// without the world: a kubeadm command with its documents and files.
type bootData struct {
	err     error // the machine never becomes a Node
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
}

var kubeadmCommand = regexp.MustCompile(`(?:^|[\s;&|])kubeadm\s+(init|join)\s[^;&|]*--config[=\s]+(\S+)`)

// readBootData reads the user data of s on the machine called id.
func readBootData(s VMSpec, id string) bootData {
	b, err := parseBootData(s, id)
	b.err = err
	return b
}

// BootEndpoint returns where the user data of s says that the API server of the
// cluster answers, and whether the machine joins what is there.
func BootEndpoint(s VMSpec) (endpoint string, join bool, err error) {
	b := readBootData(s, s.ID)
	if b.join {
		return withPort(b.server), true, b.err
	}
	return withPort(b.cluster.ControlPlaneEndpoint), false, b.err
}

func parseBootData(s VMSpec, id string) (bootData, error) {
	var b bootData
	if len(s.UserData) == 0 {
		return b, errors.New("cloud-init: no user data was given, nothing to do")
	}
	d, err := readUserData(s, id)
	if err != nil {
		return b, err
	}
	for _, line := range d.commands {
		m := kubeadmCommand.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		config, ok := d.files[m[2]]
		if !ok {
			return b, fmt.Errorf("kubeadm %s: unable to read config from %q: open %s: no such file or directory", m[1], m[2], m[2])
		}
		docs, err := readDocuments(config.content, s.Version)
		if err != nil {
			return b, fmt.Errorf("kubeadm %s: %w", m[1], err)
		}
		if b.join = m[1] == "join"; b.join {
			err = b.readJoin(d, docs, s)
		} else {
			err = b.readInit(d, docs, s)
		}
		if err != nil {
			return b, fmt.Errorf("kubeadm %s: %w", m[1], err)
		}
		return b, nil
	}
	return b, errors.New("cloud-init: no command of runcmd is kubeadm init or kubeadm join with --config")
}

// readUserData reads user data in the format that it has: an Ignition config is
// JSON.
func readUserData(s VMSpec, id string) (disk, error) {
	if bytes.HasPrefix(s.UserData, []byte("{")) {
		// The cloud calls the machine by a name in its domain.
		d, err := readIgnition(s.UserData, map[string]string{
			"COREOS_OPENSTACK_HOSTNAME": s.Name + ".novalocal", "COREOS_OPENSTACK_INSTANCE_UUID": id,
		})
		if err == nil && len(d.commands) == 0 {
			err = errors.New("ignition: no unit runs a script with kubeadm init or kubeadm join and --config")
		}
		return d, err
	}
	return readCloudConfig(s.UserData, map[string]string{
		"ds.meta_data.local_hostname": s.Name,
		"ds.meta_data.hostname":       s.Name,
		"v1.local_hostname":           s.Name,
		"local_hostname":              s.Name,
		"ds.meta_data.instance_id":    id,
		"v1.instance_id":              id,
		"instance_id":                 id,
	})
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

func (b *bootData) readInit(d disk, docs map[string]document, s VMSpec) error {
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

func (b *bootData) readJoin(d disk, docs map[string]document, s VMSpec) error {
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
