package inmemory

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/fleet/documents"
)

// A program is what machines run instead of kubeadm and a kubelet: K3s or RKE2, which is
// made of K3s.
type program struct {
	name    string         // of its files, annotations and Secrets
	join    int32          // the port that machines join at; 0: that of the API server
	apart   bool           // its control plane is static pods, and the first server always has etcd
	release *regexp.Regexp // what its versions look like
	install *regexp.Regexp // the command that puts it on a machine
	version *regexp.Regexp // the version in that command; none: the image has it
	role    *regexp.Regexp // the role in that command
	start   *regexp.Regexp // the command that starts it; nil: installing does
}

// programs are those that this cloud knows.
// Source: install.sh of k3s-io/k3s and rancher/rke2.
func programs() []*program {
	return []*program{{
		name:    "k3s",
		release: regexp.MustCompile(`^v\d+\.\d+\.\d+(-[a-z0-9.]+)?\+k3s\d+$`),
		install: regexp.MustCompile(`INSTALL_K3S_|get\.k3s\.io`),
		version: regexp.MustCompile(`INSTALL_K3S_VERSION=['"]?([^'"\s]+)`),
		role:    regexp.MustCompile(`(?:sh -s - |INSTALL_K3S_EXEC=['"]?)(server|agent)\b`),
	}, {
		name: "rke2", join: 9345, apart: true,
		release: regexp.MustCompile(`^v\d+\.\d+\.\d+(-[a-z0-9.]+)?\+rke2r\d+$`),
		install: regexp.MustCompile(`INSTALL_RKE2_|get\.rke2\.io`),
		version: regexp.MustCompile(`INSTALL_RKE2_VERSION=['"]?([^'"\s]+)`),
		role:    regexp.MustCompile(`(?:sh -s - |INSTALL_RKE2_TYPE=['"]?)(server|agent)\b`),
		start:   regexp.MustCompile(`systemctl (?:start|restart|enable --now) rke2-(server|agent)\b`),
	}}
}

func (p *program) configFile() string { return "/etc/rancher/" + p.name + "/config.yaml" }

func (p *program) annotation(name string) string { return "etcd." + p.name + ".cattle.io/" + name }

// parseK3s reads the first command of a machine that installs K3s or RKE2, and what its
// configuration says; nil where there is none.
func parseK3s(d disk, s VMSpec) (boot, error) {
	for _, line := range d.commands {
		for _, p := range programs() {
			if !p.install.MatchString(line) {
				continue
			}
			b := &k3s{program: p, version: s.Version}
			if err := b.read(d, line, s); err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
			b.virtual = announced(d, "/var/lib/rancher/"+p.name+"/agent/pod-manifests", "/etc/rancher/"+p.name+"/"+p.name+".yaml")
			return b, nil
		}
	}
	return nil, nil
}

// read reads what the machine is to be.
func (b *k3s) read(d disk, install string, s VMSpec) error {
	if m := b.program.version.FindStringSubmatch(install); m != nil {
		if !b.release.MatchString(m[1]) {
			return fmt.Errorf("[ERROR]  Download failed: version %s: curl: (22) The requested URL returned error: 404", m[1])
		}
		b.version = m[1]
	}
	role := "server"
	if m := b.role.FindStringSubmatch(install); m != nil {
		role = m[1]
	}
	if b.start != nil {
		i := slices.IndexFunc(d.commands, b.start.MatchString)
		if i < 0 {
			return fmt.Errorf("it is installed, and no command starts %s-%s", b.name, role)
		}
		if started := b.start.FindStringSubmatch(d.commands[i])[1]; started != role {
			return fmt.Errorf("Failed to start %s-%s.service: Unit %[1]s-%[2]s.service not found", b.name, started) //nolint:staticcheck // systemd's words
		}
	}
	b.server = role == "server"
	if f, ok := d.files[b.configFile()]; ok {
		if err := documents.Unmarshal(f.content, &b.config, documents.BuiltLimits()); err != nil {
			return fmt.Errorf("%s: %w", b.configFile(), err)
		}
	}
	if err := b.check(); err != nil {
		return err
	}
	var err error
	if b.server {
		if b.pki, err = b.readAuthorities(d); err != nil {
			return err
		}
	}
	b.node, err = b.readRegistration(s.Name)
	return err
}

// check finds what keeps the program from starting, wherever it is.
func (b *k3s) check() error {
	switch server := b.config.value("server"); {
	case !b.server && b.config.value("token") == "":
		return errors.New("--token is required")
	case !b.server && server == "":
		return errors.New("--server is required")
	case server != "" && !strings.HasPrefix(server, "https://"):
		return errors.New("only https:// URLs are supported, invalid scheme: " + server)
	case server != "" && b.config.value("token") == "":
		return errors.New(strings.ToUpper(b.name) + "_TOKEN is required to join a cluster")
	case b.config.value("datastore-endpoint") != "":
		return errors.New("datastore-endpoint: a datastore elsewhere is nothing that this cloud has")
	case b.server && server == "" && !b.apart && b.config.value("cluster-init") != "true":
		return errors.New("without cluster-init it keeps its data in SQLite, and no server can join it: this cloud has no such clusters")
	}
	if text := b.config.value("token"); text != "" {
		_, err := parseToken(text)
		return err
	}
	return nil
}

