package replicas

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile"
	"fairlead.dev/reconcile/plan"
)

// A message is a cluster with its secrets beside it: a fleet.Secret never lets
// itself be written.
type message struct {
	Cluster struct {
		fleet.Cluster
		fleet.Memory
	}
	// Given are the cluster's Secrets; Referred are those of its objects and Stored what
	// they refer to beside these, in the order of objects, which finds them.
	Given    map[string]content
	Referred []map[string]content // by "namespace/name"
	Stored   [][]fleet.Key
	// Hidden are the contents of its ResourceSets and what its Releases hide, in the
	// order of hidden, which finds them.
	Hidden [][]byte
	// Frozen says why no secret may be stored in the pass; empty: it may.
	Frozen string `json:",omitempty"`
}

// A content is what a Secret holds.
type content = map[string][]byte

// objects calls visit with each object that v holds, wherever it is, in an order
// that depends on nothing but what v holds. v is addressable. Where keep is true,
// what visit changes stays: maps are written to.
func objects(v reflect.Value, keep bool, visit func(*fleet.Object)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			objects(v.Elem(), keep, visit)
		}
	case reflect.Struct:
		if o, ok := v.Addr().Interface().(*fleet.Object); ok {
			visit(o)
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				objects(v.Field(i), keep, visit)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			objects(v.Index(i), keep, visit)
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		for _, k := range keys {
			e := reflect.New(v.Type().Elem()).Elem()
			e.Set(v.MapIndex(k))
			objects(e, keep, visit)
			if keep {
				v.SetMapIndex(k, e)
			}
		}
	}
}

// hidden calls visit with each secret of the addons of c, in their order.
func hidden(c *fleet.Cluster, visit func(*fleet.Secret)) {
	for _, s := range c.ResourceSets {
		for _, r := range s.Resources {
			for i := range r.Objects {
				visit(&r.Objects[i].Content)
			}
		}
	}
	for i := range c.Releases {
		r := &c.Releases[i]
		for _, s := range []*fleet.Secret{&r.Values, &r.Access.Credentials, &r.Access.CA} {
			visit(s)
		}
	}
}

// encode returns c, and what is known of it, as bytes that contain its secrets.
func encode(c *fleet.Cluster, known fleet.Memory, frozen string) ([]byte, error) {
	m := message{Frozen: frozen}
	m.Cluster.Cluster, m.Cluster.Memory = *c, known
	m.Cluster.Secrets = nil
	if c.Secrets != nil {
		m.Given = make(map[string]content, len(c.Secrets))
	}
	for name, d := range c.Secrets {
		m.Given[name] = d.Reveal()
	}
	objects(reflect.ValueOf(&m.Cluster.Cluster).Elem(), false, func(o *fleet.Object) {
		var referred map[string]content
		if o.Secrets != nil {
			referred = make(map[string]content, len(o.Secrets))
		}
		for k, d := range o.Secrets {
			referred[k.String()] = d.Reveal()
		}
		m.Referred, m.Stored = append(m.Referred, referred), append(m.Stored, o.Stored)
	})
	hidden(c, func(s *fleet.Secret) { m.Hidden = append(m.Hidden, s.Reveal()) })
	return json.Marshal(m)
}

// decode returns the cluster in b, what is known of it, and why no secret may be stored.
func decode(b []byte) (*fleet.Cluster, fleet.Memory, string, error) {
	var m message
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fleet.Memory{}, "", fmt.Errorf("not a cluster: %w", err)
	}
	c := &m.Cluster.Cluster
	if m.Given != nil {
		c.Secrets = make(map[string]fleet.SecretData, len(m.Given))
	}
	for name, d := range m.Given {
		c.Secrets[name] = fleet.NewSecretData(d)
	}
	sent := m.Hidden
	missing := 0
	hidden(c, func(s *fleet.Secret) {
		if len(sent) == 0 {
			missing++
			return
		}
		*s, sent = fleet.NewSecret(sent[0]), sent[1:]
	})
	if missing+len(sent) != 0 {
		return nil, fleet.Memory{}, "", fmt.Errorf("not a cluster: the content of %d things in it is missing, and there is that of %d that it has not", missing, len(sent))
	}
	var failed error
	next := 0
	objects(reflect.ValueOf(c).Elem(), true, func(o *fleet.Object) {
		if string(o.Spec) == "null" {
			o.Spec = nil
		}
		if next < len(m.Stored) { // a replica of a version before has none
			o.Stored = m.Stored[next]
		}
		if next++; next > len(m.Referred) || m.Referred[next-1] == nil {
			return
		}
		o.Secrets = make(map[fleet.Key]fleet.SecretData, len(m.Referred[next-1]))
		for name, d := range m.Referred[next-1] {
			k, err := fleet.ParseKey(name)
			failed = errors.Join(failed, err)
			o.Secrets[k] = fleet.NewSecretData(d)
		}
	})
	if next != len(m.Referred) {
		return nil, fleet.Memory{}, "", fmt.Errorf("not a cluster: Secrets of %d objects for %d", len(m.Referred), next)
	}
	if failed != nil {
		return nil, fleet.Memory{}, "", failed
	}
	return c, m.Cluster.Memory, m.Frozen, nil
}

// An outcome is what the leader needs of a reconcile.Result. Nothing in it is
// secret.
type outcome struct {
	Report   fleet.Report
	Actions  []fleet.Action
	After    time.Duration
	Error    string
	Kind     fleet.ErrorKind
	Observed fleet.Observed // without nodes
}

func outcomeOf(r reconcile.Result) outcome {
	o := outcome{Report: r.Report, Actions: r.Plan.Actions, After: r.After, Observed: r.Observed}
	o.Observed.Workload.Nodes, o.Observed.Infrastructure.Machines = nil, nil
	if r.Err != nil {
		o.Error, o.Kind = r.Err.Error(), fleet.KindOf(r.Err)
	}
	return o
}

func (o outcome) result() reconcile.Result {
	r := reconcile.Result{Report: o.Report, Plan: plan.Plan{Actions: o.Actions}, After: o.After, Observed: o.Observed}
	if o.Error != "" {
		r.Err = &remoteError{o.Error, o.Kind}
	}
	return r
}

// A remoteError is an error as another replica told it.
type remoteError struct {
	text string
	kind fleet.ErrorKind
}

// Error implements error.
func (e *remoteError) Error() string { return e.text }

// Unwrap lets fleet.KindOf see the kind.
func (e *remoteError) Unwrap() error {
	return &fleet.Error{Kind: e.kind, Err: fmt.Errorf("told by another replica")}
}
