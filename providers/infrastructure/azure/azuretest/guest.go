package azuretest

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
)

// A Guest is a VM of which Options.Place said where it is.
type Guest struct {
	ID      string // vmId
	Name    string
	Address string
	Runs    bool
}

// Guests returns the VMs that are there.
func (c *Cloud) Guests() (out []Guest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pass()
	for _, vm := range c.placed() {
		out = append(out, Guest{ID: vmID(vm), Name: nameOf(vm.id), Address: vm.place, Runs: vm.on()})
	}
	return out
}

func vmID(vm *resource) string { return fmt.Sprint(properties(vm.body)["vmId"]) }

// placed returns the VMs that have a place, sorted.
func (c *Cloud) placed() (out []*resource) {
	for _, k := range slices.Sorted(maps.Keys(c.res)) {
		if vm := c.res[k]; vm.place != "" {
			out = append(out, vm)
		}
	}
	return out
}

// on reports whether a VM runs.
func (r *resource) on() bool {
	view := objectOf(properties(r.body)["instanceView"])
	return r.state() != "Deleting" && slices.ContainsFunc(listOf(view["statuses"]), func(s any) bool { return objectOf(s)["code"] == powerRunning })
}

// asking returns the VM that has the address which a request comes from; nil: there is none.
func (c *Cloud) asking(r *http.Request) *resource {
	c.pass()
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	for _, vm := range c.placed() {
		if vm.place == host && vm.on() {
			return vm
		}
	}
	return nil
}

// ServeMetadata serves the metadata of a VM to that VM, which has the address that the request comes from.
// Source: Azure documentation, "Azure Instance Metadata Service".
func (c *Cloud) ServeMetadata(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	vm, query := c.asking(r), r.URL.Query()
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	bad := func(status int, why string) { reply(w, status, object{"error": why}) }
	switch {
	case vm == nil:
		bad(http.StatusNotFound, "no VM has this address")
		return
	case r.Method != http.MethodGet:
		bad(http.StatusMethodNotAllowed, "Method not allowed.")
		return
	case !strings.EqualFold(r.Header.Get("Metadata"), "true"), r.Header.Get("X-Forwarded-For") != "":
		bad(http.StatusBadRequest, "Bad request. Required metadata header not specified, or the request was forwarded.")
		return
	case query.Get("api-version") == "":
		reply(w, http.StatusBadRequest, object{"error": "Bad request. api-version is invalid or was not specified in the request.", "newest-versions": []string{"2021-12-13", "2021-08-01"}})
		return
	case len(path) < 2 || path[0] != "metadata" || path[1] != "instance":
		bad(http.StatusNotFound, "Not found.")
		return
	}
	var at any = c.metadata(vm)
	for _, name := range path[2:] {
		o, _ := at.(object)
		if at = o[name]; at == nil {
			bad(http.StatusNotFound, "Not found.")
			return
		}
	}
	if leaf, ok := at.(string); ok && query.Get("format") == "text" {
		_, _ = w.Write([]byte(leaf))
		return
	}
	reply(w, http.StatusOK, at)
}

// metadata returns what a VM is told about itself. Its custom data is not in it.
func (c *Cloud) metadata(vm *resource) object {
	p := properties(vm.body)
	os, size := objectOf(p["osProfile"]), objectOf(p["hardwareProfile"])["vmSize"]
	linux := objectOf(os["linuxConfiguration"])
	keys := []any{}
	for _, k := range listOf(objectOf(linux["ssh"])["publicKeys"]) {
		keys = append(keys, object{"keyData": objectOf(k)["keyData"], "path": objectOf(k)["path"]})
	}
	tags, list := tagsOf(vm.body), []any{}
	var text []string
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, object{"name": k, "value": tags[k]})
		text = append(text, k+":"+tags[k])
	}
	zone := ""
	if zones := listOf(vm.body["zones"]); len(zones) > 0 {
		zone = fmt.Sprint(zones[0])
	}
	seg := strings.Split(vm.id, "/")
	compute := object{
		"azEnvironment": "AzurePublicCloud", "location": vm.body["location"], "name": nameOf(vm.id), "osType": "Linux", "provider": "Microsoft.Compute",
		"resourceGroupName": seg[4], "resourceId": vm.id, "subscriptionId": Subscription, "vmId": vmID(vm), "vmSize": size, "zone": zone, "vmScaleSetName": "",
		"osProfile": object{
			"adminUsername": os["adminUsername"], "computerName": os["computerName"], "disablePasswordAuthentication": fmt.Sprint(linux["disablePasswordAuthentication"]),
		},
		"publicKeys": keys, "tags": strings.Join(text, ";"), "tagsList": list, "customData": "", "userData": "",
		"priority": textOf(p["priority"]), "evictionPolicy": textOf(p["evictionPolicy"]),
	}
	if data, ok := p["userData"].(string); ok {
		compute["userData"] = data
	}
	none := object{"ipAddress": []any{}}
	return object{"compute": compute, "network": object{"interface": []any{object{
		"macAddress": "000D3A000000", "ipv6": none,
		"ipv4": object{"ipAddress": []any{object{"privateIpAddress": vm.place, "publicIpAddress": ""}}, "subnet": []any{object{"address": "", "prefix": "24"}}},
	}}}}
}

