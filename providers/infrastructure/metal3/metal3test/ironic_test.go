package metal3test_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
	"fairlead.dev/test/run/waits"
)

// told is a Hardware that tells what it was told.
type told chan string

func (h told) PowerOn(_ context.Context, host string, d metal3test.Disk) error {
	h <- fmt.Sprintf("%s on, disk %s, user data %q", host, d.ID, d.Drive["user_data"])
	return errors.New("no room for it")
}

func (h told) PowerOff(_ context.Context, host string) error {
	h <- host + " off"
	return nil
}

// TestHardware: what runs on a host is told of its power in order, and of a disk that is new.
func TestHardware(t *testing.T) {
	t.Parallel()
	hardware, said := make(told, 100), make(chan string, 1000)
	i := metal3test.New(t, metal3test.Options{Hardware: hardware, Log: func(s string) { said <- s }})
	c := client(t, i)
	h := i.AddHost("m1")
	s := ironic.Spec{UUID: ironic.NodeID("f", "n", "m1"), Name: "m1", Driver: "redfish", DriverInfo: h.DriverInfo(), MAC: h.MAC()}
	do(t, c.Create(t.Context(), s))
	do(t, c.Manage(t.Context(), s.UUID))
	reach(t, c, ironic.Manageable)
	do(t, c.Provide(t.Context(), s.UUID))
	reach(t, c, ironic.Available)
	for n := range 2 {
		_, err := c.Claim(t.Context(), s.UUID, ironic.Claim{
			Instance: ironic.InstanceID("f", "c", "m"),
			Info: map[string]any{
				"image_source": i.ImageURL(), "image_os_hash_algo": "sha256", "image_os_hash_value": i.ImageSHA256(), "image_disk_format": "raw",
				ironic.DriveKey: map[string]any{"user_data": fmt.Sprint(n)},
			},
		})
		do(t, err)
		do(t, c.Deploy(t.Context(), s.UUID, ""))
		reach(t, c, ironic.Active)
		if n == 0 {
			do(t, c.Power(t.Context(), s.UUID, ironic.Reboot))
			want(t, hardware, `m1 on, disk m1-1, user data "0"`, "m1 off", `m1 on, disk m1-1, user data "0"`)
			reach(t, c, ironic.Active)
			do(t, c.Undeploy(t.Context(), s.UUID))
			want(t, hardware, "m1 off")
			reach(t, c, ironic.Available)
		}
	}
	want(t, hardware, `m1 on, disk m1-2, user data "1"`)
	for line := range said {
		if line == "m1: no room for it" {
			break // go test ends a test that waits for ever
		}
	}
}

// want waits for what hardware is told next.
func want(t *testing.T, h told, lines ...string) {
	t.Helper()
	for _, line := range lines {
		select {
		case got := <-h:
			if diff := gocmp.Diff(line, got); diff != "" {
				t.Fatalf("told (-want +got):\n%s", diff)
			}
		case <-time.After(waits.Limit):
			t.Fatalf("not told: %s", line)
		}
	}
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func client(t *testing.T, i *metal3test.Ironic) *ironic.Client {
	t.Helper()
	c, err := ironic.New(ironic.Credential{Endpoint: i.URL() + "/v1/", Username: metal3test.User, Password: metal3test.Password, CA: string(i.CA())}, ironic.Options{})
	do(t, err)
	t.Cleanup(c.Close)
	return c
}

// reach looks until m1 is in a state, and nothing is under way at it.
func reach(t *testing.T, c *ironic.Client, s ironic.State) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		n, err := c.Node(t.Context(), "m1")
		do(t, err)
		if n.State == s && !n.Locked {
			return
		}
		if n.Failure() != nil {
			t.Fatal(n.Failure())
		}
		<-tick.C
	}
}

