package metal3test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// A double stands for Ironic where Options.Double says so: it answers as one does, in this
// process, and takes milliseconds where Ironic takes seconds. It has of Ironic what package
// ironic asks for. Tests of the provider run with both.
type double struct {
	i *Ironic

	mu    sync.Mutex
	nodes map[string]node // by UUID
	order []string
	ports map[string]string // UUIDs of nodes, by MAC address
	fails map[string]int    // looks in a row at the power of a node that failed
	lost  int               // how many times the database was lost: what was under way ends with it
}

// A node is a node as the API shows it, with its masked fields.
type node map[string]any

func (n node) text(key string) string { s, _ := n[key].(string); return s }

// set changes fields of n.
func (n node) set(state, target, words string) {
	n["provision_state"], n["target_provision_state"], n["reservation"] = state, nil, nil
	if target != "" {
		n["target_provision_state"] = target
	}
	n["last_error"] = nil
	if words != "" {
		n["last_error"] = words
	}
	n["provision_updated_at"] = time.Now().UTC().Format(time.RFC3339Nano)
}

func newDouble(i *Ironic) *double {
	return &double{i: i, nodes: make(map[string]node), ports: make(map[string]string), fails: make(map[string]int)}
}

// ServeHTTP implements http.Handler: Ironic's API.
func (d *double) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if user, password, _ := r.BasicAuth(); user != User || password != Password {
		refuse(w, CallFault{Status: http.StatusUnauthorized, Message: "Incorrect username or password"})
		return
	}
	var body any
	_ = json.NewDecoder(r.Body).Decode(&body) // there may be none
	object, _ := body.(map[string]any)
	d.mu.Lock()
	defer d.mu.Unlock()
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) < 2:
		write(w, map[string]any{})
	case parts[1] == "ports":
		d.answerPorts(w, r, object)
	case len(parts) == 2 && r.Method == http.MethodPost:
		d.create(w, object)
	case len(parts) == 2:
		d.list(w, r)
	default:
		n := d.find(parts[2])
		if n == nil {
			refuse(w, CallFault{Status: http.StatusNotFound, Message: "Node " + parts[2] + " could not be found."})
			return
		}
		d.answerNode(w, r.Method+" "+strings.Join(parts[3:], "/"), n, body)
	}
}

// answerNode answers requests for one node.
func (d *double) answerNode(w http.ResponseWriter, what string, n node, body any) {
	object, _ := body.(map[string]any)
	if by := n.text("reservation"); by != "" && !strings.HasPrefix(what, "GET ") {
		refuse(w, CallFault{Status: http.StatusConflict, Message: fmt.Sprintf("Node %s is locked by host %s, please retry after the current operation is completed.", n.text("uuid"), by)})
		return
	}
	switch what {
	case "GET ":
		write(w, shown(n))
	case "GET inventory":
		if n["inventory"] == nil {
			refuse(w, CallFault{Status: http.StatusNotFound, Message: "Node inventory record for node " + n.text("uuid") + " could not be found."})
			return
		}
		write(w, map[string]any{"inventory": n["inventory"], "plugin_data": map[string]any{}})
	case "PATCH ":
		d.patch(w, n, body)
	case "DELETE ":
		if id := n.text("instance_uuid"); id != "" {
			refuse(w, associated(n, id))
			return
		}
		delete(d.nodes, n.text("uuid"))
		d.order = slices.DeleteFunc(d.order, func(id string) bool { return id == n.text("uuid") })
		maps.DeleteFunc(d.ports, func(_, id string) bool { return id == n.text("uuid") })
		w.WriteHeader(http.StatusNoContent)
	case "PUT states/provision":
		d.provision(w, n, object)
	case "PUT states/raid":
		if n["raid_interface"] == "no-raid" {
			refuse(w, CallFault{Status: http.StatusBadRequest, Message: "Driver redfish does not support raid (disabled or not implemented)."})
			return
		}
		n["target_raid_config"] = object
		w.WriteHeader(http.StatusNoContent)
	case "PUT states/power":
		to, _ := object["target"].(string)
		d.power(n, to != "power off")
		w.WriteHeader(http.StatusAccepted)
	case "PUT maintenance":
		n["maintenance"], n["maintenance_reason"] = true, object["reason"]
		w.WriteHeader(http.StatusAccepted)
	case "DELETE maintenance":
		n["maintenance"], n["maintenance_reason"], n["fault"] = false, nil, nil
		w.WriteHeader(http.StatusAccepted)
	default:
		refuse(w, CallFault{Status: http.StatusNotFound})
	}
}

