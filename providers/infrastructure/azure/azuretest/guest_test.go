package azuretest_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"fairlead.dev/providers/infrastructure/azure/azuretest"
)

const (
	group    = "/subscriptions/" + azuretest.Subscription + "/resourceGroups/rg"
	vm       = group + "/providers/Microsoft.Compute/virtualMachines/vm-1"
	nic      = group + "/providers/Microsoft.Network/networkInterfaces/vm-1-nic"
	subnet   = group + "/providers/Microsoft.Network/virtualNetworks/v/subnets/s"
	address  = group + "/providers/Microsoft.Network/publicIPAddresses/ip"
	lb       = group + "/providers/Microsoft.Network/loadBalancers/lb"
	frontend = lb + "/frontendIPConfigurations/front"
	userData = "#cloud-config\n{}\n"
)

// A world is a cloud with a network, whose VMs live at 10.77.0.11.
type world struct {
	*testing.T
	*azuretest.Cloud
	bearer string
}

func newWorld(t *testing.T) *world {
	taken := false
	w := &world{T: t, Cloud: azuretest.New(azuretest.Options{Fast: true, Place: func() (string, bool) {
		was := taken
		taken = true
		return "10.77.0.11", !was
	}})}
	form := url.Values{"client_id": {azuretest.ClientID}, "client_secret": {azuretest.Password}}
	q := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/"+azuretest.Tenant+"/oauth2/v2.0/token", strings.NewReader(form.Encode()))
	q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	var login struct {
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal([]byte(w.ask(w, q).body), &login); err != nil {
		t.Fatal(err)
	}
	w.bearer = login.Token
	w.Cloud.Put(subnet[:strings.Index(subnet, "/subnets")], map[string]any{"location": azuretest.Location})
	w.Cloud.Put(subnet, map[string]any{"properties": map[string]any{"addressPrefix": "10.77.0.0/16"}})
	w.Cloud.Put(address, map[string]any{"properties": map[string]any{"ipAddress": "20.0.0.9", "dnsSettings": map[string]any{"fqdn": "api.westeurope.cloudapp.azure.com"}}})
	w.put(lb, map[string]any{"location": azuretest.Location, "properties": map[string]any{
		"frontendIPConfigurations": []any{map[string]any{"name": "front", "properties": map[string]any{"publicIPAddress": map[string]any{"id": address}}}},
		"backendAddressPools":      []any{map[string]any{"name": "pool"}},
		"probes":                   []any{map[string]any{"name": "ready", "properties": map[string]any{"protocol": "Https", "port": 6443, "requestPath": "/readyz", "intervalInSeconds": 15}}},
		"loadBalancingRules": []any{map[string]any{"name": "api", "properties": map[string]any{
			"frontendPort": 443, "backendPort": 6443, "frontendIPConfiguration": map[string]any{"id": frontend},
			"backendAddressPool": map[string]any{"id": lb + "/backendAddressPools/pool"}, "probe": map[string]any{"id": lb + "/probes/ready"},
		}}},
	}}, http.StatusCreated)
	return w
}

// An answer is one of HTTP.
type answer struct {
	status int
	body   string
}

func (w *world) ask(h http.Handler, q *http.Request) answer {
	r := httptest.NewRecorder()
	h.ServeHTTP(r, q)
	return answer{r.Code, r.Body.String()}
}

func (w *world) put(id string, body any, want int) {
	w.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		w.Fatal(err)
	}
	q := httptest.NewRequestWithContext(w.Context(), http.MethodPut, id+"?api-version=1", strings.NewReader(string(data)))
	q.Header.Set("Authorization", "Bearer "+w.bearer)
	if got := w.ask(w, q); got.status != want {
		w.Fatalf("PUT %s = %+v, want the status %d", id, got, want)
	}
}

// create makes a VM of the spot market behind the load balancer.
func (w *world) create(name, eviction string, want int) {
	w.Helper()
	w.put(group+"/providers/Microsoft.Compute/virtualMachines/"+name, map[string]any{"location": azuretest.Location, "zones": []string{"2"}, "tags": map[string]string{"pool": "md-0"}, "properties": map[string]any{
		"priority": "Spot", "evictionPolicy": eviction, "hardwareProfile": map[string]any{"vmSize": "Standard_D4s_v5"},
		"osProfile": map[string]any{"computerName": name, "adminUsername": "capi", "customData": base64.StdEncoding.EncodeToString([]byte(userData)), "linuxConfiguration": map[string]any{
			"disablePasswordAuthentication": true, "ssh": map[string]any{"publicKeys": []any{map[string]any{"path": "/home/capi/.ssh/authorized_keys", "keyData": "ssh-ed25519 AAAA"}}},
		}},
		"networkProfile": map[string]any{"networkInterfaceConfigurations": []any{map[string]any{"name": name + "-nic", "properties": map[string]any{"deleteOption": "Delete", "primary": true, "ipConfigurations": []any{
			map[string]any{"name": "a", "properties": map[string]any{"subnet": map[string]any{"id": subnet}, "loadBalancerBackendAddressPools": []any{map[string]any{"id": lb + "/backendAddressPools/pool"}}}},
		}}}}},
	}}, want)
}