// textOf returns a text that may be left out.
func textOf(v any) string { s, _ := v.(string); return s }

// goalState is what the wire server asks of a VM.
type goalState struct {
	XMLName     xml.Name `xml:"GoalState"`
	Version     string   `xml:"Version"`
	Incarnation int      `xml:"Incarnation"`
	Container   string   `xml:"Container>ContainerId"`
	Instance    string   `xml:"Container>RoleInstanceList>RoleInstance>InstanceId"`
	State       string   `xml:"Container>RoleInstanceList>RoleInstance>State"`
}

// health is what a VM reports.
type health struct {
	Incarnation int    `xml:"GoalStateIncarnation"`
	Container   string `xml:"Container>ContainerId"`
	Instance    string `xml:"Container>RoleInstanceList>Role>InstanceId"`
	State       string `xml:"Container>RoleInstanceList>Role>Health>State"`
	Description string `xml:"Container>RoleInstanceList>Role>Health>Details>Description"`
}

// ServeWire is the wire server of a VM, which has the address that the request comes from. A VM that reports that it is
// ready is created; one that reports that it is not has failed, and runs.
// Source: cloud-init, sources/helpers/azure.py; WALinuxAgent, protocol/wire.py.
func (c *Cloud) ServeWire(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	vm := c.asking(r)
	path, what := strings.Trim(r.URL.Path, "/"), r.URL.Query().Get("comp")
	switch {
	case vm == nil:
		http.Error(w, "no VM has this address", http.StatusNotFound)
	case r.Header.Get("X-Ms-Version") == "":
		http.Error(w, "the header x-ms-version is missing", http.StatusBadRequest)
	case r.Method == http.MethodGet && path == "machine" && what == "goalstate":
		w.Header().Set("Content-Type", "text/xml; charset=utf-8")
		_, _ = w.Write([]byte(xml.Header))
		_ = xml.NewEncoder(w).Encode(goalState{Version: "2012-11-30", Incarnation: 1, Container: "container-" + vmID(vm), Instance: vmID(vm), State: "Started"}) // who asked is gone
	case r.Method == http.MethodPost && path == "machine" && what == "health":
		var is health
		if err := xml.NewDecoder(r.Body).Decode(&is); err != nil || is.Incarnation != 1 || is.Container != "container-"+vmID(vm) || is.Instance != vmID(vm) {
			http.Error(w, "the report is not of the goal state", http.StatusBadRequest)
			return
		}
		c.reported(vm, is)
	default:
		http.Error(w, "not found", http.StatusNotFound)
	}
}

// reported does what the report of a VM leads to.
func (c *Cloud) reported(vm *resource, is health) {
	switch {
	case vm.state() != "Creating":
	case is.State == "Ready":
		c.created(vm)
	default:
		properties(vm.body)["provisioningState"] = "Failed"
		properties(vm.body)["instanceView"] = object{"statuses": []any{object{"code": "ProvisioningState/failed/OSProvisioningClientError", "message": is.Description}, object{"code": powerRunning}}}
		c.stamp(vm)
	}
}

// Medium returns the file ovf-env.xml of the medium that a VM finds when it is created: it has the custom data.
// Source: cloud-init, OvfEnvXml of sources/helpers/azure.py.
func (c *Cloud) Medium(id string) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.placed()
	i := slices.IndexFunc(all, func(vm *resource) bool { return vmID(vm) == id })
	if i < 0 {
		return nil, false
	}
	os := objectOf(properties(all[i].body)["osProfile"])
	var out bytes.Buffer
	out.WriteString(xml.Header + `<Environment xmlns="http://schemas.dmtf.org/ovf/environment/1" xmlns:wa="http://schemas.microsoft.com/windowsazure">
<wa:ProvisioningSection><wa:Version>1.0</wa:Version><wa:LinuxProvisioningConfigurationSet>
<wa:ConfigurationSetType>LinuxProvisioningConfiguration</wa:ConfigurationSetType>
`)
	for _, e := range [][2]string{
		{"HostName", textOf(os["computerName"])},
		{"UserName", textOf(os["adminUsername"])},
		{"DisableSshPasswordAuthentication", fmt.Sprint(objectOf(os["linuxConfiguration"])["disablePasswordAuthentication"])},
		{"CustomData", base64.StdEncoding.EncodeToString([]byte(all[i].runs))},
	} {
		out.WriteString("<wa:" + e[0] + ">")
		_ = xml.EscapeText(&out, []byte(e[1])) // a buffer takes all
		out.WriteString("</wa:" + e[0] + ">\n")
	}
	out.WriteString(`</wa:LinuxProvisioningConfigurationSet></wa:ProvisioningSection>
<wa:PlatformSettingsSection><wa:Version>1.0</wa:Version><wa:PlatformSettings><wa:ProvisionGuestAgent>true</wa:ProvisionGuestAgent></wa:PlatformSettings></wa:PlatformSettingsSection>
</Environment>
`)
	return out.Bytes(), true
}
