package machine_test

import (
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
)

// TestPoolLike: a name tells the pool of a machine, also of one of an older template.
func TestPoolLike(t *testing.T) {
	c := cluster()
	c.Workers = append(c.Workers, fleet.Pool{Name: "gpu", NamePattern: "g-*-x"}, fleet.Pool{Name: "alone", Kind: fleet.LoneMachine})
	for name, want := range map[fleet.MachineName]fleet.PoolName{
		"eu-1-md-0-0123abcd": "md-0", "eu-1-md-0-0123abc": "", "eu-1-md-0-0123abcx": "", "eu-1-md-00123abcd": "", "eu-1-md-1-0123abcd": "",
		"g-0123abcd-x": "gpu", "g-0123abcd": "", "alone": "alone", "alone-0123abcd": "",
	} {
		got := fleet.PoolName("")
		if p := machine.PoolLike(c, name); p != nil {
			got = p.Name
		}
		if got != want {
			t.Errorf("%s is of pool %q, want %q", name, got, want)
		}
	}
}

// TestNamesOfClusterAPI: a name that Cluster API gave tells the pool, and nothing that people write.
func TestNamesOfClusterAPI(t *testing.T) {
	c := cluster()
	c.ControlPlane.Name = "eu-1"
	c.Workers = append(c.Workers, fleet.Pool{Name: "md-0-big", Role: fleet.RoleWorker})
	for name, want := range map[fleet.MachineName]fleet.PoolName{
		"md-0-x7k2p-bcdfg": "md-0", "md-0-5d8b9f7c9dx-bcdfg": "md-0", "md-0-x7k2p-x7k2p-bcdfg": "md-0", "md-0-x7k2p-x7k2p-x7k2p-bcdfg": "",
		"md-0-bcdfg": "md-0", "md-0-bcdf": "", "md-0-bcdfgh": "", "md-0-x7k2p-backup": "", "md-0-x7k2p-bcdf1": "", "md-0": "", "md-1-x7k2p-bcdfg": "",
		"eu-1-bcdfg": "eu-1", "eu-1-md-0-x7k2p-bcdfg": "", "md-0-big-x7k2p-bcdfg": "md-0-big", "md-0x7k2p-bcdfg": "",
	} {
		got := fleet.PoolName("")
		if p := machine.NamesOf(c).Adopted(name); p != nil {
			got = p.Name
		}
		if got != want {
			t.Errorf("%s is of pool %q, want %q", name, got, want)
		}
	}
}
