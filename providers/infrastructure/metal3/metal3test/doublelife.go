package metal3test

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// pace is how long each state of a double's node takes that ends by itself.
const pace = 15 * time.Millisecond

// verbs are the states that each verb is taken in.
// Source: Ironic, common/states.py.
func verbs() map[string][]string {
	return map[string][]string{
		"manage":  {"enroll", "available", "clean failed", "inspect failed", "adopt failed"},
		"inspect": {"manageable"},
		"provide": {"manageable"},
		"clean":   {"manageable"},
		"service": {"active", "service failed"},
		"abort":   {"service failed"},
		"adopt":   {"manageable", "adopt failed"},
		"active":  {"available", "deploy failed"},
		"deleted": {"active", "deploy failed", "error", "wait call-back", "inspect failed", "service failed"},
	}
}

// provision begins what a verb asks for.
func (d *double) provision(w http.ResponseWriter, n node, body map[string]any) {
	verb, _ := body["target"].(string)
	state := n.text("provision_state")
	switch maintained, _ := n["maintenance"].(bool); {
	case !slices.Contains(verbs()[verb], state):
		refuse(w, CallFault{Status: http.StatusBadRequest, Message: fmt.Sprintf("The requested action %q can not be performed on node %q while it is in state %q.", verb, n.text("uuid"), state)})
		return
	case maintained && verb != "deleted":
		refuse(w, CallFault{Status: http.StatusBadRequest, Message: fmt.Sprintf("The %s operation can't be performed on node %s because it's in maintenance mode.", verb, n.text("uuid"))})
		return
	}
	if drive := body["configdrive"]; drive != nil {
		info, _ := n["instance_info"].(map[string]any)
		info = maps.Clone(info)
		info["configdrive"] = drive
		n["instance_info"] = info
	}
	n["deploy_step"] = map[string]any{}
	for _, s := range objects(body["deploy_steps"]) {
		n["deploy_step"] = s
	}
	steps := append(objects(body["clean_steps"]), objects(body["service_steps"])...)
	for _, s := range steps {
		if known := []string{"bios", "deploy", "firmware", "raid"}; !slices.Contains(known, fmt.Sprint(s["interface"])) {
			refuse(w, CallFault{Status: http.StatusBadRequest, Message: fmt.Sprintf("%v is not one of %v", s["interface"], known)})
			return
		}
	}
	d.begin(n, verb, steps)
	w.WriteHeader(http.StatusAccepted)
}

// objects returns the objects of a list of JSON.
func objects(v any) []map[string]any {
	list, _ := v.([]any)
	var out []map[string]any
	for _, o := range list {
		object, _ := o.(map[string]any)
		out = append(out, object)
	}
	return out
}

// begin goes on with n by itself.
func (d *double) begin(n node, verb string, steps []map[string]any) {
	id := n.text("uuid")
	switch was := n.text("provision_state"); verb {
	case "manage":
		if was != "enroll" {
			n.set("manageable", "", "")
			return
		}
		d.under(n, "verifying", "manageable")
		d.later(id, d.verified)
	case "inspect":
		d.under(n, "inspecting", "manageable")
		d.later(id, d.inspected)
	case "provide":
		d.clean(n)
	case "clean":
		d.under(n, "cleaning", "manageable")
		d.later(id, func(n node) { d.cleaned(n, "manageable", steps) })
	case "service":
		d.under(n, "servicing", "active")
		d.later(id, func(n node) {
			n.set("service wait", "active", "")
			d.later(id, func(n node) { d.serviced(n, steps) })
		})
	case "abort":
		n.set("active", "", "")
	case "adopt":
		d.under(n, "adopting", "active")
		d.later(id, func(n node) {
			if _, why := d.host(n); why != "" {
				n.set("adopt failed", "active", why)
				return
			}
			n.set("active", "", "")
		})
	case "active":
		d.under(n, "deploying", "active")
		d.later(id, func(n node) {
			h, why := d.host(n)
			if why != "" {
				n.set("deploy failed", "active", why)
				return
			}
			n.set("wait call-back", "active", "")
			d.later(id, func(n node) { d.deployed(n, h) })
		})
	case "deleted":
		d.under(n, "deleting", "available")
		d.later(id, d.released)
	}
}

