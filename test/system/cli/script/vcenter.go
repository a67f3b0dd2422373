package script

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	vspherefleet "fairlead.dev/fleet-examples/vsphere"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// vCenterOf is the key of a script's vCenter.
type vCenterOf struct{}

// vCenter starts a simulated vCenter, or waits for VMs in it, or reads their settings:
//
//	vcenter start   sets $VCENTER and $THUMBPRINT, and writes its account to username and
//	                password, and the example of vSphere to fleet-examples
//	vcenter on N    waits until N VMs of a folder of machines are on, for at most a minute
//	vcenter tells R fails where the tags and the user data of a machine that is on do not match
//	                the regular expression R
//
// Guests report addresses of the loopback, at which nothing answers.
func vCenter(ts *testscript.TestScript, neg bool, args []string) {
	at, _ := ts.Value(vCenterOf{}).(**vspheretest.VCenter)
	switch {
	case !neg && len(args) == 1 && args[0] == "start":
		v, err := vspheretest.Start(vspheretest.Options{
			Datacenters: 1, Guest: func(vspheretest.Machine) []string { return []string{"127.0.0.9"} },
		})
		ts.Check(err)
		ts.Defer(bounded("vCenter", script{ts}.Log, v.Close))
		*at = v
		ts.Setenv("VCENTER", v.Server())
		ts.Setenv("THUMBPRINT", v.ThumbprintSHA256())
		for name, text := range map[string]string{"username": vspheretest.Administrator, "password": vspheretest.Password} {
			ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
		}
		ts.Check(os.CopyFS(ts.MkAbs("fleet-examples/vsphere"), vspherefleet.Files()))
		// The embedded copy has no Go files, which the guide removes.
		ts.Check(os.WriteFile(ts.MkAbs("fleet-examples/vsphere/embed.go"), []byte("package vsphere\n"), 0o644))
	case !neg && len(args) == 2 && args[0] == "on":
		want, err := strconv.Atoi(args[1])
		ts.Check(err)
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			var on []string
			for _, m := range (*at).Machines() {
				if m.On && m.ExtraConfig["guestinfo.userdata"] != "" {
					on = append(on, m.Path)
				}
			}
			if len(on) == want {
				ts.Logf("%s", strings.Join(on, "\n"))
				return
			}
			if time.Now().After(deadline) {
				ts.Fatalf("machines that are on: %q", on)
			}
		}
	case !neg && len(args) == 2 && args[0] == "tells":
		pattern, err := regexp.Compile(args[1])
		ts.Check(err)
		for _, m := range (*at).Machines() {
			if m.On && m.ExtraConfig["guestinfo.userdata"] != "" {
				if text := told(ts, m); !pattern.MatchString(text) {
					ts.Fatalf("%s is not told %s:\n%s", m.Path, pattern, text)
				}
			}
		}
	default:
		ts.Fatalf("usage: vcenter start | vcenter on N | vcenter tells REGEXP")
	}
}

// told is what m has of Fairlead: its tags and its user data.
func told(ts *testscript.TestScript, m vspheretest.Machine) string {
	data, err := base64.StdEncoding.DecodeString(m.ExtraConfig["guestinfo.userdata"])
	ts.Check(err)
	if strings.HasPrefix(m.ExtraConfig["guestinfo.userdata.encoding"], "gz") {
		z, err := gzip.NewReader(bytes.NewReader(data))
		ts.Check(err)
		data, err = io.ReadAll(z)
		ts.Check(err)
	}
	return m.ExtraConfig["fairlead.dev/tags"] + "\n" + string(data)
}
