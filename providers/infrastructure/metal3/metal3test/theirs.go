package metal3test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"
)

// A Deployment is what baremetal-operator has Ironic do with a host.
type Deployment struct {
	Node string // name of its node: "namespace~host"
	// Instance is the instance_uuid: the UID of the BareMetalHost. Empty: no machine has the host,
	// which is available.
	Instance string
	Drive    map[string]any // the config drive, as JSON of Ironic's API
}

// Deploy has a host be as baremetal-operator leaves it.
// Source: baremetal-operator, pkg/provisioner/ironic: enrollNode, getInstanceUpdateOpts, Provision.
func (i *Ironic) Deploy(t testing.TB, h *Host, d Deployment) {
	t.Helper()
	made := i.Ask(t, http.MethodPost, "/v1/nodes", map[string]any{
		"name": d.Node, "driver": "redfish", "boot_interface": "redfish-virtual-media", "inspect_interface": "redfish", "driver_info": h.DriverInfo(),
		"automated_clean": false, "properties": map[string]any{"capabilities": "boot_mode:uefi", "cpu_arch": "x86_64"},
	})
	id, _ := made["uuid"].(string)
	i.Ask(t, http.MethodPost, "/v1/ports", map[string]any{"node_uuid": id, "address": h.MAC()})
	i.bring(t, id, map[string]any{"target": "manage"}, "manageable")
	i.bring(t, id, map[string]any{"target": "provide"}, "available")
	if d.Instance == "" {
		return
	}
	i.Ask(t, http.MethodPatch, "/v1/nodes/"+id, []map[string]any{
		{"op": "add", "path": "/instance_uuid", "value": d.Instance},
		{"op": "add", "path": "/instance_info", "value": map[string]any{
			"image_source": i.ImageURL(), "image_disk_format": "raw", "image_os_hash_algo": "sha256", "image_os_hash_value": i.ImageSHA256(),
			"capabilities": map[string]any{}, "root_device": map[string]any{},
		}},
	})
	i.bring(t, id, map[string]any{"target": "active", "configdrive": d.Drive}, "active")
}

// bring has a node brought to a state, and waits until it is there.
func (i *Ironic) bring(t testing.TB, id string, how map[string]any, state string) {
	t.Helper()
	i.Ask(t, http.MethodPut, "/v1/nodes/"+id+"/states/provision", how)
	var got map[string]any
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); {
		if got = i.Ask(t, http.MethodGet, "/v1/nodes/"+id, nil); got["provision_state"] == state {
			return
		}
		if !i.wait(t.Context(), pace) {
			break
		}
	}
	t.Fatalf("%v is %v, and not %s: %v", got["name"], got["provision_state"], state, got["last_error"])
}

// Ask asks Ironic as people and other programs do, and returns the object that it answers.
func (i *Ironic) Ask(t testing.TB, method, path string, body any) map[string]any {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		got, status, err := i.request(t, method, path, text)
		if err != nil {
			t.Fatal(err)
		}
		if status < http.StatusMultipleChoices {
			return got
		}
		if status != http.StatusConflict || time.Now().After(deadline) || !i.wait(t.Context(), pace) { // locked, as while its power is looked at
			t.Fatalf("%s %s: %d %v", method, path, status, got)
		}
	}
}

func (i *Ironic) request(t testing.TB, method, path string, text []byte) (map[string]any, int, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, i.URL()+path, bytes.NewReader(text))
	if err != nil {
		return nil, 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-OpenStack-Ironic-API-Version", "1.81")
	r.SetBasicAuth(User, Password)
	resp, err := i.HTTP().Do(r)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	var out map[string]any
	if err == nil && len(data) > 0 {
		if err = json.Unmarshal(data, &out); err != nil {
			err = fmt.Errorf("%w in %.200q", err, data)
		}
	}
	return out, resp.StatusCode, err
}

// NodeName returns the name of the node of a double with that UUID; empty: there is none.
func (i *Ironic) NodeName(id string) string {
	i.double.mu.Lock()
	defer i.double.mu.Unlock()
	return i.double.nodes[id].text("name")
}

// Lock has the node of a double be locked, as while Ironic looks at its power, until unlock is called.
func (i *Ironic) Lock(name string) (unlock func()) {
	set := func(by any) {
		i.double.mu.Lock()
		defer i.double.mu.Unlock()
		i.double.find(name)["reservation"] = by
	}
	set("lab")
	return func() { set(nil) }
}
