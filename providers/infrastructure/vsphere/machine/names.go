package machine

import (
	"strings"

	"fairlead.dev/fleet"
)

// spareNames is how many indexes above those of a pool are tried when the pool of a name is
// looked for.
const spareNames = 64

// PoolOf returns the pool of c that the name of a machine follows from; nil where none does.
func PoolOf(c *fleet.Cluster, name fleet.MachineName) *fleet.Pool {
	for _, pool := range c.Pools() {
		for i := range pool.Replicas + pool.MaxSurge + spareNames {
			if c.MachineName(&pool, i) == name {
				return &pool
			}
		}
	}
	return nil
}

// PoolLike returns the pool of c whose machines are called like name, whatever template they
// were made from; nil where there is none.
func PoolLike(c *fleet.Cluster, name fleet.MachineName) *fleet.Pool {
	return NamesOf(c).PoolByName(name)
}

// Names derive the pool of a machine from its name.
type Names []pattern

// A pattern is what machines of a pool are called: with one part between these that tells them
// apart, or, where they have none, so.
type pattern struct {
	pool          fleet.Pool
	before, after string
	alone         bool
}

// hashDigits is how long the part of a machine's name is that tells it from others.
// Source: fleet.NewMachineName.
const hashDigits = 8

// NamesOf returns what machines of c are called.
func NamesOf(c *fleet.Cluster) Names {
	var out Names
	for _, pool := range c.Pools() {
		p := pattern{pool: pool, alone: pool.Kind == fleet.LoneMachine}
		switch like := string(c.MachineName(&pool, 0)); {
		case p.alone:
			p.before = like
		case pool.NamePattern == "":
			p.before = like[:max(0, len(like)-hashDigits)]
		default:
			p.before, p.after, _ = strings.Cut(pool.NamePattern, fleet.RandomPart)
		}
		out = append(out, p)
	}
	return out
}

// PoolByName returns the pool whose machines have names like name, or nil.
func (n Names) PoolByName(name fleet.MachineName) *fleet.Pool {
	for i := range n {
		p := &n[i]
		if p.alone {
			if p.before == string(name) {
				return &p.pool
			}
			continue
		}
		rest, ok := strings.CutPrefix(string(name), p.before)
		middle, also := strings.CutSuffix(rest, p.after)
		if ok && also && len(middle) == hashDigits && strings.Trim(middle, "0123456789abcdef") == "" {
			return &p.pool
		}
	}
	return nil
}

// Cluster API names a machine after its KubeadmControlPlane, or its MachineDeployment and
// MachineSet, with parts of so many characters, or more, of these.
// Source: k8s.io/apimachinery, pkg/util/rand.
const (
	randomPart  = 5
	randomChars = "bcdfghjklmnpqrstvwxz2456789"
	randomParts = 3 // at most: one more where a topology names the MachineDeployment
)

// Adopted returns the pool whose machines Cluster API calls like name, or nil.
func (n Names) Adopted(name fleet.MachineName) *fleet.Pool {
	var out *fleet.Pool
	for i := range n {
		p := &n[i]
		rest, ok := strings.CutPrefix(string(name), string(p.pool.Name)+"-")
		if ok && random(rest) && (out == nil || len(p.pool.Name) > len(out.Name)) {
			out = &p.pool
		}
	}
	return out
}

// random reports whether text is nothing but parts that Cluster API makes up.
func random(text string) bool {
	parts := strings.Split(text, "-")
	for _, part := range parts {
		if len(part) < randomPart || strings.Trim(part, randomChars) != "" {
			return false
		}
	}
	return len(parts) <= randomParts && len(parts[len(parts)-1]) == randomPart
}
