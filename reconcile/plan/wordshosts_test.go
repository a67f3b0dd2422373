package plan_test

import (
	"cmp"
	"strings"

	"fairlead.dev/fleet"
)

// host reads "host m1 state=available next=inspect why=git held=paused refused waits=ramdisk
// trouble=silent of=eu-1 machine=md/0 fits=md,cp provider=sim": a host of the inventory.
func (s *script) host(name string, w words) fleet.Host {
	said := func(k string) string { return strings.ReplaceAll(w[k], "-", " ") }
	h := fleet.Host{
		Namespace: "metal", Name: name, ID: "id-" + name, State: fleet.HostState(said("state")), Held: said("held"), Waits: said("waits"), Trouble: said("trouble"), Refused: w.is("refused"),
		Next: fleet.HostStep{Do: said("next"), Why: said("why")},
	}
	if h.Trouble != "" {
		h.TroubleIn = fleet.HostPowerError
	}
	if w.is("fits") {
		h.Provider = cmp.Or(w["provider"], "sim")
		for name := range strings.SplitSeq(w["fits"], ",") {
			h.Fits = append(h.Fits, fleet.PoolName(name))
		}
	}
	if w.is("of") {
		h.Consumer = fleet.HostConsumer{Cluster: fleet.Key{Namespace: "prod", Name: w["of"]}, Machine: "m"}
		if w.is("machine") {
			h.Consumer.Machine = s.name(w["machine"])
		}
	}
	return h
}
