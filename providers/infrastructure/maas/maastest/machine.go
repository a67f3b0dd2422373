package maastest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// States of machines, as MAAS numbers them.
const (
	New              = 0
	Commissioning    = 1
	Ready            = 4
	Deployed         = 6
	Broken           = 8
	Deploying        = 9
	Allocated        = 10
	FailedDeployment = 11
	Releasing        = 12
	FailedReleasing  = 13
	Erasing          = 14
	FailedErasing    = 15
	RescueMode       = 16
)

func stateName(s int) string {
	return map[int]string{
		New: "New", Commissioning: "Commissioning", Ready: "Ready", Deployed: "Deployed", Broken: "Broken", Deploying: "Deploying", Allocated: "Allocated",
		FailedDeployment: "Failed deployment", Releasing: "Releasing", FailedReleasing: "Releasing failed", Erasing: "Disk erasing",
		FailedErasing: "Failed disk erasing", RescueMode: "Rescue mode",
	}[s]
}

// A Machine is what MAAS has of a host. Its agent name filters listings and is not in them.
type Machine struct {
	SystemID, Hostname, Zone, Pool string
	Description                    string
	Tags                           []string
	CPU, Memory, Disk              int // Memory in MiB, Disk in GB
	PowerType                      string
	Owner, Agent                   string
	Status                         int
	Power                          string // "on", "off", "error", "unknown": as MAAS asked last
	OSystem, Series, ErrorText     string
	Annotations                    map[string]string
	UserData                       []byte
	Locked, Ephemeral              bool
	IP                             string
	Address                        string // that it gets at a deployment; empty: one of 10.0.0.0/16

	number int
	due    time.Time
	then   func(m *Machine)
	began  time.Time // when what is being done by then began; zero: now
}

// A Host is the hardware of a machine.
type Host struct {
	SystemID string
	On       bool
	Runs     []byte // user data of what was deployed there, if it is on
	OnDisk   []byte // user data of what was installed there and not erased
	Installs int    // number of installations on its disk

	// What goes wrong with it. A host without a BMC ignores power requests for now.
	NoBMC, BadDisk, NeverErases, NeverInstalls bool
	// HoldsOff keeps it in Releasing after it was switched off.
	HoldsOff bool
}

// Add enlists a host that was commissioned. Defaults: 8 CPUs, 16 GiB, 200 GB, IPMI.
func (r *Region) Add(m Machine) Machine {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next++
	m.number = r.next
	m.SystemID = or(m.SystemID, strconv.FormatInt(int64(m.number)*7919+1679616, 36))
	m.Hostname = or(m.Hostname, "host-"+m.SystemID)
	m.Zone, m.Pool, m.PowerType = or(m.Zone, "default"), or(m.Pool, "default"), or(m.PowerType, "ipmi")
	m.CPU, m.Memory, m.Disk = max(m.CPU, 8), max(m.Memory, 16384), max(m.Disk, 200)
	m.Power, m.Status = "off", Ready
	add := func(list *[]string, names ...string) {
		for _, n := range names {
			if !slices.Contains(*list, n) {
				*list = append(*list, n)
			}
		}
	}
	add(&r.tags, m.Tags...)
	add(&r.zones, m.Zone)
	add(&r.pools, m.Pool)
	r.database.machines = append(r.database.machines, &m)
	r.hosts = append(r.hosts, &Host{SystemID: m.SystemID})
	return m
}

func or(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// Machines returns what MAAS has of all hosts.
func (r *Region) Machines() []Machine {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pass()
	var out []Machine
	for _, m := range r.database.machines {
		out = append(out, m.clone())
	}
	return out
}

func (m *Machine) clone() Machine {
	out := *m
	out.Annotations, out.Tags = maps.Clone(m.Annotations), slices.Clone(m.Tags)
	return out
}

// Machine returns the machine with a system id or a host name, and its host.
func (r *Region) Machine(id string) (Machine, Host) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pass()
	for _, m := range r.database.machines {
		if m.SystemID == id || m.Hostname == id {
			return m.clone(), *r.host(m.SystemID)
		}
	}
	return Machine{}, Host{}
}

// Change lets people, or accidents, change a machine and its host.
func (r *Region) Change(id string, change func(m *Machine, h *Host)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pass()
	for _, m := range r.database.machines {
		if m.SystemID == id || m.Hostname == id {
			h := r.host(m.SystemID)
			change(m, h)
			r.moves(m, h)
		}
	}
}

// Backup returns what is in the database. Restore puts it back: hosts stay unchanged.
func (r *Region) Backup() any {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pass()
	return r.database.clone()
}

// Restore puts a Backup in the place of the database; nil: all is lost. The power in it is that of the backup, until a
// BMC is asked again.
func (r *Region) Restore(backup any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, _ := backup.(database)
	r.database = b.clone()
}

