package fleet

import "strings"

// RandomPart stands in a NamePattern for what tells the machines of a pool apart.
const RandomPart = "*"

// MachineName returns the name of machine index of p, a pool of c: after the
// pool's own pattern where it has one. It depends on nothing but what NewMachineName
// depends on and the pattern. What does not fit into a name is cut off what is
// written out, from the front of the pattern. A Machine that stands alone has the
// name of its pool.
func (c *Cluster) MachineName(p *Pool, index int) MachineName {
	if p.Kind == LoneMachine {
		return MachineName(p.Name)
	}
	if p.NamePattern == "" {
		return NewMachineName(c.Key, p.Name, p.Template, index)
	}
	hash := machineHash(c.Key, p.Name, p.Template, index)
	parts := strings.Split(strings.ReplaceAll(p.NamePattern, ".", "-"), RandomPart)
	over := len(strings.Join(parts, hash)) - maxNameLength
	for i := range parts {
		cut := min(max(over, 0), len(parts[i]))
		parts[i] = parts[i][:len(parts[i])-cut]
		over -= cut
	}
	return MachineName(strings.Trim(strings.Join(parts, hash), "-"))
}
