package inmemory_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/inmemory"
)

// A stranger's cluster is a network and two machines without tags of ours.
func strangers(t *testing.T, api inmemory.API) []inmemory.VM {
	t.Helper()
	n, err := api.CreateNetwork(t.Context(), inmemory.NetworkSpec{Name: "net"})
	if err != nil {
		t.Fatal(err)
	}
	var out []inmemory.VM
	for _, name := range []string{"eu-1-a", "eu-1-b"} {
		v, err := api.CreateVM(t.Context(), inmemory.VMSpec{Name: name, Network: n.ID, Version: "v1.34.1", Tags: map[string]string{"people": "theirs"}})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

func adoptable() *fleet.Cluster {
	return &fleet.Cluster{
		Fleet: "f", Key: fleet.Key{Namespace: "prod", Name: "eu-1"},
		ControlPlane: fleet.Pool{Name: "cp", Role: fleet.RoleControlPlane, Template: "1-cp", Version: "v1.34.1"},
		Workers:      []fleet.Pool{{Name: "md", Role: fleet.RoleWorker, Template: "1-md", Version: "v1.34.1"}},
	}
}

func TestAdopt(t *testing.T) {
	cloud := inmemory.NewCloud(inmemory.CloudOptions{})
	t.Cleanup(cloud.Close)
	server := httptest.NewServer(inmemory.Handler(cloud))
	t.Cleanup(server.Close)
	client, err := inmemory.Dial(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	p, c := inmemory.NewProvider(client, 0), adoptable()
	vms := strangers(t, cloud)
	machines := []providers.AdoptedMachine{{Name: "eu-1-a", Pool: "cp", ID: vms[0].Provider}, {Name: "eu-1-b", Pool: "md", ID: vms[1].Provider}}
	left := func() []string {
		t.Helper()
		out, err := p.Adoptable(t.Context(), c, machines)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if diff := cmp.Diff([]string{"network net", "server eu-1-a", "server eu-1-b"}, left()); diff != "" {
		t.Error(diff)
	}
	for range 2 {
		if err := p.Adopt(t.Context(), c, machines); err != nil {
			t.Fatal(err)
		}
	}
	seen, err := p.Observe(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if len(left()) != 0 || !seen.Ready || len(seen.Machines) != 2 || seen.Machines[0].Template != "1-cp" || seen.Machines[1].Pool != "md" {
		t.Errorf("left %v, seen %+v, want all of it adopted", left(), seen)
	}
	if err := p.Release(t.Context(), c, machines); err != nil {
		t.Fatal(err)
	}
	all, err := cloud.VMs(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range all {
		if diff := cmp.Diff(map[string]string{"people": "theirs"}, v.Tags); diff != "" {
			t.Errorf("after the release: %s", diff)
		}
	}
}

func TestAdoptRefuses(t *testing.T) {
	type world struct {
		cloud    *inmemory.Cloud
		vms      []inmemory.VM
		machines []providers.AdoptedMachine
	}
	for name, tc := range map[string]struct {
		prepare func(t *testing.T, w *world)
		want    string
		kind    fleet.ErrorKind
	}{
		"a machine that is gone":  {func(_ *testing.T, w *world) { w.machines[1].ID = "inmemory://x/y" }, "there is no server", fleet.NotFound},
		"a pool that Git has not": {func(_ *testing.T, w *world) { w.machines[1].Pool = "other" }, "pool other", fleet.Invalid},
		"another fleet's machine": {func(t *testing.T, w *world) {
			if err := w.cloud.SetTags(t.Context(), w.vms[1].ID, map[string]string{fleet.TagFleet: "g", fleet.TagCluster: "prod/eu-1"}); err != nil {
				t.Fatal(err)
			}
		}, "fleet g", fleet.Conflict},
		"a machine that nobody named": {func(_ *testing.T, w *world) { w.machines = w.machines[:1] }, "none of its machines", fleet.Conflict},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{cloud: inmemory.NewCloud(inmemory.CloudOptions{})}
			t.Cleanup(w.cloud.Close)
			w.vms = strangers(t, w.cloud)
			w.machines = []providers.AdoptedMachine{{Name: "eu-1-a", Pool: "cp", ID: w.vms[0].Provider}, {Name: "eu-1-b", Pool: "md", ID: w.vms[1].Provider}}
			tc.prepare(t, w)
			err := inmemory.NewProvider(w.cloud, 0).Adopt(t.Context(), adoptable(), w.machines)
			if err == nil || !strings.Contains(err.Error(), tc.want) || fleet.KindOf(err) != tc.kind {
				t.Errorf("got %v (%s), want %q (%s)", err, fleet.KindOf(err), tc.want, tc.kind)
			}
			mine, err := w.cloud.VMs(t.Context(), map[string]string{fleet.TagFleet: "f"})
			if err != nil || len(mine) != 0 {
				t.Errorf("%d machines were marked all the same, %v", len(mine), err)
			}
		})
	}
}

// What was made since the adoption is not left without an owner.
func TestReleaseRefusesWhatWasMadeSince(t *testing.T) {
	cloud := inmemory.NewCloud(inmemory.CloudOptions{})
	t.Cleanup(cloud.Close)
	p, c := inmemory.NewProvider(cloud, 0), adoptable()
	vms := strangers(t, cloud)
	machines := []providers.AdoptedMachine{{Name: "eu-1-a", Pool: "cp", ID: vms[0].Provider}, {Name: "eu-1-b", Pool: "md", ID: vms[1].Provider}}
	if err := p.Adopt(t.Context(), c, machines); err != nil {
		t.Fatal(err)
	}
	if _, err := cloud.CreateVM(t.Context(), inmemory.VMSpec{Name: "new", Network: vms[0].Network, Tags: c.MachineTags(c.Workers[0], "new", "op")}); err != nil {
		t.Fatal(err)
	}
	if err := p.Release(t.Context(), c, machines); fleet.KindOf(err) != fleet.Conflict {
		t.Errorf("got %v, want the kind Conflict", err)
	}
	if mine, _ := cloud.VMs(t.Context(), c.Tags()); len(mine) != 3 {
		t.Errorf("%d machines carry the mark, want all 3", len(mine))
	}
}
