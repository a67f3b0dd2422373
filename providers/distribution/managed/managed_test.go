package managed_test

import (
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/managed"
)

// TestNoMachines: the cloud gives all secrets, and no machine of Fairlead joins.
func TestNoMachines(t *testing.T) {
	var d providers.Distribution = managed.New(nil, "EKS", "AWSManagedMachinePool")
	c := &fleet.Cluster{Hosted: &fleet.HostedControlPlane{}}
	if made, err := d.NewSecrets(c, time.Now()); err != nil || len(made) > 0 {
		t.Errorf("secrets are made: %v, %v", made, err)
	}
	for _, n := range d.Needs(c) {
		if !n.Hosted {
			t.Errorf("%s is needed from elsewhere than the cloud", n.Name)
		}
	}
	if _, err := d.UserData(providers.BootstrapInput{Cluster: c, Join: fleet.JoinWorker}); fleet.KindOf(err) != fleet.Invalid {
		t.Errorf("user data: %v", err)
	}
	if err := d.Admit(t.Context(), providers.Access{}, providers.BootstrapInput{Cluster: c}, time.Hour); fleet.KindOf(err) != fleet.Invalid {
		t.Errorf("admit: %v", err)
	}
}
