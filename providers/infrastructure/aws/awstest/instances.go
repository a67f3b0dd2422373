package awstest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Source: EC2 user guide, "Run commands when you launch an EC2 instance".
const maxUserData = 16384

// passInstance lets an instance run, or end.
func (c *Cloud) passInstance(t *Thing, now time.Time) {
	switch {
	case t.Attr["state"] == "shutting-down" && now.Sub(t.Gone) >= c.o.Delays.Terminate:
		c.end(t, "")
	case t.Attr["state"] == "pending" && t.Attr["fails"] != "":
		if now.Sub(t.Made) >= c.o.Delays.Start/2 {
			c.end(t, t.Attr["fails"])
		}
	case t.Attr["state"] == "pending" && now.Sub(t.Made) >= c.o.Delays.Start:
		t.Attr["state"] = "running"
	}
}

// end terminates an instance.
func (c *Cloud) end(t *Thing, reason string) {
	t.Attr["state"] = "terminated"
	if reason != "" {
		t.Attr["stateReason"] = reason
	}
	if t.Gone.IsZero() {
		t.Gone = time.Now()
	}
	for _, i := range c.things {
		if i.Kind == Interfaces && i.Attr["given"] == t.ID { // which was there before, and stays
			delete(i.Attr, "given")
			delete(i.Attr, "instanceId")
		}
	}
	c.drop(Interfaces, "instanceId", t.ID)
	c.drop(Volumes, "instanceId", t.ID)
}

func (c *Cloud) describeInstances(r request) (any, error) {
	found, next, err := c.listed(r, listing{kind: Instances, ids: "InstanceId", absent: "InvalidInstanceID.NotFound"})
	if err != nil {
		return nil, err
	}
	out := el("reservationSet")
	for _, t := range found {
		out.kids = append(out.kids, el("item", text("reservationId", "r-"+t.ID), items("instancesSet", "item", c.shownInstance(t))))
	}
	return append([]node{out}, texts("nextToken", next)...), nil
}

func (c *Cloud) shownInstance(t *Thing) []node {
	out := append(texts("instanceId", t.ID, "imageId", t.Attr["imageId"], "instanceType", t.Attr["instanceType"], "subnetId", t.Attr["subnetId"], "vpcId", t.Attr["vpcId"],
		"privateIpAddress", t.Attr["privateIpAddress"], "ipAddress", t.Attr["ipAddress"], "launchTime", t.Made.UTC().Format("2006-01-02T15:04:05.000Z"),
		"instanceLifecycle", t.Attr["instanceLifecycle"], "clientToken", t.Attr["clientToken"]),
		el("instanceState", texts("name", t.Attr["state"])...), el("placement", texts("availabilityZone", t.Attr["zone"])...), shownAddresses6(t), tagSet(t.Tags))
	if name := t.Attr["profile"]; name != "" {
		out = append(out, el("iamInstanceProfile", texts("arn", "arn:aws:iam::"+c.o.Account+":instance-profile/"+name)...))
	}
	if reason := t.Attr["stateReason"]; reason != "" {
		code, _, _ := strings.Cut(reason, ":")
		out = append(out, el("stateReason", texts("code", code, "message", reason)...))
	}
	return out
}

// describeOfferings says which types there are in which zones: all that begin with a letter and a
// digit, but those called rare, which are in the first zone alone.
func (c *Cloud) describeOfferings(r request) (any, error) {
	var out [][]node
	for i := 1; r.Has(fmt.Sprintf("Filter.%d.Name", i)); i++ {
		if r.Get(fmt.Sprintf("Filter.%d.Name", i)) != "instance-type" {
			continue
		}
		for _, name := range r.list(fmt.Sprintf("Filter.%d.Value", i)) {
			for _, z := range c.o.Zones {
				if c.offers(name, z) {
					out = append(out, texts("instanceType", name, "locationType", "availability-zone", "location", z))
				}
			}
		}
	}
	return []node{items("instanceTypeOfferingSet", "item", out...)}, nil
}

// RareType is a type of instances that only the first zone has.
const RareType = "p5.48xlarge"

