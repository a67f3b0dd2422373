package machine_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
)

// settings returns the extra configuration of a clone.
func settings(t *testing.T, s *types.VirtualMachineCloneSpec) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for _, o := range s.Config.ExtraConfig {
		v := o.GetOptionValue()
		out[v.Key], _ = v.Value.(string)
	}
	return out
}

// TestUserData: what a machine boots with arrives whole, in the form that its encoding says.
func TestUserData(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // what no compression makes smaller
	noise := make([]byte, 49149)
	for i := range noise {
		noise[i] = byte('!' + chance.IntN(90))
	}
	repeated := strings.Repeat("a line that is there again and again\n", 4000)
	for reason, tc := range map[string]struct {
		format, content, key, encoding string
		kind                           fleet.ErrorKind
	}{
		"cloud-init":               {"cloud-config", "#cloud-config\n{}\n", "guestinfo.userdata", "base64", ""},
		"cloud-init, at the limit": {"cloud-config", string(noise), "guestinfo.userdata", "base64", ""},
		"cloud-init, large":        {"cloud-config", repeated, "guestinfo.userdata", "gzip+base64", ""},
		"cloud-init, too large":    {"cloud-config", string(noise) + string(noise), "", "", fleet.Invalid},
		"Ignition":                 {"ignition", "{}", "guestinfo.ignition.config.data", "base64", ""},
		"Ignition, large":          {"ignition", `{"a":"` + strings.ReplaceAll(repeated, "\n", " ") + `"}`, "guestinfo.ignition.config.data", "gzip+base64", ""},
		"Ignition, too large":      {"ignition", string(noise) + string(noise), "", "", fleet.Invalid},
		"another":                  {"papyrus", "…", "", "", fleet.Invalid},
	} {
		_, s, err := machine.Clone(request(func(r *machine.Request) {
			r.UserData = providers.UserData{Format: tc.format, Content: fleet.NewSecret([]byte(tc.content))}
		}))
		if tc.kind != "" {
			if fleet.KindOf(err) != tc.kind {
				t.Errorf("%s: %v, want kind %s", reason, err, tc.kind)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", reason, err)
			continue
		}
		got := settings(t, s)
		if len(got[tc.key]) > 65535 || got[tc.key+".encoding"] != tc.encoding {
			t.Errorf("%s: %d characters as %q, want at most 65535 as %q", reason, len(got[tc.key]), got[tc.key+".encoding"], tc.encoding)
		}
		if is := plain(t, got[tc.key], tc.encoding); is != tc.content {
			t.Errorf("%s: %.40q… arrives, want %.40q…", reason, is, tc.content)
		}
		other := map[string]string{"guestinfo.userdata": "guestinfo.ignition.config.data", "guestinfo.ignition.config.data": "guestinfo.userdata"}[tc.key]
		for _, k := range []string{other, other + ".encoding", "guestinfo.metadata", "guestinfo.vendordata"} {
			if v, there := got[k]; !there || v != "" {
				t.Errorf("%s: %s of the template is inherited", reason, k)
			}
		}
	}
}

func plain(t *testing.T, value, encoding string) string {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		t.Fatal(err)
	}
	if encoding == "base64" {
		return string(data)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	data, err = io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestNodeIDOfIgnition: Ignition fills in no variables, so the id is in its files, however
// they are written.
func TestNodeIDOfIgnition(t *testing.T) {
	const variable = "provider-id: '{{ ds.meta_data.provider_id }}'"
	for reason, source := range map[string]string{
		"plain":  "data:," + url.PathEscape(variable),
		"base64": "data:;base64," + base64.StdEncoding.EncodeToString([]byte(variable)),
	} {
		config := fmt.Sprintf(`{"ignition":{"version":"3.3.0"},"storage":{"files":[{"path":"/a","contents":{"source":%q}},{"path":"/b"}]}}`, source)
		_, s, err := machine.Clone(request(func(r *machine.Request) {
			r.UserData = providers.UserData{Format: "ignition", Content: fleet.NewSecret([]byte(config))}
		}))
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Storage struct {
				Files []struct{ Contents struct{ Source string } }
			}
		}
		if err := json.Unmarshal([]byte(plain(t, settings(t, s)["guestinfo.ignition.config.data"], "base64")), &got); err != nil {
			t.Fatal(err)
		}
		want := "data:;base64," + base64.StdEncoding.EncodeToString([]byte("provider-id: 'vsphere://"+m0+"'"))
		if got.Storage.Files[0].Contents.Source != want {
			t.Errorf("%s: the file is %s, want %s", reason, got.Storage.Files[0].Contents.Source, want)
		}
	}
}
