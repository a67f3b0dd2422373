package inmemory

import (
	"context"
	"maps"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory/kubeapi"
)

// A PlaneSpec is a control plane to serve that is no machine: that of somebody else, for
// tests and demonstrations.
type PlaneSpec struct {
	Endpoint fleet.Endpoint `json:"endpoint,omitzero"` // what is zero is chosen by the cloud
	Version  string         `json:"version"`
	// TokenLife, if not zero, has its API server accept tokens of PlaneToken, for that time each, and no
	// certificate: its kubeconfig has no credential.
	TokenLife time.Duration `json:"tokenLife,omitempty"`
}

// A Plane is such a control plane: an API server and what kubeadm's phases put into it, so
// that machines of the cloud can join.
type Plane struct {
	Endpoint   fleet.Endpoint `json:"endpoint"`
	Version    string         `json:"version"`
	Down       bool           `json:"down,omitempty"`       // it does not answer
	Kubeconfig []byte         `json:"kubeconfig,omitempty"` // of an administrator; of a new one alone
}

// plane is a Plane with what serves it.
type plane struct {
	Plane
	net    *network // has no machines, and is in no listing
	tokens *planeTokens
}

// CreatePlane serves a control plane until the cloud is closed.
func (c *Cloud) CreatePlane(_ context.Context, s PlaneSpec) (Plane, error) {
	op := "create a control plane"
	if minor(s.Version) == 0 {
		return Plane{}, fleet.Errorf(fleet.Invalid, op, "its version is %q, and not one like v1.34.1", s.Version)
	}
	ca, err := newPlaneAuthority()
	if err != nil {
		return Plane{}, &fleet.Error{Kind: fleet.Unknown, Op: op, Err: err}
	}
	c.lock()
	defer c.unlock()
	l, at, err := c.open(op, s.Endpoint)
	if err != nil {
		return Plane{}, err
	}
	tokens := &planeTokens{life: s.TokenLife, ends: make(map[string]time.Time)}
	k, err := c.newPlaneCluster(ca, at, s.Version, tokens)
	if err != nil {
		_ = l.Close()
		return Plane{}, &fleet.Error{Kind: fleet.Unknown, Op: op, Err: err}
	}
	p := &plane{
		Plane: Plane{Endpoint: at, Version: s.Version},
		net:   &network{Network: Network{Endpoint: at}, front: newFrontend(l)}, tokens: tokens,
	}
	c.planes[address(at.Host, at.Port)] = p
	c.serves.Go(p.net.front.run)
	c.serveCluster(p.net, k)
	out := p.Plane
	if s.TokenLife > 0 {
		out.Kubeconfig = ca.kubeconfigWithout(address(at.Host, at.Port))
		return out, nil
	}
	out.Kubeconfig, err = ca.kubeconfig(address(at.Host, at.Port))
	return out, err
}

// newPlaneCluster returns a cluster that serves at e and has no machines yet.
func (c *Cloud) newPlaneCluster(ca pair, e fleet.Endpoint, version string, tokens *planeTokens) (*cluster, error) {
	k := &cluster{pki: authorities{ca: ca}, nodes: make(map[string]*vm), hosted: true, available: true}
	server, err := kubeapi.New(kubeapi.Options{CACert: ca.cert, CAKey: ca.key, CertSANs: []string{e.Host}, Version: version, Log: c.log, Tokens: tokens.accepts})
	if err != nil {
		return nil, err
	}
	k.api = server
	b := &kubeadm{pki: k.pki, raw: "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: " + version + "\n"}
	b.cluster.KubernetesVersion = version
	for _, obj := range append(initialObjects(b, e), kubeletConfig()) {
		if err := server.Upsert(obj); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// SetPlane has the control plane at the endpoint of p be of its version, and answer or not.
// Nothing there gives the kind NotFound.
func (c *Cloud) SetPlane(_ context.Context, p Plane) error {
	c.lock()
	defer c.unlock()
	is, ok := c.planes[address(p.Endpoint.Host, p.Endpoint.Port)]
	if !ok {
		return &fleet.Error{Kind: fleet.NotFound, Op: "change a control plane", Err: errNoSuch}
	}
	k := is.net.cluster
	is.Version, is.Down, k.available = p.Version, p.Down, !p.Down
	k.api.SetVersion(p.Version)
	k.api.SetAvailable(!p.Down)
	return nil
}

// Planes returns the control planes that are served, by endpoint.
func (c *Cloud) Planes(context.Context) ([]Plane, error) {
	c.lock()
	defer c.unlock()
	var out []Plane
	for _, at := range slices.Sorted(maps.Keys(c.planes)) {
		out = append(out, c.planes[at].Plane)
	}
	return out, nil
}

// join returns a network whose machines join the control plane at its endpoint.
func (c *Cloud) join(op string, s NetworkSpec) (*network, error) {
	p, ok := c.planes[address(s.Endpoint.Host, s.Endpoint.Port)]
	if !ok {
		return nil, fleet.Errorf(fleet.Invalid, op, "no control plane of this cloud is at %s: machines of the in-memory cloud join no API server outside of it "+
			"(let it have the control plane, or take its pools out)", address(s.Endpoint.Host, s.Endpoint.Port))
	}
	return &network{Network: Network{Endpoint: s.Endpoint}, cluster: p.net.cluster}, nil
}

// planeFacts returns the Nodes of control planes, by endpoint.
func (c *Cloud) planeFacts() map[string][]string {
	out := make(map[string][]string, len(c.planes))
	for at, p := range c.planes {
		if !p.net.cluster.gone {
			out[at] = p.net.cluster.nodeNames()
		}
	}
	return out
}

// close ends what the network has of its own.
func (n *network) close() {
	if n.front != nil {
		n.front.Close()
	}
	if n.cluster != nil && !n.cluster.hosted {
		n.cluster.stop()
	}
}