func (c *Cloud) offers(name, zone string) bool {
	family, size, ok := strings.Cut(name, ".")
	known := ok && len(family) > 1 && slices.Contains([]string{"micro", "small", "medium", "large", "xlarge", "2xlarge", "48xlarge"}, size)
	return known && (name != RareType || zone == c.o.Zones[0])
}

// check returns what is wrong with a request for an instance.
func (c *Cloud) check(r request) (subnet *Thing, groups []string, err error) {
	image := r.Get("ImageId")
	if name, ok := strings.CutPrefix(image, "resolve:ssm:"); ok {
		p := c.find(Parameters, "name", name)
		if p == nil {
			return nil, nil, bad("InvalidParameterValue", "The SSM parameter %s does not exist", name)
		}
		image = p.Attr["value"]
	}
	id, at := r.Get("SubnetId"), "SecurityGroupId"
	if r.Has("NetworkInterface.1.SubnetId") {
		id, at = r.Get("NetworkInterface.1.SubnetId"), "NetworkInterface.1.SecurityGroupId"
	}
	subnet, groups = c.get(Subnets, id), r.list(at)
	if r.Has("NetworkInterface.1.NetworkInterfaceId") {
		if subnet, err = c.checkGiven(r); err != nil {
			return nil, nil, err
		}
	}
	data, bad64 := base64.StdEncoding.DecodeString(r.Get("UserData"))
	switch {
	case c.get(Images, image) == nil:
		return nil, nil, bad("InvalidAMIID.NotFound", "The image id '[%s]' does not exist", image)
	case subnet == nil:
		return nil, nil, bad("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", id)
	case bad64 != nil:
		return nil, nil, bad("InvalidParameterValue", "Invalid BASE64 encoding of user data.")
	case len(data) > maxUserData:
		return nil, nil, bad("InvalidParameterValue", "User data is limited to 16384 bytes")
	case r.Get("KeyName") != "" && c.find(KeyPairs, "keyName", r.Get("KeyName")) == nil:
		return nil, nil, bad("InvalidKeyPair.NotFound", "The key pair '%s' does not exist", r.Get("KeyName"))
	case strings.HasPrefix(r.Get("IamInstanceProfile.Name"), "missing"):
		return nil, nil, bad("InvalidParameterValue", "Value (%s) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name", r.Get("IamInstanceProfile.Name"))
	case len(r.tags("instance")) > 50:
		return nil, nil, bad("TagLimitExceeded", "Maximum number of tags exceeded.")
	}
	if err := c.checkSix(r, subnet); err != nil {
		return nil, nil, err
	}
	for _, g := range groups {
		if t := c.get(Groups, g); t == nil || t.Attr["vpcId"] != subnet.Attr["vpcId"] {
			return nil, nil, bad("InvalidGroup.NotFound", "The security group '%s' does not exist", g)
		}
	}
	return subnet, groups, nil
}