// from sends a request of the VM at an address. Headers are pairs.
func (w *world) from(host string, h http.HandlerFunc, method, path, body string, headers ...string) answer {
	q := httptest.NewRequestWithContext(w.Context(), method, path, strings.NewReader(body))
	q.RemoteAddr = host + ":40000"
	for i := 0; i < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	return w.ask(h, q)
}

// state returns that of the VM, and its power state.
func (w *world) state() string {
	r, _ := w.Resource(vm)
	properties, _ := r.Body["properties"].(map[string]any)
	return fmt.Sprint(r.State, " ", properties["instanceView"])
}

func TestGuestReports(t *testing.T) {
	for name, c := range map[string]struct{ report, state, want string }{
		"it is ready":     {state: "Ready", want: "Succeeded"},
		"it is not ready": {state: "NotReady", want: "Failed"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create("vm-1", "Delete", http.StatusCreated)
			if got := w.state(); !strings.HasPrefix(got, "Creating") || !strings.Contains(got, "PowerState/running") {
				t.Errorf("a VM that boots is %s, want Creating and PowerState/running", got)
			}
			wire := func(method, path, body string) answer {
				return w.from("10.77.0.11", w.ServeWire, method, path, body, "x-ms-version", "2012-11-30")
			}
			var goal struct {
				Incarnation string
				Container   string `xml:"Container>ContainerId"`
				Instance    string `xml:"Container>RoleInstanceList>RoleInstance>InstanceId"`
			}
			if err := xml.Unmarshal([]byte(wire(http.MethodGet, "/machine/?comp=goalstate", "").body), &goal); err != nil {
				t.Fatal(err)
			}
			report := "<Health><GoalStateIncarnation>" + goal.Incarnation + "</GoalStateIncarnation><Container><ContainerId>%s</ContainerId><RoleInstanceList><Role><InstanceId>" +
				goal.Instance + "</InstanceId><Health><State>" + c.state + "</State></Health></Role></RoleInstanceList></Container></Health>"
			if got := wire(http.MethodPost, "/machine?comp=health", fmt.Sprintf(report, "another")); got.status != http.StatusBadRequest {
				t.Errorf("the report of another container = %+v, want it refused", got)
			}
			if got := wire(http.MethodPost, "/machine?comp=health", fmt.Sprintf(report, goal.Container)); got.status != http.StatusOK {
				t.Errorf("a report = %+v, want it taken", got)
			}
			if got := w.state(); !strings.HasPrefix(got, c.want) || !strings.Contains(got, "PowerState/running") {
				t.Errorf("a VM that reports %s is %s, want %s and PowerState/running", c.state, got, c.want)
			}
		})
	}
}