// under has n be in a state in which it is locked.
func (d *double) under(n node, state, target string) {
	n.set(state, target, "")
	n["reservation"] = "double"
}

// later does something with a node when a state took its time.
func (d *double) later(id string, then func(node)) { // the lock is held
	lost := d.lost
	d.i.done.Go(func() {
		if !d.i.wait(d.i.ends, pace) {
			return
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if n := d.nodes[id]; n != nil && lost == d.lost {
			then(n)
		}
	})
}

func (d *double) verified(n node) {
	h, why := d.host(n)
	if why != "" {
		n.set("enroll", "", "Failed to get power state for node "+n.text("uuid")+". Error: "+why)
		return
	}
	n["power_state"] = powerOf(h)
	n.set("manageable", "", "")
}

func (d *double) inspected(n node) {
	if _, why := d.host(n); why != "" {
		n.set("inspect failed", "manageable", why)
		return
	}
	properties, _ := n["properties"].(map[string]any)
	properties = maps.Clone(properties)
	maps.Copy(properties, map[string]any{"cpu_arch": "x86_64", "cpus": 8, "local_gb": "99", "memory_mb": "16384", "vendor": "Fairlead"})
	n["properties"], n["inspection_finished_at"] = properties, time.Now().UTC().Format(time.RFC3339)
	n.set("manageable", "", "")
}

// clean makes n available, with an empty disk if it is cleaned.
func (d *double) clean(n node) {
	if n["automated_clean"] == false {
		n.set("available", "", "")
		return
	}
	d.under(n, "cleaning", "available")
	d.later(n.text("uuid"), func(n node) { d.cleaned(n, "available", nil) })
}

// cleaned ends cleaning: n is in state to, with its disk empty and steps carried out.
func (d *double) cleaned(n node, to string, steps []map[string]any) {
	h, why := d.host(n)
	f := (*hostFault)(nil)
	if h != nil {
		f = d.i.hostFault(h.name, AtClean)
	}
	if f != nil && f.Hold {
		n.set("clean wait", to, "")
		d.later(n.text("uuid"), func(n node) { d.cleaned(n, to, steps) })
		return
	}
	if f != nil {
		why = cmp.Or(f.Message, "device /dev/sda: Input/output error")
	}
	if why == "" {
		why = h.carryOut(n, steps)
	}
	if why != "" {
		n.set("clean failed", to, "Failed to clean: "+why)
		n["maintenance"], n["fault"], n["maintenance_reason"] = true, "clean failure", "Failed to clean: "+why
		return
	}
	h.mu.Lock()
	h.disk = nil
	h.mu.Unlock()
	n.set(to, "", "")
}

// serviced ends a service: n is active, and its host was started.
func (d *double) serviced(n node, steps []map[string]any) {
	h, why := d.host(n)
	if why == "" {
		if f := d.i.hostFault(h.name, AtClean); f != nil {
			if f.Hold {
				d.later(n.text("uuid"), func(n node) { d.serviced(n, steps) })
				return
			}
			why = cmp.Or(f.Message, "Input/output error")
		}
	}
	if why == "" {
		why = h.carryOut(n, steps)
	}
	if why != "" {
		n.set("service failed", "active", "Failed to service: "+why)
		n["maintenance"], n["fault"], n["maintenance_reason"] = true, "service failure", "Failed to service: "+why
		return
	}
	d.power(n, true)
	n.set("active", "", "")
}

// carryOut does to h what steps say, and returns what was in the way.
func (h *Host) carryOut(n node, steps []map[string]any) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range steps {
		args, _ := s["args"].(map[string]any)
		switch fmt.Sprint(s["interface"], " ", s["step"]) {
		case "raid " + deleteVolumes:
			h.volumes = nil
		case "raid " + createVolumes:
			wanted, _ := n["target_raid_config"].(map[string]any)
			h.volumes = levels(wanted)
			for _, d := range objects(made(wanted)["logical_disks"]) {
				if root := d["root_device_hint"]; root != nil {
					properties, _ := n["properties"].(map[string]any)
					properties = maps.Clone(properties)
					properties["root_device"], properties["capabilities"] = root, fmt.Sprintf("%v,raid_level:%v", properties["capabilities"], d["raid_level"])
					n["properties"] = properties
				}
			}
		case "bios apply_configuration":
			for _, setting := range objects(args["settings"]) {
				name, _ := setting["name"].(string)
				if h.settings[name] == nil {
					return "Redfish BIOS apply configuration failed: unable to find attribute " + name
				}
				h.settings[name] = setting["value"]
			}
		case "firmware update":
			for _, update := range objects(args["settings"]) {
				h.settings["firmware "+fmt.Sprint(update["component"])] = update["url"]
			}
		}
	}
	return ""
}