func (d database) clone() database {
	out := database{events: slices.Clone(d.events)}
	for _, m := range d.machines {
		c := m.clone()
		out.machines = append(out.machines, &c)
	}
	for _, n := range d.names {
		c := *n
		c.ips, c.follows, c.records = slices.Clone(n.ips), slices.Clone(n.follows), slices.Clone(n.records)
		out.names = append(out.names, &c)
	}
	return out
}

func (r *Region) find(id string) *Machine {
	for _, m := range r.database.machines {
		if m.SystemID == id {
			return m
		}
	}
	return nil
}

func (r *Region) host(id string) *Host {
	for _, h := range r.hosts {
		if h.SystemID == id {
			return h
		}
	}
	return &Host{}
}

// pass lets happen what is due. The lock is held.
func (r *Region) pass() {
	for again := true; again; {
		again = false
		for _, m := range r.database.machines {
			if m.then != nil && !time.Now().Before(m.due) {
				then := m.then
				m.then, m.began, again = nil, m.due, true
				then(m)
				m.began = time.Time{}
			}
		}
	}
}

// after calls then when d passed, unless something else is begun.
func (m *Machine) after(d time.Duration, then func(m *Machine)) {
	if m.began.IsZero() {
		m.began = time.Now()
	}
	m.due, m.then, m.began = m.began.Add(d), then, time.Time{}
}

// goes gives a machine another state.
func (r *Region) goes(m *Machine, state int) {
	was := m.Status
	m.Status = state
	r.tell(m, "", "DEBUG", "Node changed status", fmt.Sprintf("From '%s' to '%s'", stateName(was), stateName(state)))
}

// switches switches a host, unless its BMC does not answer.
func (r *Region) switches(m *Machine, on bool) {
	h := r.host(m.SystemID)
	if h.NoBMC {
		m.Power = "error"
		return
	}
	h.On, m.Power = on, map[bool]string{true: "on", false: "off"}[on]
	if h.Runs = nil; on && m.Status != Deploying { // an installation boots from the network
		h.Runs = h.OnDisk
	}
	r.moves(m, h)
	r.tell(m, "", "INFO", "Node powered "+m.Power, "")
}

// moves tells the hardware what a host does now.
func (r *Region) moves(m *Machine, h *Host) {
	if r.hardware != nil {
		r.hardware(m.clone(), *h)
	}
}

// addressOf returns an address for m, as MAAS gives one at a deployment.
func (r *Region) addressOf(m *Machine) (string, bool) {
	if m.Address != "" {
		return m.Address, true
	}
	used := 0
	for _, other := range r.database.machines {
		if other.IP != "" {
			used++
		}
	}
	if r.addresses > 0 && used >= r.addresses {
		return "", false
	}
	return fmt.Sprintf("10.0.%d.%d", m.number/250, m.number%250+2), true
}

// show is a machine as listings have it, without most of its 17 kB.
func (m *Machine) show() map[string]any {
	ips := []string{}
	if m.IP != "" {
		ips = append(ips, m.IP)
	}
	annotations := m.Annotations
	if annotations == nil {
		annotations = map[string]string{}
	}
	var owner any
	if m.Owner != "" {
		owner = m.Owner
	}
	uri := "/MAAS/api/2.0/machines/" + m.SystemID + "/"
	disk := map[string]any{"id": m.number, "name": "sda", "size": int64(m.Disk) * 1000 * 1000 * 1000, "type": "physical", "partitions": []any{}}
	card := map[string]any{"type": "physical", "name": "eno1", "mac_address": fmt.Sprintf("52:54:00:00:%02x:%02x", m.number>>8, m.number&255), "links": []any{map[string]any{"mode": "auto", "ip_address": m.IP}}}
	return map[string]any{
		"system_id": m.SystemID, "description": m.Description, "hostname": m.Hostname, "fqdn": m.Hostname + ".maas", "owner": owner, "owner_data": annotations, "workload_annotations": annotations,
		"locked": m.Locked, "architecture": "amd64/generic", "cpu_count": m.CPU, "memory": m.Memory, "storage": float64(m.Disk) * 1000,
		"status": m.Status, "status_name": stateName(m.Status), "status_message": stateName(m.Status), "error_description": m.ErrorText,
		"osystem": m.OSystem, "distro_series": m.Series, "ephemeral_deploy": m.Ephemeral, "power_type": m.PowerType, "power_state": m.Power,
		"tag_names": append([]string{}, m.Tags...), "ip_addresses": ips, "zone": map[string]any{"name": m.Zone, "id": 1}, "pool": map[string]any{"name": m.Pool, "id": 1},
		"boot_disk": disk, "physicalblockdevice_set": []any{disk}, "interface_set": []any{card}, "node_type_name": "Machine", "resource_uri": uri,
		"hardware_info": map[string]string{"system_vendor": "Dell Inc.", "system_product": "PowerEdge R640"},
	}
}

// stateFilter is the value of the filter status for a state.
func stateFilter(s int) string { return strings.ToLower(strings.ReplaceAll(stateName(s), " ", "_")) }