func associated(n node, id string) CallFault {
	return CallFault{Status: http.StatusConflict, Message: fmt.Sprintf("Node %s is associated with instance %s.", n.text("uuid"), id)}
}

// shown returns n as clients read it: without the config drive and passwords.
func shown(n node) node {
	out := maps.Clone(n)
	if info, _ := n["instance_info"].(map[string]any); info["configdrive"] != nil {
		info = maps.Clone(info)
		info["configdrive"] = "******"
		out["instance_info"] = info
	}
	if info, _ := n["driver_info"].(map[string]any); info != nil {
		info = maps.Clone(info)
		for key := range info {
			if isSecret(key) {
				info[key] = "******"
			}
		}
		out["driver_info"] = info
	}
	return out
}

// isSecret reports whether Ironic masks the value of a key of driver_info.
// Source: oslo.utils, strutils.mask_dict_password.
func isSecret(key string) bool {
	return slices.ContainsFunc([]string{"password", "secret", "token", "sslkey", "private_key", "passphrase", "sys_pswd"}, func(word string) bool {
		return strings.Contains(strings.ToLower(key), word)
	})
}

func (d *double) find(id string) node {
	if n := d.nodes[id]; n != nil {
		return n
	}
	for _, n := range d.nodes {
		if n.text("name") == id {
			return n
		}
	}
	return nil
}

func (d *double) create(w http.ResponseWriter, body map[string]any) {
	id, _ := body["uuid"].(string)
	if id == "" {
		id = uuid.NewString()
	}
	name, _ := body["name"].(string)
	if d.nodes[id] != nil || d.find(name) != nil {
		refuse(w, CallFault{Status: http.StatusConflict, Message: "A node with name " + name + " or UUID " + id + " already exists."})
		return
	}
	if body["inspect_interface"] == "agent" { // as in Ironic before 23.0
		refuse(w, CallFault{Status: http.StatusBadRequest, Message: "Could not find the following interface in the 'ironic.hardware.interfaces.inspect' entrypoint: agent. Valid interfaces are ['no-inspect', 'redfish']."})
		return
	}
	boot, _ := body["boot_interface"].(string)
	n := node{
		"uuid": id, "name": name, "created_at": time.Now().UTC().Format(time.RFC3339Nano), "driver": body["driver"], "driver_info": body["driver_info"], "properties": body["properties"], "automated_clean": body["automated_clean"],
		"boot_interface": cmp.Or(boot, "ipxe"), "deploy_interface": "direct", "raid_interface": "no-raid", "instance_info": map[string]any{}, "extra": map[string]any{}, "maintenance": false, "protected": false, "retired": false, "power_state": nil,
	}
	n.set("enroll", "", "")
	d.nodes[id] = n
	d.order = append(d.order, id)
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(shown(n))
}

// list is a page of nodes.
func (d *double) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, _ := strconv.Atoi(q.Get("limit"))
	if slices.Contains(strings.Split(q.Get("fields"), ","), "created_at") {
		refuse(w, CallFault{Status: http.StatusBadRequest, Message: "Field created_at is not a valid field."})
		return
	}
	if d.i.opts.PageLimit > 0 && limit > d.i.opts.PageLimit {
		limit = d.i.opts.PageLimit
	}
	from := slices.Index(d.order, q.Get("marker")) + 1
	if q.Get("marker") != "" && from == 0 {
		refuse(w, CallFault{Status: http.StatusNotFound, Message: "Node " + q.Get("marker") + " could not be found."})
		return
	}
	page := []node{}
	for _, id := range d.order[from:min(len(d.order), from+limit)] {
		n := shown(d.nodes[id])
		if q.Has("fields") {
			n = maps.Clone(n)
			delete(n, "created_at")
		}
		page = append(page, n)
	}
	out := map[string]any{"nodes": page}
	if from+limit < len(d.order) {
		out["next"] = "next"
	}
	write(w, out)
}

