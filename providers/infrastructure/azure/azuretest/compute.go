package azuretest

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// largestCustomData is in bytes, before base64.
const largestCustomData = 65535

// skus are the sizes of the location.
func (c *Cloud) skus() []object {
	var out []object
	for _, size := range c.sizes {
		cores := strings.TrimPrefix(size, "Standard_D")[:1]
		out = append(out, object{"resourceType": "virtualMachines", "name": size, "family": "standardDSv5Family", "capabilities": []object{{"name": "vCPUs", "value": cores}}, "locations": []string{Location}, "locationInfo": []object{{"location": Location, "zones": c.o.Zones}}, "restrictions": []object{}})
	}
	out = append(out, object{"resourceType": "availabilitySets", "name": "Aligned", "capabilities": []object{{"name": "MaximumPlatformFaultDomainCount", "value": strconv.Itoa(c.o.Faults)}}})
	return append(out, object{"resourceType": "disks", "name": "Premium_LRS", "locationInfo": []object{{"location": Location, "zones": c.o.Zones}}})
}

// putVM makes a VM with its interfaces and disks, or completes one.
func (c *Cloud) putVM(w http.ResponseWriter, id string, body object, r *resource) {
	if r != nil {
		c.completeVM(w, body, r)
		return
	}
	p := properties(body)
	hardware, _ := p["hardwareProfile"].(object)
	size := fmt.Sprint(hardware["vmSize"])
	if !slices.Contains(c.sizes, size) {
		refuse(w, http.StatusBadRequest, "InvalidParameter", "The value "+size+" provided for the VM size is not valid.")
		return
	}
	zone := ""
	if list, ok := body["zones"].([]any); ok && len(list) == 1 {
		zone = fmt.Sprint(list[0])
	}
	if zone != "" && !slices.Contains(c.o.Zones, zone) {
		refuse(w, http.StatusBadRequest, "InvalidAvailabilityZone", "The zone(s) '"+zone+"' for resource is not supported.")
		return
	}
	if set := p["availabilitySet"]; set != nil && (zone != "" || p["virtualMachineScaleSet"] != nil || p["priority"] == "Spot" || p["capacityReservation"] != nil) {
		refuse(w, http.StatusBadRequest, "BadRequest", "A VM in an availability set has no zone and no reserved capacity, and is no spot VM.")
		return
	}
	if e := textOf(objectOf(body["extendedLocation"])["name"]); zone != "" && e != "" || c.edgeOf(p) != e { // the codes are not those of Azure
		refuse(w, http.StatusBadRequest, "BadRequest", "The VM is in edge zone '"+e+"' and zone '"+zone+"', and its VNet in edge zone '"+c.edgeOf(p)+"'.")
		return
	}
	if wait := textOf(objectOf(objectOf(p["scheduledEventsProfile"])["terminateNotificationProfile"])["notBeforeTimeout"]); wait != "" && !slices.Contains([]string{"PT5M", "PT10M", "PT15M"}, wait) { // of those that tests have
		refuse(w, http.StatusBadRequest, "InvalidParameter", "notBeforeTimeout is between PT5M and PT15M.")
		return
	}
	more, _ := p["additionalCapabilities"].(object)
	if p["availabilitySet"] != nil && more["ultraSSDEnabled"] == true {
		refuse(w, http.StatusBadRequest, "InvalidParameter", "Ultra Disks are not supported in an availability set.")
		return
	}
	if storage, _ := p["storageProfile"].(object); more["ultraSSDEnabled"] != true && strings.Contains(fmt.Sprint(storage["dataDisks"]), "UltraSSD_LRS") {
		refuse(w, http.StatusBadRequest, "InvalidParameter", "StorageAccountType UltraSSD_LRS can be used only when additionalCapabilities.ultraSSDEnabled is set.")
		return
	}
	os, _ := p["osProfile"].(object)
	data, err := base64.StdEncoding.DecodeString(fmt.Sprint(os["customData"]))
	if os["customData"] != nil && (err != nil || len(data) > largestCustomData) {
		refuse(w, http.StatusBadRequest, "InvalidParameter", "Custom data in OSProfile must be in Base64 encoding and with a maximum length of 87380 characters.")
		return
	}
	storage, _ := p["storageProfile"].(object)
	if image, ok := storage["imageReference"].(object); ok && strings.Contains(fmt.Sprint(image), "missing") {
		refuse(w, http.StatusNotFound, "PlatformImageNotFound", "The platform image is not available.")
		return
	}
	code := c.full[size+" "+zone]
	if code != "" && !strings.HasPrefix(code, "later ") {
		refuse(w, http.StatusConflict, code, "The requested VM size is not available in location '"+Location+"' zones '"+zone+"'. Quota is something else.")
		return
	}
	if why, code := c.missing(id, body); why != "" {
		refuse(w, http.StatusBadRequest, code, why)
		return
	}
	if s := c.withoutSix(p); s != "" {
		refuse(w, http.StatusBadRequest, "InvalidRequestFormat", "Subnet "+s+" has no prefix of IPv6.") // the code is not that of Azure
		return
	}
	if name := c.taken(id, p); name != "" {
		refuse(w, http.StatusConflict, "ResourceExists", name+" already exists.")
		return
	}
	fails := strings.TrimPrefix(code, "later ")
	if fails == "" {
		fails = c.failing
	}
	place, room := "", true
	if c.o.Place != nil && fails == "" {
		place, room = c.o.Place()
	}
	if !room {
		refuse(w, http.StatusConflict, "AllocationFailed", "Allocation failed. We do not have sufficient capacity for the requested VM size in this region.")
		return
	}
	c.n++
	vm := &resource{id: id, kind: "virtualmachines", body: body, made: time.Now(), runs: string(data), place: place}
	body["id"], body["name"] = id, nameOf(id)
	p["vmId"], p["timeCreated"] = fmt.Sprintf("00000000-0000-0000-0000-%012d", c.n), time.Now().UTC().Format(time.RFC3339Nano)
	delete(os, "customData")
	c.res[strings.ToLower(id)] = vm
	c.stamp(vm)
	c.parts(vm)
	c.begin(vm, "Creating", c.o.Start, func() {
		switch {
		case fails != "":
			p["provisioningState"] = "Failed"
			p["instanceView"] = object{"statuses": []any{object{"code": "ProvisioningState/failed/" + fails, "message": "Allocation failed."}}}
		case c.o.Place != nil: // it is created once it reports
			p["instanceView"] = object{"statuses": []any{object{"code": "ProvisioningState/creating"}, object{"code": powerRunning}}}
		default:
			c.created(vm)
		}
	})
	c.accept(w, http.StatusCreated, vm)
}