// deployed writes the disk of h and starts it, where its ramdisk calls.
func (d *double) deployed(n node, h *Host) {
	if f := d.i.hostFault(h.name, AtBoot); f != nil {
		d.silent(n)
		return
	}
	if f := d.i.hostFault(h.name, AtWrite); f != nil {
		if f.Hold {
			d.later(n.text("uuid"), func(n node) { d.deployed(n, h) })
			return
		}
		n.set("deploy failed", "active", "Agent returned error for deploy step: "+f.Message)
		return
	}
	info, _ := n["instance_info"].(map[string]any)
	drive, _ := info["configdrive"].(map[string]any)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.target, h.always, h.media, h.drive = "None", false, "", nil
	switch n["deploy_interface"] {
	case "ramdisk":
		h.target, h.always, h.drive = targetCD, true, filesOf(drive)
		h.media, _ = info["boot_iso"].(string)
	case "custom-agent":
		step, _ := n["deploy_step"].(map[string]any)
		name, _ := step["step"].(string)
		if name != CustomStep { // nothing is written without one
			n.set("deploy failed", "active", "Deploy step "+name+" of interface deploy is not known to the agent")
			return
		}
		h.install(name, drive)
	default:
		image, _ := info["image_source"].(string)
		h.install(image, drive)
	}
	h.power(false)
	h.power(true)
	h.shown = true
	n["power_state"] = "power on"
	n.set("active", "", "")
}

// silent gives up on n, whose ramdisk does not call, when the time is over.
func (d *double) silent(n node) {
	id, since := n.text("uuid"), n["provision_updated_at"]
	d.i.done.Go(func() {
		if !d.i.wait(d.i.ends, cmp.Or(d.i.opts.Silence, time.Minute)) {
			return
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if n := d.nodes[id]; n != nil && n["provision_updated_at"] == since {
			n.set("deploy failed", "active", "Timeout reached while waiting for callback for node "+id)
		}
	})
}

// released ends what runs on the host. Where its BMC is silent, Ironic forgets whose it is while
// the machine runs on.
func (d *double) released(n node) {
	_, why := d.host(n)
	n["instance_uuid"], n["instance_info"] = nil, map[string]any{}
	if why != "" {
		n.set("error", "available", why)
		return
	}
	d.power(n, false)
	d.clean(n)
}

// power switches the host of n.
func (d *double) power(n node, on bool) {
	h, why := d.host(n)
	if why != "" {
		n["last_error"] = why
		return
	}
	h.mu.Lock()
	h.power(on)
	h.shown = on
	h.mu.Unlock()
	n["power_state"] = powerOf(h)
}

func powerOf(h *Host) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.shown {
		return "power on"
	}
	return "power off"
}

// watchPower looks at the power of all nodes until the Ironic ends: two failures in a row are a
// fault, which heals.
func (d *double) watchPower() {
	for d.i.wait(d.i.ends, 2*pace) {
		d.mu.Lock()
		for id, n := range d.nodes {
			if n.text("provision_state") == "enroll" || n.text("reservation") != "" {
				continue
			}
			h, why := d.host(n)
			switch {
			case why == "":
				d.fails[id] = 0
				n["power_state"] = powerOf(h)
				if n["fault"] == "power failure" {
					n["maintenance"], n["fault"], n["maintenance_reason"] = false, nil, nil
				}
			case n["fault"] == nil:
				if d.fails[id]++; d.fails[id] >= 2 {
					n["power_state"], n["maintenance"], n["fault"] = nil, true, "power failure"
					n["maintenance_reason"] = "During sync_power_state, max retries exceeded for node " + id + ": " + why
				}
			}
		}
		d.mu.Unlock()
	}
}