func (d *double) answerPorts(w http.ResponseWriter, r *http.Request, body map[string]any) {
	if r.Method == http.MethodGet {
		list := []any{}
		for mac, id := range d.ports {
			q := r.URL.Query()
			if address := q.Get("address"); mac == address || address == "" && (id == q.Get("node") || id == q.Get("node_uuid")) {
				port := map[string]any{"uuid": id, "address": mac}
				if q.Has("fields") { // a plain listing leaves the node out
					port["node_uuid"] = id
				}
				list = append(list, port)
			}
		}
		write(w, map[string]any{"ports": list})
		return
	}
	mac, _ := body["address"].(string)
	id, _ := body["node_uuid"].(string)
	if d.ports[mac] != "" {
		refuse(w, CallFault{Status: http.StatusConflict, Message: "A port with MAC address " + mac + " already exists."})
		return
	}
	d.ports[mac] = id
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(map[string]any{"uuid": id, "address": mac, "node_uuid": id})
}

// patch changes n as a whole, or not at all.
func (d *double) patch(w http.ResponseWriter, n node, body any) {
	ops, _ := body.([]any)
	out := maps.Clone(n)
	for _, o := range ops {
		op, _ := o.(map[string]any)
		at, _ := op["path"].(string)
		key, below, deep := strings.Cut(strings.TrimPrefix(at, "/"), "/")
		value := op["value"]
		if key == "instance_uuid" && value != nil {
			id, _ := value.(string)
			if was := n.text(key); was != "" && was != id {
				refuse(w, associated(n, was))
				return
			}
			for _, other := range d.nodes {
				if other.text(key) == id && other.text("uuid") != n.text("uuid") {
					refuse(w, CallFault{Status: http.StatusConflict, Message: fmt.Sprintf("Instance %s is already associated with a node, it cannot be associated with this other node %s", id, n.text("uuid"))})
					return
				}
			}
		}
		if key == "deploy_interface" {
			if value == nil {
				value = "direct"
			}
			if f := refusesInterface(n, value); f.Status != 0 {
				refuse(w, f)
				return
			}
		}
		switch {
		case deep:
			inner, _ := out[key].(map[string]any)
			if inner = maps.Clone(inner); inner == nil {
				inner = make(map[string]any)
			}
			if inner[below] = value; op["op"] == "remove" {
				delete(inner, below)
			}
			out[key] = inner
		default:
			out[key] = value
		}
	}
	d.nodes[n.text("uuid")] = out
	write(w, shown(out))
}

// refusesInterface is how Ironic refuses a deploy interface for n; the zero value: it takes it.
// Source: Ironic, conductor/manager.py, update_node; common/driver_factory.py.
func refusesInterface(n node, to any) CallFault {
	const known = "direct ramdisk custom-agent"
	maintained, _ := n["maintenance"].(bool)
	switch state := n.text("provision_state"); {
	case !slices.Contains(strings.Fields(known), fmt.Sprint(to)):
		return CallFault{Status: http.StatusBadRequest, Message: fmt.Sprintf("Could not find the following interface in the 'ironic.hardware.interfaces.deploy' entrypoint: %v. Valid interfaces are %s.", to, known)}
	case n["deploy_interface"] != to && !maintained && state != "enroll" && state != "manageable" && state != "available":
		return CallFault{Status: http.StatusConflict, Message: "Node " + n.text("uuid") + " can not have deploy_interface updated unless it is in one of allowed (enroll, manageable, available) states or in maintenance mode."}
	}
	return CallFault{}
}

// host returns the host that n manages; nil: its account is refused, or the BMC is silent.
func (d *double) host(n node) (*Host, string) {
	info, _ := n["driver_info"].(map[string]any)
	id, _ := info["redfish_system_id"].(string)
	h := d.i.Host(path.Base(id))
	if h == nil {
		return nil, "The Redfish system " + id + " could not be found."
	}
	if f := d.i.hostFault(h.name, AtRequest); f != nil && f.Delay == 0 {
		if f.Status != 0 {
			return nil, fmt.Sprintf("HTTP GET %s returned code %d.", id, f.Status)
		}
		return nil, "Unable to connect to " + d.i.bmcs.URL + ". Error: connection refused"
	}
	if info["redfish_username"] != BMCUser || info["redfish_password"] != h.Password() {
		return nil, "HTTP GET " + id + " returned code 401. unauthorized"
	}
	return h, ""
}

// lose forgets all nodes.
func (d *double) lose() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.nodes, d.order, d.ports = make(map[string]node), nil, make(map[string]string)
	d.lost++
}
