package ironic_test

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
	"fairlead.dev/test/run/waits"
)

// shared is the Ironic of most tests: each has hosts of its own.
var shared struct {
	once sync.Once
	i    *metal3test.Ironic
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.i != nil {
		shared.i.Close()
	}
	os.Exit(code)
}

// world returns an Ironic that others use, too, and a client of it.
func world(t *testing.T) (*metal3test.Ironic, *ironic.Client) {
	t.Helper()
	metal3test.Needs(t)
	shared.once.Do(func() { shared.i, shared.err = metal3test.Start(context.Background(), metal3test.Options{}) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("Ironic's log ends with:\n%s", shared.i.LogEnd())
		}
	})
	return shared.i, client(t, shared.i, ironic.Options{})
}

// own returns an Ironic of the test alone.
func own(t *testing.T, o metal3test.Options) (*metal3test.Ironic, *ironic.Client) {
	t.Helper()
	i := metal3test.New(t, o)
	return i, client(t, i, ironic.Options{})
}

// secret is the Secret of i.
func secret(i *metal3test.Ironic) map[string][]byte {
	return map[string][]byte{"endpoint": []byte(i.URL()), "username": []byte(metal3test.User), "password": []byte(metal3test.Password), "ca.crt": i.CA()}
}

func client(t *testing.T, i *metal3test.Ironic, o ironic.Options) *ironic.Client {
	t.Helper()
	credential, err := ironic.ReadCredential("Secret metal/ironic", secret(i))
	if err != nil {
		t.Fatal(err)
	}
	c, err := ironic.New(credential, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// spec is how a host is enrolled.
func spec(h *metal3test.Host) ironic.Spec {
	return ironic.Spec{
		UUID: ironic.NodeID("prod", "metal", h.Name()), Name: "metal~" + h.Name(), Driver: "redfish",
		Interfaces: map[string]string{"boot": "redfish-virtual-media", "inspect": "redfish"}, DriverInfo: h.DriverInfo(),
		Properties: map[string]any{"capabilities": "boot_mode:uefi"}, ResourceClass: "baremetal", AutomatedClean: true, MAC: h.MAC(),
	}
}

// must is for what goes well. What Ironic is busy for is asked for again.
func must(t *testing.T, what func() error) {
	t.Helper()
	if err := again(t, what); err != nil {
		t.Fatal(err)
	}
}

// again repeats what is refused because something else is under way at the node.
func again(t *testing.T, what func() error) error {
	t.Helper()
	for {
		if err := what(); !ironic.IsLocked(err) {
			return err
		}
		pause(t)
	}
}

// pause is between two looks.
func pause(t *testing.T) {
	t.Helper()
	select {
	case <-time.After(100 * time.Millisecond):
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
}

// await looks until a host is as it should be. A test that waits for ever ends by the timeout
// of go test, with what was seen last in the log.
func await(t *testing.T, c *ironic.Client, host, what string, is func(ironic.Node) bool) ironic.Node {
	t.Helper()
	seen := ""
	for deadline := time.Now().Add(waits.Limit); time.Now().Before(deadline); pause(t) {
		n, err := c.Node(t.Context(), "metal~"+host)
		if err != nil {
			t.Fatal(err)
		}
		if state := string(n.State) + ", " + string(n.Power); state != seen {
			seen = state
			t.Logf("%s: %s; %s; %s", host, state, n.Fault, n.LastError)
		}
		if !n.Locked && is(n) {
			return n
		}
	}
	t.Fatalf("%s is not %s, but %s", host, what, seen)
	return ironic.Node{}
}

// reach looks until a host is in a state and stays there.
func reach(t *testing.T, c *ironic.Client, host string, s ironic.State) ironic.Node {
	t.Helper()
	return await(t, c, host, string(s), func(n ironic.Node) bool { return n.State == s })
}

// enrolled adds a host and has it managed.
func enrolled(t *testing.T, i *metal3test.Ironic, c *ironic.Client, name string) *metal3test.Host {
	t.Helper()
	h := i.AddHost(name)
	must(t, func() error { return c.Create(t.Context(), spec(h)) })
	must(t, func() error { return c.Manage(t.Context(), "metal~"+name) })
	reach(t, c, name, ironic.Manageable)
	return h
}

// claim is that of a machine.
func claim(i *metal3test.Ironic, machine string) ironic.Claim {
	return ironic.Claim{
		Instance: ironic.InstanceID("prod", "eu/one", machine),
		Info: map[string]any{
			"image_source": i.ImageURL(), "image_os_hash_algo": "sha256", "image_os_hash_value": i.ImageSHA256(), "image_disk_format": "raw",
		},
		Extra: map[string]any{"machine": machine},
	}
}

// available adds a host that machines can have, with little to wait for: nothing is cleaned
// before the first machine.
func available(t *testing.T, i *metal3test.Ironic, c *ironic.Client, name string) *metal3test.Host {
	t.Helper()
	h := i.AddHost(name)
	s := spec(h)
	s.AutomatedClean = false
	must(t, func() error { return c.Create(t.Context(), s) })
	must(t, func() error { return c.Manage(t.Context(), s.UUID) })
	reach(t, c, name, ironic.Manageable)
	must(t, func() error { return c.Provide(t.Context(), s.UUID) })
	reach(t, c, name, ironic.Available)
	return h
}

// deployed adds a host that a machine runs on.
func deployed(t *testing.T, i *metal3test.Ironic, c *ironic.Client, name string) *metal3test.Host {
	t.Helper()
	h := available(t, i, c, name)
	must(t, func() error { _, err := c.Claim(t.Context(), "metal~"+name, claim(i, "on-"+name)); return err })
	must(t, func() error { return c.Deploy(t.Context(), "metal~"+name, "") })
	reach(t, c, name, ironic.Active)
	return h
}

// kind fails where err is of another kind, or says nothing of words.
func wantError(t *testing.T, err error, kind fleet.ErrorKind, words string) {
	t.Helper()
	if fleet.KindOf(err) != kind || err == nil || err.Error() != words {
		t.Errorf("the error is of kind %s:\n%v\nwant kind %s:\n%s", fleet.KindOf(err), err, kind, words)
	}
}
