package staging

import (
	"fmt"
	"slices"

	"fairlead.dev/fleet"
)

// stageWorkers decides on the version of each worker pool. One that replaces on
// deletion alone takes no turn: it is not known when people are done with it, and
// nothing of it is replaced at the same time as the others.
func (s *Stage) stageWorkers() {
	var pools []*fleet.Pool
	for _, name := range s.Order {
		if i := slices.IndexFunc(s.cluster.Workers, func(p fleet.Pool) bool { return p.Name == name }); i >= 0 {
			pools = append(pools, &s.cluster.Workers[i])
		}
	}
	for _, p := range pools {
		if s.has[p.Name].mixed() && !onDelete(p) {
			s.slots--
		}
	}
	for _, p := range pools {
		s.stageWorker(p)
	}
}

func (s *Stage) stageWorker(p *fleet.Pool) {
	h, ok := s.has[p.Name]
	deferred, started := s.Deferred[p.Name], h.mixed() && h.newest == s.step
	switch {
	case !ok && s.step != s.to:
		s.begin(p)
	case !ok, s.older(s.to, h.newest), h.oldest == s.to: // it is new, goes back, or is there
	case deferred != "" && !started:
		s.put = append(s.put, fmt.Sprintf("%s deferred by %s", p.Name, deferred))
		s.stay(p, h, fmt.Sprintf("the upgrade of pool %s is deferred by %s", p.Name, deferred), true)
	case s.begun, s.step != s.to && s.behind == "", !s.older(h.oldest, s.step):
		s.waiting = append(s.waiting, string(p.Name))
		s.stay(p, h, fmt.Sprintf("pool %s waits until the control plane is upgraded", p.Name), false)
	case s.slots <= 0 && !h.mixed() && !onDelete(p):
		s.waiting = append(s.waiting, string(p.Name))
		s.stay(p, h, fmt.Sprintf("pool %s waits for its turn to be upgraded", p.Name), false)
	default:
		if !h.mixed() && !onDelete(p) {
			s.slots--
		}
		s.moving = append(s.moving, string(p.Name))
		s.become(p, s.step)
	}
}

// begin makes the first machines of p while the control plane is on its way. They
// wait for it to arrive; where it stays for longer, be it that a pool is deferred,
// they are made at its version: p may have lost its only machine to a rollout.
func (s *Stage) begin(p *fleet.Pool) {
	v, _ := s.At(s.step)
	b, ok := v.Pools[p.Name]
	if !ok || s.behind == "" && s.blocked == "" {
		s.creates = append(s.creates, string(p.Name))
		s.frozen[p.Name] = fmt.Sprintf("pool %s waits until the control plane is upgraded to %s", p.Name, s.to)
		return
	}
	*p = p.At(s.step, b)
}

// become makes p what the class makes of it at a version.
func (s *Stage) become(p *fleet.Pool, version string) {
	if version == s.to {
		return
	}
	if !s.at(p, version) {
		s.freeze(p, s.has[p.Name].newest, fmt.Sprintf("pool %s cannot be upgraded to %s", p.Name, version))
	}
}

// at makes p what the class makes of it at a version, and reports whether the class has that.
func (s *Stage) at(p *fleet.Pool, version string) bool {
	v, _ := s.At(version)
	if s.hosted(p) {
		if v.Hosted != nil {
			s.cluster.Hosted = v.Hosted
		}
		return v.Hosted != nil
	}
	b, ok := v.Pools[p.Name]
	if ok {
		*p = p.At(version, b)
	}
	return ok
}

// hosted reports whether p stands for the hosted control plane.
func (s *Stage) hosted(p *fleet.Pool) bool {
	return s.cluster.Hosted != nil && p == &s.cluster.ControlPlane
}

// stay leaves p at the version that it has. If the class no longer has that,
// and people do not defer the upgrade, what is missing may be of the next one.
func (s *Stage) stay(p *fleet.Pool, h span, why string, deferred bool) {
	if s.hosted(p) { // nothing of it changes
		return
	}
	for _, have := range []string{h.newest, h.oldest} {
		if have == s.to {
			return // what has begun to be as Git asks for goes on
		}
		if s.at(p, have) {
			s.kept[p.Name] = true
			return
		}
	}
	if deferred || p.Role == fleet.RoleControlPlane {
		s.freeze(p, h.newest, why)
		return
	}
	s.turn[p.Name] = why
	s.become(p, s.step)
}

// freeze leaves p unchanged: it is not known what a machine of its version is made of.
func (s *Stage) freeze(p *fleet.Pool, at, why string) {
	p.Version = at
	s.kept[p.Name] = true
	if s.cluster.Topology == nil {
		s.frozen[p.Name] = fmt.Sprintf("no machine of control plane %s is made or removed, since Git has no machine template of %s", p.Name, at)
		return
	}
	s.frozen[p.Name] = fmt.Sprintf("%s; no machine of it is made or removed, since ClusterClass %s does not have %s in kubernetesVersions", why, s.Class, at)
}

func onDelete(p *fleet.Pool) bool {
	return p.Role == fleet.RoleWorker && p.Strategy == fleet.OnDelete
}
