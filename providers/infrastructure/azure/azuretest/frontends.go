package azuretest

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// A Frontend is an address of a load balancer.
type Frontend struct {
	ID, Address string
	Ports       []string
}

// Frontends returns those that are ready.
func (c *Cloud) Frontends() (out []Frontend) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pass()
	for _, k := range slices.Sorted(maps.Keys(c.res)) {
		lb := c.res[k]
		if lb.kind != "loadbalancers" || lb.state() == "Creating" || lb.state() == "Deleting" {
			continue
		}
		for _, x := range listOf(properties(lb.body)["frontendIPConfigurations"]) {
			p := properties(objectOf(x))
			f := Frontend{ID: textOf(objectOf(x)["id"]), Address: textOf(p["privateIPAddress"])}
			if ip := c.res[strings.ToLower(idIn(p, "publicIPAddress"))]; ip != nil {
				f.Address = textOf(properties(ip.body)["ipAddress"])
			}
			for _, rule := range c.rules(lb, f.ID) {
				f.Ports = append(f.Ports, fmt.Sprint(number(rule["frontendPort"])))
			}
			out = append(out, f)
		}
	}
	return out
}

// idIn returns the id of a reference.
func idIn(p object, name string) string { return textOf(objectOf(p[name])["id"]) }

// rules returns the properties of those of a load balancer that lead from a frontend.
func (c *Cloud) rules(lb *resource, frontend string) (out []object) {
	for _, x := range listOf(properties(lb.body)["loadBalancingRules"]) {
		if p := properties(objectOf(x)); strings.EqualFold(idIn(p, "frontendIPConfiguration"), frontend) {
			out = append(out, p)
		}
	}
	return out
}

// A Target is where a load balancer leads to if its probe succeeds.
type Target struct {
	netip.AddrPort
	Probe    string // URL, by TLS without a check of the certificate
	Interval int    // of probes, in seconds
}

// Targets returns those of a frontend at a port: interfaces in the pool, of VMs that run.
func (c *Cloud) Targets(frontend, port string) (out []Target) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pass()
	lb := c.partOf(strings.ToLower(frontend))
	if lb == nil {
		return nil
	}
	for _, rule := range c.rules(lb, frontend) {
		if fmt.Sprint(number(rule["frontendPort"])) != port {
			continue
		}
		probe := object{}
		for _, x := range listOf(properties(lb.body)["probes"]) {
			if strings.EqualFold(textOf(objectOf(x)["id"]), idIn(rule, "probe")) {
				probe = properties(objectOf(x))
			}
		}
		for _, vm := range c.placed() {
			if !vm.on() || !c.isBehind(vm, idIn(rule, "backendAddressPool")) {
				continue
			}
			address, err := netip.ParseAddr(vm.place)
			if err != nil {
				continue
			}
			t := Target{AddrPort: netip.AddrPortFrom(address, uint16(number(rule["backendPort"]))), Interval: number(probe["intervalInSeconds"])} //nolint:gosec // a port
			if probe["protocol"] == "Https" {
				t.Probe = fmt.Sprintf("https://%s:%d%v", address, number(probe["port"]), probe["requestPath"])
			}
			out = append(out, t)
		}
	}
	return out
}

// isBehind reports whether the first interface of a VM is in a pool.
func (c *Cloud) isBehind(vm *resource, pool string) bool {
	for _, x := range listOf(objectOf(properties(vm.body)["networkProfile"])["networkInterfaces"]) {
		nic := c.res[strings.ToLower(textOf(objectOf(x)["id"]))]
		if nic == nil {
			continue
		}
		for _, conf := range listOf(properties(nic.body)["ipConfigurations"]) {
			p := properties(objectOf(conf))
			if p["privateIPAddress"] == vm.place && slices.ContainsFunc(listOf(p["loadBalancerBackendAddressPools"]), func(x any) bool { return strings.EqualFold(textOf(objectOf(x)["id"]), pool) }) {
				return true
			}
		}
	}
	return false
}

// Lookup returns the address of a name: of a public address, a record of a private zone, or a VM.
func (c *Cloud) Lookup(name string) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.res {
		p := properties(r.body)
		switch r.kind {
		case "publicipaddresses":
			if strings.EqualFold(textOf(objectOf(p["dnsSettings"])["fqdn"]), name) {
				return textOf(p["ipAddress"]), true
			}
		case "a":
			zone := strings.Split(r.id, "/")
			if records := listOf(p["aRecords"]); len(records) > 0 && strings.EqualFold(nameOf(r.id)+"."+zone[len(zone)-3], name) {
				return textOf(objectOf(records[0])["ipv4Address"]), true
			}
		case "virtualmachines":
			if r.place != "" && strings.EqualFold(nameOf(r.id), name) {
				return r.place, true
			}
		}
	}
	return "", false
}