func (c *Cloud) runInstances(r request) (any, error) {
	subnet, groups, err := c.check(r)
	if err != nil {
		return nil, err
	}
	zone, kind := subnet.Attr["zone"], r.Get("InstanceType")
	key := zone + " " + r.Get("ClientToken")
	sum := sha256.Sum256([]byte(r.Encode()))
	digest := hex.EncodeToString(sum[:])
	if was, ok := c.tokens[key]; ok && r.Get("ClientToken") != "" && time.Since(was.made.Made) < tokenFor {
		if was.request != digest {
			return nil, bad("IdempotentParameterMismatch", "Arguments on this idempotent request are inconsistent with arguments used in previous request(s).")
		}
		return []node{text("reservationId", "r-"+was.made.ID), items("instancesSet", "item", c.shownInstance(was.made))}, nil
	}
	given := c.given(r)
	for _, x := range given {
		if x.Attr["instanceId"] != "" {
			return nil, bad("InvalidNetworkInterface.InUse", "Interface: [%s] in use.", x.ID)
		}
	}
	switch {
	case !slices.ContainsFunc(c.o.Zones, func(z string) bool { return c.offers(kind, z) }):
		return nil, bad("InvalidParameterValue", "Invalid value '%s' for InstanceType.", kind)
	case !c.offers(kind, zone):
		return nil, bad("Unsupported", "Your requested instance type (%s) is not supported in your requested Availability Zone (%s).", kind, zone)
	case subnet.Attr["free"] == "0":
		return nil, bad("InsufficientFreeAddressesInSubnet", "There are not enough free addresses in subnet '%s' to satisfy the requested number of instances.", subnet.ID)
	case c.over(Instances):
		return nil, bad("VcpuLimitExceeded", "You have requested more vCPU capacity than your current vCPU limit allows.")
	case r.Get("DryRun") == "true":
		return nil, failure{http.StatusPreconditionFailed, "DryRunOperation", "Request would have succeeded, but DryRun flag is set."}
	case c.full[zone] || c.full[zone+" "+kind]:
		return nil, noCapacity(kind, zone)
	}
	address, room := c.address()
	if !room {
		return nil, noCapacity(kind, zone)
	}
	t := c.add(Instances, map[string]string{
		"state": "pending", "imageId": r.Get("ImageId"), "instanceType": kind, "subnetId": subnet.ID, "vpcId": subnet.Attr["vpcId"], "zone": zone, "fails": c.failing,
		"clientToken": r.Get("ClientToken"), "privateIpAddress": address, "userData": r.Get("UserData"), "keyName": r.Get("KeyName"),
		"profile": r.Get("IamInstanceProfile.Name"), "httpTokens": r.Get("MetadataOptions.HttpTokens"), "hopLimit": r.Get("MetadataOptions.HttpPutResponseHopLimit"),
		"rootSize": r.Get("BlockDeviceMapping.1.Ebs.VolumeSize"), "hostnameType": r.Get("PrivateDnsNameOptions.HostnameType"), "nested": r.Get("CpuOptions.NestedVirtualization"),
	}, r.tags("instance"))
	if r.Get("InstanceMarketOptions.MarketType") == "spot" {
		t.Attr["instanceLifecycle"] = "spot"
	}
	var i *Thing
	if len(given) > 0 {
		i, groups = given[0], given[0].Sets["groups"]
	} else {
		i = c.add(Interfaces, map[string]string{"vpcId": subnet.Attr["vpcId"], "subnetId": subnet.ID, "zone": zone, "instanceId": t.ID}, r.tags("network-interface"))
		i.Sets["groups"] = groups
	}
	for n, x := range given {
		x.Attr["instanceId"], x.Attr["given"], x.Attr["device"] = t.ID, t.ID, fmt.Sprint(n)
	}
	t.Sets["groups"] = groups
	c.giveSix(r, t, subnet)
	if r.Get("NetworkInterface.1.AssociatePublicIpAddress") == "true" {
		t.Attr["ipAddress"], i.Attr["public"] = fmt.Sprintf("203.0.113.%d", c.n%250+1), "yes"
	}
	c.add(Volumes, map[string]string{"state": "in-use", "instanceId": t.ID, "zone": zone}, r.tags("volume"))
	c.tokens[key] = token{t, digest}
	return []node{text("reservationId", "r-"+t.ID), items("instancesSet", "item", c.shownInstance(t))}, nil
}

// address returns the address of the next instance, and whether there is room for one.
func (c *Cloud) address() (string, bool) {
	if c.o.Place != nil {
		return c.o.Place()
	}
	return fmt.Sprintf("10.0.%d.%d", c.n/250%250, c.n%250+1), true
}

func noCapacity(kind, zone string) error {
	return failure{http.StatusInternalServerError, "InsufficientInstanceCapacity", "We currently do not have sufficient " + kind + " capacity in the Availability Zone you requested (" + zone + ")."}
}

func (c *Cloud) terminateInstances(r request) (any, error) {
	var out [][]node
	for _, id := range r.list("InstanceId") {
		t := c.get(Instances, id)
		if t == nil || c.hidden(t) {
			return nil, bad("InvalidInstanceID.NotFound", "The instance ID '%s' does not exist", id)
		}
		if t.Attr["state"] != "terminated" && t.Attr["state"] != "shutting-down" {
			t.Attr["state"], t.Attr["stateReason"], t.Gone = "shutting-down", "Client.UserInitiatedShutdown: User initiated shutdown", time.Now()
		}
		out = append(out, append(texts("instanceId", id), el("currentState", texts("name", t.Attr["state"])...)))
	}
	return []node{items("instancesSet", "item", out...)}, nil
}
