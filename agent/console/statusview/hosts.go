package statusview

import "fairlead.dev/fleet"

// A Host is one of an inventory, as JSON and YAML show it.
type Host struct {
	Name     string            `json:"name"` // namespace/name
	State    string            `json:"state"`
	Status   string            `json:"status"` // OK, error, delayed, discovered
	Power    string            `json:"power,omitempty"`
	Free     bool              `json:"free"`
	Consumer string            `json:"consumer,omitempty"`
	Trouble  string            `json:"trouble,omitempty"` // with what it happened in
	Held     string            `json:"held,omitempty"`
	Next     string            `json:"next,omitempty"`
	Waits    string            `json:"waits,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Hardware map[string]string `json:"hardware,omitempty"` // fleet.HostHardware.Facts
	summary  string
}

// HostsOf returns the view of hosts.
func HostsOf(list []fleet.Host) []Host {
	out := make([]Host, 0, len(list))
	for i := range list {
		h := &list[i]
		v := Host{
			Name: h.Key().String(), State: string(h.State), Status: h.OperationalStatus(), Power: string(h.Power), Free: h.Free(), Consumer: h.Consumer.String(),
			Trouble: h.Trouble, Held: h.Held, Next: h.Next.Do, Waits: h.Waits, Labels: h.Labels, Hardware: h.Hardware.Facts(), summary: h.Hardware.String(),
		}
		if h.TroubleIn != "" {
			v.Trouble = string(h.TroubleIn) + ": " + h.Trouble
		}
		if h.Next.Why != "" {
			v.Next += ": " + h.Next.Why
		}
		out = append(out, v)
	}
	return out
}

// Summary is the hardware in one line.
func (h Host) Summary() string { return h.summary }

// Message is the most important thing to say of a host.
func (h Host) Message() string {
	switch {
	case h.Trouble != "":
		return h.Trouble
	case h.Held != "":
		return "held: " + h.Held
	case h.Waits != "":
		return "waits for " + h.Waits
	case h.Next != "":
		return "next: " + h.Next
	}
	return ""
}
