package decode

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"fairlead.dev/fleet"
)

// A hashSchema is a way to make template hashes. The schema of a released version is kept
// for ever, since a machine is compared by the schema that it was made with.
type hashSchema struct {
	name string // a number
	hash func(*fleet.Pool) []byte
}

// hashSchemas returns all schemas, the newest first, which is used for new machines.
func hashSchemas() []hashSchema {
	return []hashSchema{
		{"3", func(p *fleet.Pool) []byte { return contentHash(p, settledOf(p)) }},
		{"2", func(p *fleet.Pool) []byte { return contentHash(p, essentialOf(p)) }},
		{"1", func(p *fleet.Pool) []byte { return contentHash(p, hashedBootstrap(&p.Bootstrap)) }},
	}
}

// addHashes gives p its template hash, and its hashes in older schemas.
func addHashes(p *fleet.Pool, schemas []hashSchema) {
	p.Former = nil
	for i, s := range schemas {
		h := fleet.TemplateHash(s.name + "-" + hex.EncodeToString(s.hash(p)))
		if i == 0 {
			p.Template = h
		} else {
			p.Former = append(p.Former, h)
		}
	}
}

// templateContent is what a machine is made from: a change of it makes machines outdated.
// It has no names of templates, labels, annotations, taints, timeouts or numbers of
// machines. Zero values are left out, so that a new field of a type changes no hash.
type templateContent struct {
	Version        string          `json:"version"`
	Bootstrap      json.RawMessage `json:"bootstrap,omitempty"`
	BootstrapKind  string          `json:"bootstrapKind,omitempty"`
	Infrastructure string          `json:"infrastructure"` // kind
	Spec           json.RawMessage `json:"spec,omitempty"`
	FailureDomain  string          `json:"failureDomain,omitempty"`
}

// essentialOf returns the part of the bootstrap configuration of p that schema 2 depends on; nil:
// nothing. A control plane of schema 1 rolled when its initConfiguration changed, which no
// machine reads that joins, and a different spelling of the same counted as a change.
func essentialOf(p *fleet.Pool) json.RawMessage {
	if p.Bootstrap.Kind == "" {
		return hashedKubeadm(p)
	}
	return hashedBootstrap(&p.Bootstrap)
}

// settledOf returns what of the bootstrap configuration of p schema 3 depends on, as JSON; nil:
// nothing. Configurations that give the same user data are the same in it.
func settledOf(p *fleet.Pool) json.RawMessage {
	switch b := &p.Bootstrap; {
	case b.Kind == "":
		return settledKubeadm(p)
	case b.Settled != nil:
		return b.Settled
	default:
		return hashedBootstrap(b)
	}
}

// contentHash is the hash of the content of p, with bootstrap as what counts of its
// configuration.
func contentHash(p *fleet.Pool, bootstrap json.RawMessage) []byte {
	gvk := p.Infrastructure.GVK
	sum := sha256.Sum256(marshal(templateContent{
		Version:        p.Version,
		Bootstrap:      bootstrap,
		BootstrapKind:  p.Bootstrap.Kind,
		Infrastructure: groupKind(gvk.Group, gvk.Kind),
		Spec:           hashed(&p.Infrastructure),
		FailureDomain:  p.FailureDomain,
	}))
	return sum[:10]
}

// hashed returns the part of the spec of o that hashes depend on.
func hashed(o *fleet.Object) json.RawMessage {
	if o.Hashed != nil {
		return o.Hashed
	}
	return o.Spec
}

// hashedBootstrap returns the part of b that hashes depend on; nil: nothing.
func hashedBootstrap(b *fleet.Bootstrap) json.RawMessage {
	switch {
	case b.Hashed == nil:
		return b.Spec
	case string(b.Hashed) == emptyHashInput:
		return nil
	}
	return b.Hashed
}

// emptyHashInput is the content of Hashed that says that nothing is hashed; a nil Hashed says that
// the spec is.
const emptyHashInput = "null"