func TestGuestMetadata(t *testing.T) {
	w := newWorld(t)
	w.create("vm-1", "Delete", http.StatusCreated)
	const all, leaf = "/metadata/instance?api-version=2021-08-01&extended=true", "/metadata/instance/compute/zone?api-version=2021-02-01&format=text"
	for name, c := range map[string]struct {
		host, path string
		headers    []string
		want       int
	}{
		"it asks":              {"10.77.0.11", all, []string{"Metadata", "true"}, http.StatusOK},
		"without the header":   {"10.77.0.11", all, nil, http.StatusBadRequest},
		"through a proxy":      {"10.77.0.11", all, []string{"Metadata", "true", "X-Forwarded-For", "10.244.0.7"}, http.StatusBadRequest},
		"without a version":    {"10.77.0.11", "/metadata/instance", []string{"Metadata", "true"}, http.StatusBadRequest},
		"of another address":   {"10.77.0.12", all, []string{"Metadata", "true"}, http.StatusNotFound},
		"of what is not there": {"10.77.0.11", "/metadata/attested?api-version=2021-02-01", []string{"Metadata", "true"}, http.StatusNotFound},
	} {
		if got := w.from(c.host, w.ServeMetadata, http.MethodGet, c.path, "", c.headers...); got.status != c.want {
			t.Errorf("%s: %+v, want the status %d", name, got, c.want)
		}
	}
	if got := w.from("10.77.0.11", w.ServeMetadata, http.MethodGet, leaf, "", "Metadata", "true"); got.body != "2" {
		t.Errorf("the zone is %q, want 2", got.body)
	}
	got := w.from("10.77.0.11", w.ServeMetadata, http.MethodGet, all, "", "Metadata", "true").body
	for _, want := range []string{`"name":"vm-1"`, `"resourceId":"` + vm + `"`, `"tags":"pool:md-0"`, `"keyData":"ssh-ed25519 AAAA"`, `"privateIpAddress":"10.77.0.11"`, `"customData":""`} {
		if !strings.Contains(got, want) {
			t.Errorf("the metadata %s lacks %s", got, want)
		}
	}
	medium, _ := w.Medium(w.Guests()[0].ID)
	for _, want := range []string{"<wa:HostName>vm-1</wa:HostName>", "<wa:UserName>capi</wa:UserName>", "<wa:CustomData>" + base64.StdEncoding.EncodeToString([]byte(userData)) + "</wa:CustomData>"} {
		if !strings.Contains(string(medium), want) {
			t.Errorf("the medium %s lacks %s", medium, want)
		}
	}
	if err := xml.Unmarshal(medium, new(struct{})); err != nil {
		t.Errorf("the medium is no XML: %v", err)
	}
}

func TestGuestHasNoRoom(t *testing.T) {
	w := newWorld(t)
	w.create("vm-1", "Delete", http.StatusCreated)
	w.create("vm-2", "Delete", http.StatusConflict)
	if got := len(w.Guests()); got != 1 {
		t.Errorf("%d VMs are there, want the first one", got)
	}
}

func TestGuestIsEvicted(t *testing.T) {
	w := newWorld(t)
	w.create("vm-1", "Deallocate", http.StatusCreated)
	if !w.Evict(vm) || w.Guests()[0].Runs {
		t.Errorf("after its eviction %+v, want it stopped", w.Guests())
	}
	w = newWorld(t)
	w.create("vm-1", "Delete", http.StatusCreated)
	if !w.Evict(vm) || len(w.Guests()) != 0 {
		t.Errorf("after its eviction %+v, want it gone", w.Guests())
	}
	if _, ok := w.Resource(nic); ok {
		t.Error("its interface stays")
	}
}

func TestFrontends(t *testing.T) {
	w := newWorld(t)
	fronts := w.Frontends()
	if len(fronts) != 1 || fronts[0].ID != frontend || fronts[0].Address != "20.0.0.9" || fmt.Sprint(fronts[0].Ports) != "[443]" {
		t.Fatalf("the frontends are %+v", fronts)
	}
	if got := w.Targets(frontend, "443"); len(got) != 0 {
		t.Errorf("without a VM it leads to %v", got)
	}
	w.create("vm-1", "Deallocate", http.StatusCreated)
	got := w.Targets(frontend, "443")
	if len(got) != 1 || got[0].String() != "10.77.0.11:6443" || got[0].Probe != "https://10.77.0.11:6443/readyz" || got[0].Interval != 15 {
		t.Errorf("it leads to %+v, want to the VM", got)
	}
	if got := w.Targets(frontend, "80"); len(got) != 0 {
		t.Errorf("from a port without a rule it leads to %v", got)
	}
	for name, want := range map[string]string{"api.westeurope.cloudapp.azure.com": "20.0.0.9", "vm-1": "10.77.0.11", "nothing": ""} {
		if got, _ := w.Lookup(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	w.Evict(vm)
	if got := w.Targets(frontend, "443"); len(got) != 0 {
		t.Errorf("it leads to %v, which is off", got)
	}
	w = newWorld(t)
	w.create("vm-1", "Delete", http.StatusCreated)
	w.Edit(nic, func(body map[string]any) {
		properties, _ := body["properties"].(map[string]any)
		list, _ := properties["ipConfigurations"].([]any)
		conf, _ := list[0].(map[string]any)
		of, _ := conf["properties"].(map[string]any)
		delete(of, "loadBalancerBackendAddressPools")
	})
	if got := w.Targets(frontend, "443"); len(got) != 0 {
		t.Errorf("it leads to %v, which is not in its pool", got)
	}
}
