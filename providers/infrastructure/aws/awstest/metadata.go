package awstest

import (
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// metadataToken is what the metadata service gives out: it is the same for all.
const metadataToken = "token-of-the-double"

// ServeMetadata serves the metadata of an instance to that instance, which has the address that the request comes from.
// Version 1 of the protocol is answered only where the instance does not require tokens.
// Source: EC2 user guide, "Instance metadata"; cloud-init, DataSourceEc2.py.
func (c *Cloud) ServeMetadata(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.asking(r.RemoteAddr)
	_, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/") // without the version
	switch {
	case t == nil:
		http.Error(w, "no instance has this address", http.StatusNotFound)
	case r.Method == http.MethodPut && path == "api/token":
		w.Header().Set("X-aws-ec2-metadata-token-ttl-seconds", r.Header.Get("X-aws-ec2-metadata-token-ttl-seconds"))
		_, _ = w.Write([]byte(metadataToken))
	case r.Method != http.MethodGet:
		http.Error(w, "405 - Method Not Allowed", http.StatusMethodNotAllowed)
	case t.Attr["httpTokens"] != "optional" && r.Header.Get("X-aws-ec2-metadata-token") != metadataToken:
		http.Error(w, "401 - Unauthorized", http.StatusUnauthorized)
	default:
		body, ok := c.metadata(t, path)
		if !ok {
			http.Error(w, "404 - Not Found", http.StatusNotFound)
			return
		}
		_, _ = w.Write(body)
	}
}

// asking returns the instance that has an address and is not gone.
func (c *Cloud) asking(remote string) *Thing {
	host, _, _ := net.SplitHostPort(remote)
	for _, t := range c.all(Instances) {
		if t.Attr["privateIpAddress"] == host && t.Attr["state"] != "terminated" {
			return t
		}
	}
	return nil
}

// HostName is the private name of an address, as EC2 has it in a region.
func (c *Cloud) HostName(address string) string {
	return "ip-" + strings.ReplaceAll(address, ".", "-") + "." + c.o.Region + ".compute.internal"
}

// metadata returns what is at a path; folders are listed.
func (c *Cloud) metadata(t *Thing, path string) ([]byte, bool) {
	host := c.HostName(t.Attr["privateIpAddress"])
	leaves := map[string]string{
		"meta-data/ami-id": t.Attr["imageId"], "meta-data/instance-id": t.ID, "meta-data/instance-type": t.Attr["instanceType"],
		"meta-data/hostname": host, "meta-data/local-hostname": host, "meta-data/local-ipv4": t.Attr["privateIpAddress"],
		"meta-data/placement/availability-zone": t.Attr["zone"], "meta-data/placement/region": c.o.Region,
	}
	identity, err := json.Marshal(map[string]string{
		"accountId": c.o.Account, "region": c.o.Region, "availabilityZone": t.Attr["zone"], "instanceId": t.ID, "instanceType": t.Attr["instanceType"],
		"imageId": t.Attr["imageId"], "privateIp": t.Attr["privateIpAddress"], "architecture": "x86_64", "version": "2017-09-30",
	})
	if err != nil {
		return nil, false
	}
	leaves["dynamic/instance-identity/document"] = string(identity)
	if role, credentials, ok := c.roleCredentials(t); ok {
		leaves["meta-data/iam/security-credentials/"+role] = credentials
	}
	if data, err := base64.StdEncoding.DecodeString(t.Attr["userData"]); err == nil && len(data) > 0 {
		leaves["user-data"] = string(data)
	}
	if s, ok := leaves[path]; ok {
		return []byte(s), true
	}
	var names []string
	folder := strings.TrimSuffix(path, "/") + "/"
	for leaf := range leaves {
		if rest, ok := strings.CutPrefix(leaf, folder); ok {
			name, _, deeper := strings.Cut(rest, "/")
			if deeper {
				name += "/"
			}
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return []byte(strings.Join(slices.Compact(names), "\n")), len(names) > 0
}

// Targets returns where a load balancer leads to from a port: the instances that run.
func (c *Cloud) Targets(balancer, port string) (out []netip.AddrPort) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.all(Listeners) {
		g := c.get(TargetGroups, l.Attr["group"])
		if l.Attr["balancer"] != balancer || l.Attr["port"] != port || g == nil {
			continue
		}
		for _, id := range g.Sets["targets"] {
			t := c.get(Instances, id)
			if t == nil || t.Attr["state"] != "running" {
				continue
			}
			if at, err := netip.ParseAddrPort(net.JoinHostPort(t.Attr["privateIpAddress"], g.Attr["port"])); err == nil {
				out = append(out, at)
			}
		}
	}
	return out
}