// nodeArgs returns the arguments of the program, those of config.yaml too, as it writes them
// to its Node.
// Source: k3s, pkg/nodeconfig.
func (b *k3s) nodeArgs() string {
	args := []string{"agent"}
	if b.server {
		args[0] = "server"
	}
	for _, key := range slices.Sorted(maps.Keys(b.config)) {
		for _, value := range b.config.list(strings.TrimSuffix(key, "+")) {
			if strings.Contains(key, "token") {
				value = "********"
			}
			args = append(args, "--"+strings.TrimSuffix(key, "+"), value)
		}
	}
	out, err := json.Marshal(args)
	if err != nil {
		return ""
	}
	return string(out)
}

// readRegistration returns how the kubelet of a machine called host registers.
func (b *k3s) readRegistration(host string) (registration, error) {
	r := registration{
		name: strings.ToLower(b.config.value("node-name")), labels: make(map[string]string), cloud: true,
		annotations: map[string]string{b.name + ".io/hostname": host, b.name + ".io/node-args": b.nodeArgs()},
		finalizers:  finalizers(),
	}
	if r.name == "" {
		r.name = strings.ToLower(host)
	}
	for _, arg := range b.config.list("kubelet-arg") {
		if id, ok := strings.CutPrefix(arg, "provider-id="); ok {
			r.providerID = id
		}
	}
	for _, pair := range b.config.list("node-label") {
		key, value, _ := strings.Cut(pair, "=")
		if !kubeletMaySet(key) {
			return r, fmt.Errorf("kubelet exited: unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [%s]", key)
		}
		r.labels[key] = value
	}
	for _, text := range b.config.list("node-taint") {
		i := strings.LastIndex(text, ":")
		if i < 0 {
			return r, fmt.Errorf("kubelet exited: invalid taint %q in --register-with-taints", text)
		}
		key, value, _ := strings.Cut(text[:i], "=")
		r.taints = append(r.taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(text[i+1:])})
	}
	return r, nil
}

// readAuthorities reads those that the machine is given. The first server must have
// them: it would make its own, which no other machine knows.
func (b *k3s) readAuthorities(d disk) (authorities, error) {
	var a authorities
	dir := "/var/lib/rancher/" + b.name + "/server/tls"
	first := b.config.value("server") == ""
	for _, x := range []struct {
		to       *pair
		name     string
		required bool
	}{
		{&a.ca, "server-ca", true},
		{&a.client, "client-ca", true},
		{&a.etcd, "etcd/server-ca", false},
		{&a.peer, "etcd/peer-ca", false},
	} {
		cert, key := path.Join(dir, x.name+".crt"), path.Join(dir, x.name+".key")
		*x.to = pair{cert: d.files[cert].content, key: d.files[key].content}
		if len(x.to.cert) == 0 && len(x.to.key) == 0 && (!first || !x.required) {
			continue
		}
		for _, name := range []string{cert, key} {
			if len(d.files[name].content) == 0 {
				return a, fmt.Errorf("certs: %s is not there", name)
			}
		}
		if mode := d.files[key].mode; mode != 0o600 {
			return a, fmt.Errorf("certs: %s has mode %#o, and a private key has 0600", key, mode)
		}
		if err := checkAuthority(*x.to); err != nil {
			return a, fmt.Errorf("certs: %s and %s: %w", cert, key, err)
		}
	}
	return a, nil
}

// A k3sConfig is config.yaml: each key is a flag of the command line. Flags that it does
// not know the program skips, with a warning.
type k3sConfig map[string]any

// list returns the values of a flag. A key with a plus adds to them.
func (c k3sConfig) list(flag string) []string {
	var out []string
	for _, key := range []string{flag, flag + "+"} {
		switch v := c[key].(type) {
		case nil:
		case []any:
			for _, one := range v {
				out = append(out, fmt.Sprint(one))
			}
		default:
			out = append(out, fmt.Sprint(v))
		}
	}
	return out
}

// value returns the last value of a flag.
func (c k3sConfig) value(flag string) string {
	all := c.list(flag)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// critical returns what all servers of a cluster must agree on.
// Source: k3s, pkg/daemons/config/types.go, CriticalControlArgs.
func (c k3sConfig) critical() map[string]string {
	out := map[string]string{
		"cluster-cidr": "10.42.0.0/16", "service-cidr": "10.43.0.0/16", "cluster-domain": "cluster.local", "flannel-backend": "vxlan",
		"cluster-dns": "", "disable-cloud-controller": "", "disable-helm-controller": "", "disable-network-policy": "",
		"egress-selector-mode": "agent", "embedded-registry": "", "flannel-ipv6-masq": "", "flannel-external-ip": "",
		"secrets-encryption": "", "supervisor-metrics": "",
	}
	for key := range out {
		if v := strings.Join(c.list(key), ","); v != "" && v != "false" {
			out[key] = v
		}
	}
	return out
}
