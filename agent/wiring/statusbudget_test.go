package wiring

import "testing"

// An agent with the memory for a million machines reads the status of a million machines:
// no number in the program stops it before its memory does.
func TestNoCliffBelowAMillionMachines(t *testing.T) {
	const (
		machines = 1_000_000
		each     = 1100                 // bytes of a machine in the file of its cluster
		packed   = 200                  // the same on the wire, at most
		line     = 180                  // bytes of a cluster in fleet.yaml
		clusters = machines / 10        // the small ones
		largest  = 50_000 * each        // a cluster of as many machines as one may have
		memory   = 10 * machines * each // an agent has decoded them as well
	)
	for name, limit := range map[string]int64{"enough memory": memory, "no limit": 0} {
		t.Run(name, func(t *testing.T) {
			b := statusBudget(limit)
			for what, c := range map[string]struct{ have, want int64 }{
				"bytes":            {b.Tree.Bytes, machines*each + clusters*line},
				"files":            {int64(b.Tree.Files), clusters + 1000},
				"fleet.yaml":       {b.Tree.FileBytes, clusters * line},
				"a large cluster":  {b.Tree.FileBytes, largest},
				"answer":           {b.Received, machines * packed},
				"objects in packs": {int64(b.Objects), clusters + 3000},
			} {
				if c.have < c.want {
					t.Errorf("%s: %d, want %d", what, c.have, c.want)
				}
			}
		})
	}
	for name, limit := range map[string]int64{"a small pod": 256 << 20, "the chart's": 1 << 30} {
		if b := statusBudget(limit); b.Tree.Bytes != 128<<20 || b.Tree.FileBytes != 16<<20 || b.Tree.Files != 131072 || b.Received != 128<<20 {
			t.Errorf("%s: %+v", name, b)
		}
	}
}
