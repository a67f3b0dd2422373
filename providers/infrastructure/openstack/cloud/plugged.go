package cloud

import "fairlead.dev/providers/driver/snapshot"

// A Part is a port or a volume of a machine.
type Part struct {
	Name  string // for people: "port eu-1-md-0-5f2a90c1-0"
	Owner snapshot.Owner
}

// indexParts notes which server has which parts of machines.
func (s *Snapshot) indexParts() {
	s.partsByServer = make(map[string][]Part)
	for i := range s.Ports.All {
		p := &s.Ports.All[i]
		if o, ours := s.Ports.Owner(p.ID); ours && o.Machine != "" && p.DeviceID != "" {
			s.partsByServer[p.DeviceID] = append(s.partsByServer[p.DeviceID], Part{"port " + p.Name, o})
		}
	}
	for i := range s.Volumes.All {
		v := &s.Volumes.All[i]
		if o, ours := s.Volumes.Owner(v.ID); ours && o.Machine != "" {
			for _, a := range v.Attachments {
				s.partsByServer[a.ServerID] = append(s.partsByServer[a.ServerID], Part{"volume " + v.Name, o})
			}
		}
	}
}

// Contradiction returns a part that the server with id has of another machine than its
// metadata says, where it has none of that one; false where nothing contradicts the
// metadata. Both say what a server is from its birth, and people and tools change
// metadata: which of the two is right, is not certain.
func (s *Snapshot) Contradiction(id string) (Part, bool) {
	is, _ := s.Servers.Owner(id)
	has := s.partsByServer[id]
	for _, p := range has {
		if p.Owner == is {
			return Part{}, false
		}
	}
	if len(has) == 0 {
		return Part{}, false
	}
	return has[0], true
}