const powerRunning = "PowerState/running"

// created ends the creation of a VM that runs.
func (c *Cloud) created(vm *resource) {
	properties(vm.body)["instanceView"] = object{"statuses": []any{object{"code": "ProvisioningState/succeeded"}, object{"code": powerRunning}}}
	c.succeed(vm)()
}

// completeVM does what a PUT of Compute does to a VM that is there: what is left out stays.
func (c *Cloud) completeVM(w http.ResponseWriter, body object, r *resource) {
	if os, ok := properties(body)["osProfile"].(object); ok && os["customData"] != nil && fmt.Sprint(os["customData"]) != base64.StdEncoding.EncodeToString([]byte(r.runs)) {
		refuse(w, http.StatusConflict, "PropertyChangeNotAllowed", "Changing property 'customData' is not allowed.")
		return
	}
	if body["tags"] != nil {
		r.body["tags"] = body["tags"]
	}
	c.stamp(r)
	c.begin(r, "Updating", c.o.Make, c.succeed(r))
	c.accept(w, http.StatusOK, r)
}

// diskNames returns the names of the disks of a VM, and of those that go with it.
func diskNames(p object) (all, going []string) {
	storage, _ := p["storageProfile"].(object)
	list, _ := storage["dataDisks"].([]any)
	for _, x := range append([]any{storage["osDisk"]}, list...) {
		d, ok := x.(object)
		if !ok || d["name"] == nil {
			continue
		}
		all = append(all, fmt.Sprint(d["name"]))
		if d["deleteOption"] == "Delete" {
			going = append(going, fmt.Sprint(d["name"]))
		}
	}
	return all, going
}

