package decode

import (
	"slices"

	"fairlead.dev/fleet"
)

// A Draft makes the user data of a machine of p, a pool of c, that joins as join says, with
// stand-ins for what Git does not hold. The error says why no such machine can be made. A
// *fleet.FieldError in it names the field of the bootstrap configuration, or "version", which
// is that of the pool.
type Draft func(c *fleet.Cluster, p fleet.Pool, join fleet.Join) error

// A config says which fields the machines of a pool are made from.
type config struct {
	pool    *object
	version string // field of pool
	object  *object
	path    string // field of object with the bootstrap configuration
}

// configure notes that the machines of the pool called name are made from c.
func (b *builder) configure(name fleet.PoolName, c config) {
	if b.configs == nil {
		b.configs = make(map[fleet.PoolName]config)
	}
	b.configs[name] = c
}

// checkDrafts refuses pools of c whose machines can have no user data. A cluster begins at the
// version of its manifests: at older versions, machines only join. No machine is made for a
// cluster that is to be deleted or abandoned, so a broken template does not keep it.
func (b *builder) checkDrafts(c *fleet.Cluster, begins bool) {
	if b.decoder.draft == nil || c.Delete || c.Abandon {
		return
	}
	pools := slices.Clone(c.Pools())
	for _, k := range c.KeptPools {
		if k.Bootstrap != nil {
			pools = append(pools, fleet.Pool{Name: k.Name, Role: fleet.RoleWorker, Version: k.Version, Bootstrap: *k.Bootstrap})
		}
	}
	for _, p := range pools {
		from, ok := b.configs[p.Name]
		if !ok { // it is among the objects that cannot be read
			continue
		}
		joins := []fleet.Join{fleet.JoinWorker}
		if p.Role == fleet.RoleControlPlane {
			joins = []fleet.Join{fleet.JoinControlPlane}
			if begins {
				joins = []fleet.Join{fleet.JoinInit, fleet.JoinControlPlane}
			}
		}
		for _, join := range joins {
			if err := b.decoder.draft(c, p, join); err != nil {
				b.addDraft(from, err)
			}
		}
	}
}

// addDraft adds the problem that no machine can be made from c.
func (b *builder) addDraft(c config, err error) {
	field, cause := fleet.FieldOf(err)
	o, at := c.object, c.path
	switch field {
	case "":
	case "version":
		o, at = c.pool, c.version
	default:
		at += "." + field
	}
	b.addf(o, o.written(at), "", "no machine can be made from this: %s", cause)
}