// TestFaults: rules apply as often as they say, and what they meet is counted.
func TestFaults(t *testing.T) {
	t.Parallel()
	i := metal3test.New(t, metal3test.Options{})
	status := func() int {
		t.Helper()
		resp, err := i.HTTP().Get(i.URL() + "/v1/")
		if err != nil {
			return 0
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	refused := i.FailCalls(metal3test.CallFault{Method: "GET /v1/*", Skip: 1, Times: 2, Status: http.StatusTeapot})
	if got := []int{status(), status(), status(), status()}; !gocmp.Equal(got, []int{200, 418, 418, 200}) || refused.Done() != 2 {
		t.Errorf("answers: %v; met %d times", got, refused.Done())
	}
	lost := i.FailCalls(metal3test.CallFault{Lose: true})
	cut := i.FailCalls(metal3test.CallFault{Cut: true})
	if got := status(); got != 0 || lost.Done() == 0 || cut.Done() != 0 {
		t.Errorf("lost: %d; the first rule applies: %d, %d", got, lost.Done(), cut.Done())
	}
	lost.End()
	cut.End()
	if got := status(); got != 200 {
		t.Errorf("taken back: %d", got)
	}
	i.Crash()
	if got := status(); got != http.StatusServiceUnavailable {
		t.Errorf("crashed: %d", got)
	}
	do(t, i.Resume(t.Context()))
	if got := status(); got != 200 {
		t.Errorf("resumed: %d", got)
	}
	if err := i.Resume(t.Context()); err == nil {
		t.Error("it ran, and was started again")
	}
}

// TestSlowBMC: a BMC that is slow answers once that is taken back, also what was asked before.
func TestSlowBMC(t *testing.T) {
	t.Parallel()
	i := metal3test.New(t, metal3test.Options{Double: true})
	info := i.AddHost("m1").DriverInfo()
	slow := i.FailHosts(metal3test.HostFault{Host: "m1", At: metal3test.AtRequest, Delay: time.Hour})
	answered := make(chan error)
	go func() {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, info["redfish_address"].(string)+info["redfish_system_id"].(string), nil)
		if err == nil {
			r.SetBasicAuth(info["redfish_username"].(string), info["redfish_password"].(string))
			var resp *http.Response
			if resp, err = i.HTTP().Do(r); err == nil {
				err = resp.Body.Close()
			}
		}
		answered <- err
	}()
	for slow.Done() == 0 {
		time.Sleep(time.Millisecond)
	}
	slow.End()
	do(t, <-answered)
}

// TestAddress: what a BareMetalHost says of a BMC is what Ironic is told of it.
func TestAddress(t *testing.T) {
	t.Parallel()
	i := metal3test.New(t, metal3test.Options{})
	h := i.AddHost("m1")
	bmc, err := api.ParseBMC(h.BMC(), true)
	do(t, err)
	info := bmc.DriverInfo(metal3test.BMCUser, h.Password())
	info["deploy_iso"] = i.RamdiskURL()
	if diff := gocmp.Diff(h.DriverInfo(), info); diff != "" {
		t.Errorf("driver_info (-host +address):\n%s", diff)
	}
}

// TestSecretsAreMasked: of driver_info the double shows what Ironic shows, alone and in a listing, and it keeps
// the boot interface that a node was enrolled with.
func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	for name, double := range map[string]bool{"double": true, "real": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !double && testing.Short() {
				t.Skip("a real Ironic takes a minute")
			}
			i := metal3test.New(t, metal3test.Options{Double: double})
			c := client(t, i)
			h := i.AddHost("m1")
			info := h.DriverInfo()
			for _, key := range []string{"ipmi_password", "snmp_auth_token", "a_secret", "SSLKey", "ipmi_username", "ipmi_hex_kg_key"} {
				info[key] = "x"
			}
			s := ironic.Spec{UUID: ironic.NodeID("f", "n", "m1"), Name: "m1", Driver: "redfish", DriverInfo: info, Interfaces: map[string]string{"boot": "redfish-virtual-media"}}
			do(t, c.Create(t.Context(), s))
			n, err := c.Node(t.Context(), "m1")
			do(t, err)
			all, err := c.List(t.Context())
			do(t, err)
			want := maps.Clone(info)
			for _, key := range []string{"redfish_password", "ipmi_password", "snmp_auth_token", "a_secret", "SSLKey"} {
				want[key] = "******"
			}
			for where, got := range map[string]ironic.Node{"alone": n, "in a listing": all[0]} {
				if diff := gocmp.Diff(want, got.DriverInfo); diff != "" {
					t.Errorf("driver_info %s (-want +got):\n%s", where, diff)
				}
				if got.Boot != "redfish-virtual-media" {
					t.Errorf("boot interface %s: %q", where, got.Boot)
				}
			}
		})
	}
}

// TestCertificate: whoever trusts the CA trusts the API, at whatever address it is.
func TestCertificate(t *testing.T) {
	t.Parallel()
	for name, listen := range map[string]string{"Default": "", "Other": "127.0.0.2:0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := metal3test.New(t, metal3test.Options{Double: true, Listen: listen})
			trusted := x509.NewCertPool()
			trusted.AppendCertsFromPEM(i.CA())
			c := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}, DisableKeepAlives: true}}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, i.URL()+"/v1/", nil)
			do(t, err)
			resp, err := c.Do(r)
			do(t, err)
			do(t, resp.Body.Close())
		})
	}
}