func groupOf(id string) string { return strings.Join(strings.Split(id, "/")[:5], "/") }

func diskID(vm, name string) string {
	return groupOf(vm) + "/providers/Microsoft.Compute/disks/" + name
}

func nicID(vm, name string) string {
	return groupOf(vm) + "/providers/Microsoft.Network/networkInterfaces/" + name
}

// taken returns the first part of a VM whose name something has.
func (c *Cloud) taken(id string, p object) string {
	disks, _ := diskNames(p)
	for _, name := range disks {
		if r := c.res[strings.ToLower(diskID(id, name))]; r != nil {
			return r.id
		}
	}
	for _, conf := range interfaces(p) {
		if r := c.res[strings.ToLower(nicID(id, fmt.Sprint(conf["name"])))]; r != nil {
			return r.id
		}
	}
	return ""
}

// withoutSix returns the subnet without a range of IPv6 in which a VM is to have an address of IPv6; empty: there is none.
func (c *Cloud) withoutSix(p object) string {
	for _, conf := range interfaces(p) {
		list, _ := properties(conf)["ipConfigurations"].([]any)
		for _, x := range list {
			of := properties(x.(object))
			in, _ := of["subnet"].(object)
			s := c.res[strings.ToLower(fmt.Sprint(in["id"]))]
			if of["privateIPAddressVersion"] == "IPv6" && s != nil && !rangeOf(s, true).IsValid() {
				return s.id
			}
		}
	}
	return ""
}

// edgeOf returns the edge zone of the VNet that a new VM is in.
func (c *Cloud) edgeOf(p object) string {
	for _, conf := range interfaces(p) {
		for _, x := range listOf(properties(conf)["ipConfigurations"]) {
			subnet := strings.ToLower(idIn(properties(objectOf(x)), "subnet"))
			if vnet := c.res[subnet[:max(0, strings.LastIndex(subnet, "/subnets/"))]]; vnet != nil {
				return textOf(objectOf(vnet.body["extendedLocation"])["name"])
			}
		}
	}
	return ""
}

// tagsOfParts is the first version of the API in which the interfaces and public addresses of a new VM have tags.
// Source: azure-sdk-for-go, armcompute, CHANGELOG, 7.1.0.
const tagsOfParts = "2025-04-01"

// hasTaggedParts reports whether an interface of a new VM has tags.
func hasTaggedParts(p object) bool {
	return slices.ContainsFunc(interfaces(p), func(o object) bool { return o["tags"] != nil })
}

func interfaces(p object) []object {
	network, _ := p["networkProfile"].(object)
	list, _ := network["networkInterfaceConfigurations"].([]any)
	var out []object
	for _, x := range list {
		if o, ok := x.(object); ok {
			out = append(out, o)
		}
	}
	return out
}

// parts makes the interfaces and disks of a new VM.
func (c *Cloud) parts(vm *resource) {
	p := properties(vm.body)
	names, _ := diskNames(p)
	for _, name := range names {
		d := c.store(diskID(vm.id, name), object{"location": vm.body["location"], "tags": vm.body["tags"], "managedBy": vm.id, "properties": object{"diskState": "Attached", "owner": object{"id": vm.id}}})
		d.made = vm.made
	}
	var made []any
	network, _ := p["networkProfile"].(object)
	for _, conf := range interfaces(p) {
		of := clone(properties(conf))
		options := of["deleteOption"]
		of["virtualMachine"] = object{"id": vm.id}
		nic := c.store(nicID(vm.id, fmt.Sprint(conf["name"])), object{"location": vm.body["location"], "tags": conf["tags"], "properties": of})
		list, _ := of["ipConfigurations"].([]any)
		for _, x := range list {
			delete(properties(x.(object)), "privateIPAddress")
			c.addressOf(vm, nic, x.(object))
		}
		if len(made) == 0 && len(list) > 0 && vm.place != "" {
			properties(list[0].(object))["privateIPAddress"] = vm.place
		}
		c.name(nic.id, nic.body)
		c.born(nic)
		nic.made = vm.made
		made = append(made, object{"id": nic.id, "properties": object{"primary": of["primary"], "deleteOption": options}})
	}
	if network != nil {
		delete(network, "networkInterfaceConfigurations")
		network["networkInterfaces"] = made
	}
}

