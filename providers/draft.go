package providers

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"sync"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/endpoint"
)

// A Drafter creates user data of machines that do not exist, to check whether they could be
// created. It caches results, since equal manifests give equal user data. It is safe for
// concurrent use.
type Drafter struct {
	standIn fleet.SecretData
	limits  Limits

	mu    sync.Mutex
	known map[[sha256.Size]byte]error
}

// mostKnown bounds the cache of a Drafter.
const mostKnown = 10_000

// Limits are, by provider, what user data of its machines depends on.
type Limits map[string]Limit

// A Limit is what user data of the machines of a provider depends on.
type Limit struct {
	// UserData refuses user data with which no machine of the provider can boot, for example if
	// it is too large. Nil: it accepts everything.
	UserData func(UserData) error
	// VirtualIP is that of the Factory.
	VirtualIP func(c *fleet.Cluster) (*endpoint.VirtualIP, error)
}

// serve adds to in, for a server of c on that provider, how servers serve e, the endpoint of c. If
// they do, its port is that at which API servers listen.
func (l Limits) serve(provider string, c *fleet.Cluster, e fleet.Endpoint, in *BootstrapInput) error {
	virtualIP := l[provider].VirtualIP
	if virtualIP == nil || in.Join == fleet.JoinWorker {
		return nil
	}
	v, err := virtualIP(c)
	if v == nil || err != nil {
		return err
	}
	in.VirtualIP, in.Endpoint = v, e
	return nil
}

// longerStandIns is the number of bytes by which stand-ins may be longer than the real values.
// Certificates, the largest part of user data, are shorter than real ones.
const longerStandIns = 1 << 10

// refuse returns why no machine of that provider can boot with u, or with less than that; nil if
// one may.
func (l Limits) refuse(provider string, u UserData) error {
	limit := l[provider].UserData
	if limit == nil {
		return nil
	}
	content := u.Content.Reveal()
	least := UserData{Format: u.Format, Content: fleet.NewSecret(content[:max(0, len(content)-longerStandIns)])}
	if limit(least) == nil {
		return nil
	}
	return limit(u)
}

// NewDrafter returns a Drafter of machines on providers with these limits.
func NewDrafter(limits Limits) *Drafter {
	return &Drafter{standIn: standIns(), limits: limits, known: make(map[[sha256.Size]byte]error)}
}

// Draft creates the user data of a machine of p, a pool of c, that joins as join says. Values
// that are not in Git have stand-ins: certificates, keys, tokens, the endpoint, and the names of
// machine and cluster. The error says why no such machine can be created before the manifests
// change, with a *fleet.FieldError if the wrong field of the bootstrap configuration is known.
// "version" is that of the pool. Other errors of UserData are not returned: they concern the
// stand-ins, or are temporary. Of a control plane with one machine, the virtual address is no part
// of user data for joining: such a cluster runs without, and Unmade keeps its machine.
func (r *Drafter) Draft(d Distribution, c *fleet.Cluster, p fleet.Pool, join fleet.Join) error {
	e := wantedEndpoint(c)
	if join == fleet.JoinControlPlane && p.Replicas <= 1 {
		e = fleet.Endpoint{}
	}
	return r.draftAt(d, c, p, join, e)
}

// wantedEndpoint returns the endpoint of c as the manifests say it. What they do not say is a
// stand-in.
func wantedEndpoint(c *fleet.Cluster) fleet.Endpoint {
	named, unnamed := c.NamedEndpoint(), standInEndpoint()
	return fleet.Endpoint{Host: cmp.Or(named.Host, unnamed.Host), Port: cmp.Or(named.Port, c.Network.APIServerPort, unnamed.Port)}
}

// draftAt drafts user data of a cluster whose endpoint is e; zero: no server serves it.
func (r *Drafter) draftAt(d Distribution, c *fleet.Cluster, p fleet.Pool, join fleet.Join, e fleet.Endpoint) error {
	in, provider := input(c, p, join), cmp.Or(p.Provider, c.Provider)
	if !e.IsZero() {
		if err := r.limits.serve(provider, c, e, &in); err != nil {
			return invalid(err)
		}
	}
	key, err := identity(d, provider, in)
	if err != nil {
		return nil // what cannot be marshalled was not decoded
	}
	r.mu.Lock()
	found, ok := r.known[key]
	r.mu.Unlock()
	if ok {
		return found
	}
	for _, n := range d.Needs(in.Cluster) {
		in.Secrets[n.Name] = r.standIn
	}
	u, err := d.UserData(in)
	if err == nil {
		err = r.limits.refuse(provider, u)
	}
	found = invalid(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) >= mostKnown {
		clear(r.known)
	}
	r.known[key] = found
	return found
}