// bootstrapFrom returns m as a pool has it.
func bootstrapFrom(m *fleet.BootstrapManifest) fleet.Bootstrap {
	b, err := fleet.NewBootstrap(m.Kind, m.Spec)
	if err != nil {
		panic(fmt.Sprintf("decode: %v", err)) // it was JSON
	}
	if m.Settled != nil {
		b.Settled = marshal(m.Settled)
	}
	if m.Hashed == nil {
		return b
	}
	switch data := marshal(m.Hashed); {
	case reflect.ValueOf(m.Hashed).IsZero():
		if b.Spec != nil {
			b.Hashed = json.RawMessage(emptyHashInput)
		}
	case !bytes.Equal(data, b.Spec):
		b.Hashed = data
	}
	return b
}

// firstSchemaHash returns the hash in the oldest schema, which stays the same when a schema is
// added.
func firstSchemaHash(h fleet.TemplateHash, former []fleet.TemplateHash) fleet.TemplateHash {
	if n := len(former); n > 0 {
		return former[n-1]
	}
	return h
}

// digest identifies the definition of c without its revision and file names. A new version
// of Fairlead computes the same digest for the same definition: new fields are left out
// where they are zero, and so are new defaults and schemas of hashes.
func digest(c *fleet.Cluster) string {
	plain := *c
	plain.Revision, plain.Digest = fleet.Revision{}, ""
	plain.Secrets = nil
	secrets := make(map[string]map[string][]byte) // a Secret is not encoded to JSON
	add := func(k fleet.Key, data fleet.SecretData) {
		secrets[k.String()] = data.Reveal()
	}
	for name, data := range c.Secrets {
		add(fleet.Key{Namespace: c.Key.Namespace, Name: name}, data)
	}
	part := func(o *fleet.Object) {
		for k, data := range o.Secrets {
			add(k, data)
		}
		o.File, o.Secrets, o.Spec, o.Hashed = "", nil, hashed(o), nil
	}
	pool := func(p *fleet.Pool) {
		part(&p.Infrastructure)
		p.Template, p.Former = firstSchemaHash(p.Template, p.Former), nil
		p.APIPort, p.JoinedAPIPort = 0, 0 // they are part of Bootstrap
	}
	part(&plain.Infrastructure)
	pool(&plain.ControlPlane)
	if c.Hosted != nil {
		plane := *c.Hosted
		part(&plane.Object)
		plain.Hosted = &plane
	}
	plain.Companions = slices.Clone(c.Companions)
	for i := range plain.Companions {
		part(&plain.Companions[i])
	}
	plain.Guests = slices.Clone(c.Guests)
	for i := range plain.Guests {
		g := &plain.Guests[i]
		part(&g.Infrastructure)
		g.Companions = slices.Clone(g.Companions)
		for j := range g.Companions {
			part(&g.Companions[j])
		}
	}
	plain.Workers = slices.Clone(c.Workers)
	for i := range plain.Workers {
		pool(&plain.Workers[i])
	}
	plain.KeptPools = slices.Clone(c.KeptPools)
	for i := range plain.KeptPools {
		part(&plain.KeptPools[i].Infrastructure)
	}
	plain.Topology = anonymous(c.Topology, part)
	h := sha256.New()
	h.Write(marshal(plain))
	h.Write(marshal(secrets))
	return hex.EncodeToString(h.Sum(nil))
}

// canonicalJSON returns v as JSON with sorted keys and without spaces: equal content gives
// equal bytes.
func canonicalJSON(v any) (json.RawMessage, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("cannot be written as JSON: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var plain any
	if err := d.Decode(&plain); err != nil {
		return nil, fmt.Errorf("cannot be read as JSON: %w", err)
	}
	return json.Marshal(plain)
}

// marshal returns v as JSON. v has to come from JSON, or to be a struct of such values.
func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("decode: cannot marshal %T: %v", v, err))
	}
	return b
}