// addressOf makes the public address of an address of a new interface.
func (c *Cloud) addressOf(vm, nic *resource, conf object) {
	p := properties(conf)
	public, ok := p["publicIPAddressConfiguration"].(object)
	if !ok {
		return
	}
	delete(p, "publicIPAddressConfiguration")
	of := clone(properties(public))
	id := siblingID(nic.id, "publicIPAddresses", fmt.Sprint(public["name"]))
	p["publicIPAddress"] = object{"id": id, "properties": object{"deleteOption": of["deleteOption"]}}
	delete(of, "deleteOption")
	of["ipConfiguration"] = object{"id": nic.id + "/ipConfigurations/" + fmt.Sprint(conf["name"])}
	r := c.store(id, object{"location": vm.body["location"], "tags": public["tags"], "sku": public["sku"], "properties": of})
	r.made = vm.made
	c.born(r)
}

// goneAddresses takes the public addresses of an interface away that go with it, and sets the others free.
func (c *Cloud) goneAddresses(nic *resource) {
	list, _ := properties(nic.body)["ipConfigurations"].([]any)
	for _, x := range list {
		o, _ := properties(x.(object))["publicIPAddress"].(object)
		id := strings.ToLower(fmt.Sprint(o["id"]))
		if r := c.res[id]; r == nil {
			continue
		} else if properties(o)["deleteOption"] == "Delete" {
			delete(c.res, id)
		} else {
			delete(properties(r.body), "ipConfiguration")
		}
	}
}

// leave is what happens when the deletion of a VM begins.
func (c *Cloud) leave(vm *resource) { vm.runs = "" }

// goneVM takes the parts of a VM away that go with it, and sets the others free.
func (c *Cloud) goneVM(vm *resource) {
	p := properties(vm.body)
	all, going := diskNames(p)
	for _, name := range all {
		id := strings.ToLower(diskID(vm.id, name))
		switch d := c.res[id]; {
		case d == nil:
		case slices.Contains(going, name):
			delete(c.res, id)
		default:
			delete(properties(d.body), "owner")
			properties(d.body)["diskState"] = "Unattached"
		}
	}
	network, _ := p["networkProfile"].(object)
	list, _ := network["networkInterfaces"].([]any)
	for _, x := range list {
		o, _ := x.(object)
		id := strings.ToLower(fmt.Sprint(o["id"]))
		if properties(o)["deleteOption"] == "Delete" {
			if nic := c.res[id]; nic != nil {
				c.goneAddresses(nic)
			}
			delete(c.res, id)
		} else if nic := c.res[id]; nic != nil {
			delete(properties(nic.body), "virtualMachine")
		}
	}
}

// Evict takes a VM of the spot market back, as its eviction policy says: Azure deletes it, or stops it. It reports whether
// there is such a VM.
// Source: Azure documentation, "Use Azure Spot Virtual Machines", eviction policy.
func (c *Cloud) Evict(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pass()
	vm := c.res[strings.ToLower(id)]
	if vm == nil || vm.kind != "virtualmachines" || properties(vm.body)["priority"] != "Spot" {
		return false
	}
	if properties(vm.body)["evictionPolicy"] == "Delete" {
		c.leave(vm)
		c.begin(vm, "Deleting", c.o.Delete, func() { c.gone(vm) })
		return true
	}
	properties(vm.body)["instanceView"] = object{"statuses": []any{object{"code": "ProvisioningState/succeeded"}, object{"code": "PowerState/deallocated"}}}
	c.stamp(vm)
	return true
}

// AddVM makes a VM of somebody else that runs, and returns its id.
func (c *Cloud) AddVM(group, name string) string {
	id := "/subscriptions/" + Subscription + "/resourceGroups/" + group + "/providers/Microsoft.Compute/virtualMachines/" + name
	c.Put(id, object{"location": Location, "properties": object{"vmId": name, "timeCreated": time.Now().UTC().Format(time.RFC3339Nano), "instanceView": object{"statuses": []any{object{"code": "PowerState/running"}}}}})
	return id
}