// invalid returns the cause of err if it is of the kind Invalid. The operation names the
// stand-in.
func invalid(err error) error {
	if fleet.KindOf(err) != fleet.Invalid {
		return nil
	}
	if e, ok := errors.AsType[*fleet.Error](err); ok {
		return e.Err
	}
	return err
}

// input returns the input of user data, without needs. It has only those fields of c that are
// equal for equal manifests.
func input(c *fleet.Cluster, p fleet.Pool, join fleet.Join) BootstrapInput {
	of := func(p fleet.Pool) fleet.Pool {
		return fleet.Pool{Role: p.Role, Kind: p.Kind, Version: p.Version, Bootstrap: p.Bootstrap, Taints: p.Taints, APIPort: p.APIPort, JoinedAPIPort: p.JoinedAPIPort, Ports: p.Ports}
	}
	like := &fleet.Cluster{
		Key: fleet.Key{Namespace: "stand-in", Name: "stand-in"}, Network: c.Network, ControlPlane: of(c.ControlPlane),
		Secrets: make(map[string]fleet.SecretData),
	}
	if c.Hosted != nil {
		like.Hosted = &fleet.HostedControlPlane{Object: fleet.Object{GVK: c.Hosted.Object.GVK}, Version: c.Hosted.Version}
	}
	for name, data := range c.Secrets {
		if quoted, err := json.Marshal(name); err == nil && bytes.Contains(p.Bootstrap.Spec, quoted) {
			like.Secrets[name] = data
		}
	}
	return BootstrapInput{
		Cluster: like, Pool: of(p), Machine: "stand-in", Join: join,
		Endpoint: standInEndpoint(), Secrets: make(map[fleet.SecretName]fleet.SecretData),
	}
}

// standInEndpoint returns what stands for an endpoint that is not in Git.
func standInEndpoint() fleet.Endpoint { return fleet.Endpoint{Host: "192.0.2.1", Port: 6443} }

// identity identifies in, with the content of its Secrets, for a machine of that provider.
func identity(d Distribution, provider string, in BootstrapInput) ([sha256.Size]byte, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%T %q\n", d, provider)
	if err := json.NewEncoder(h).Encode(in); err != nil {
		return [sha256.Size]byte{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(in.Cluster.Secrets)) {
		data := in.Cluster.Secrets[name]
		for _, key := range slices.Sorted(maps.Keys(data)) {
			fmt.Fprintf(h, "%q %q %x\n", name, key, sha256.Sum256(data[key].Reveal()))
		}
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// Joins returns the ways in which machines of p join.
func Joins(p fleet.Pool) []fleet.Join {
	if p.Role == fleet.RoleControlPlane {
		return []fleet.Join{fleet.JoinInit, fleet.JoinControlPlane}
	}
	return []fleet.Join{fleet.JoinWorker}
}

// Unmade returns the ways in which no machine of c can be created, at each of its versions. Its
// endpoint is e, or as the manifests say it if e is zero.
func (r *Drafter) Unmade(d Distribution, c *fleet.Cluster, e fleet.Endpoint) []fleet.Unmade {
	if c.Delete || c.Abandon {
		return nil // none is to be made
	}
	if e.IsZero() {
		e = wantedEndpoint(c)
	}
	var out []fleet.Unmade
	add := func(c *fleet.Cluster) {
		for _, p := range c.Pools() {
			for _, join := range Joins(p) {
				if err := r.draftAt(d, c, p, join, e); err != nil {
					out = append(out, fleet.Unmade{Pool: p.Name, Version: p.Version, Join: join, Why: err.Error()})
				}
			}
		}
	}
	add(c)
	if c.Topology == nil {
		return out
	}
	for _, v := range c.Topology.Older {
		staged := *c
		staged.Workers = nil
		for _, p := range c.Pools() {
			b, ok := v.Pools[p.Name]
			switch {
			case ok && p.Role == fleet.RoleControlPlane:
				staged.ControlPlane = p.At(v.Version, b)
			case ok:
				staged.Workers = append(staged.Workers, p.At(v.Version, b))
			}
		}
		add(&staged)
	}
	return out
}

// standIns returns values that are valid for each need of each distribution. They are constant,
// and no cluster trusts them, since their key is public.
func standIns() fleet.SecretData {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "stand-in"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	certificate, err := x509.CreateCertificate(nil, authority, authority, key.Public(), key) // Ed25519 needs no randomness
	if err != nil {
		panic(err) // nothing in it varies
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err)
	}
	block := func(kind string, der []byte) fleet.Secret {
		return fleet.NewSecret(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	text := fleet.NewSecret(bytes.Repeat([]byte("0"), 64))
	return fleet.SecretData{
		fleet.TLSCertKey: block("CERTIFICATE", certificate), fleet.TLSKeyKey: block("PRIVATE KEY", private),
		fleet.SeedKey: text, fleet.TokenKey: text,
		"cluster-name": text, "service-range": fleet.NewSecret([]byte("10.96.0.0/12")), // of EKS
	}
}
